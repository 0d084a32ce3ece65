// "Why?": the changes of a turn and the rules that made them, its dice rolls, and its prompt. Loaded when first used.
import { Fragment, h, useSignal } from "../../vendor/preact.js";
import { readTrace } from "../actions/page.ts";
import { readParts } from "../actions/preset-edit.ts";
import { messageText } from "../lib/coded-message.ts";
import { addEnglish, clock, t, optionalText } from "../lib/i18n.ts";
import { causesOf, inputsOf } from "../lib/causes.ts";
import { changesOf } from "../lib/schema.ts";
import { modelFailureText } from "../lib/model-failure.ts";
import words from "../lib/strings/en-preset-edit.ts";
import { compactJson, escapeStep, labelFromKey } from "../lib/text.ts";
import { isTextVisible, visibleProblems } from "../model/secrets.ts";
import { nodeOf, session } from "../model/session-store.ts";
import { isWithheld, pathLabel, rows, visibleDelta } from "../model/world.ts";
import { ApiError } from "../net/api.ts";
import { answeredMessage, changeNodesAfter } from "../tree/shown-branch.ts";
import { RollChip, changeNodeTitle, differenceOf, isManualChange, toneOf } from "./changes.tsx";
import { Modal, ProblemLine, LoadingRows } from "./common.tsx";
import { LoreVerdicts } from "./lore-verdicts.tsx";
import { PluginRuns } from "./trace-runs.tsx";
import { QueryError, useLatestResult, useQuery } from "./use-query.tsx";
import { HiddenNote, secretMark } from "./secret.tsx";
import { slotName, sourceName } from "./prompt-part-names.ts";
import type { Block, ChatNode, Delta, Id, Json, Operation, PresetPart, ScriptRun, Trace } from "../lib/wire.d.ts";

addEnglish(words);

export function TraceDialog({ nid }: { nid: Id }) {
  const asked = answeredMessage(nid);
  const hands = changeNodesAfter(nid);
  const known = useQuery(
    () => readTrace(session.peek()?.id ?? "", nid, Boolean(nodeOf(nid)?.metadata?.model), [asked, ...hands]),
    nid,
  );
  return (
    <Modal title={t("command.why")} class="wide">
      <div class="why-view">
        {known === null ? (
          <LoadingRows rows={3} />
        ) : known instanceof ApiError ? (
          <QueryError error={known} />
        ) : (
          <Contents nid={nid} {...known} changeNodes={hands} />
        )}
      </div>
    </Modal>
  );
}

interface ContentsProps {
  nid: Id;
  trace: Partial<Trace>;
  delta: Delta;
  others: (Delta | null)[];
  changeNodes: Id[];
}

function Contents({ nid, trace, delta: all, others, changeNodes }: ContentsProps) {
  const node = nodeOf(nid);
  const delta = visibleDeltaOf(all);
  const [asked = null, ...after] = others.map((one) => one && visibleDeltaOf(one));
  const title = node?.kind === "change" ? changeNodeName(node, delta) : t("why.changes");
  const isLess =
    !isRequestVisible(trace.messages ?? []) ||
    [all, ...others].some((one, i) => one && isCut(one, [delta, asked, ...after][i] ?? one));
  return (
    <>
      {isLess && <HiddenNote />}
      <section>
        <h3>{title}</h3>
        <Changes delta={delta} />
      </section>
      <PluginRuns rules={[...(trace.plan ?? []), ...(trace.rules?.length ? trace.rules : (delta.rules ?? []))]} />
      {asked && !isNothing(asked) && (
        <section>
          <h3>{t("why.asked")}</h3>
          <Changes delta={asked} />
          <PluginRuns rules={asked.rules ?? []} />
        </section>
      )}
      {changeNodes.map(
        (id, i) =>
          after[i] && (
            <section key={id}>
              <h3>{changeNodeName(nodeOf(id), after[i])}</h3>
              <Changes delta={after[i]} />
            </section>
          ),
      )}
      <Origin node={node} />
      {trace.tools && <OfferedTools tools={trace.tools} />}
      {trace.lore && (
        <section>
          <h3>{t("why.lore")}</h3>
          <LoreVerdicts scan={trace.lore} />
        </section>
      )}
      <Prompt trace={trace} />
      {trace.values && <ValuesModelCall values={trace.values} />}
    </>
  );
}

/** Shows the request to the values model, and its answer. */
function ValuesModelCall({
  values: { model, text = "", error, failure, tries = 1, messages = [] },
}: {
  values: NonNullable<Trace["values"]>;
}) {
  return (
    <section>
      <h3>{t("why.kept")}</h3>
      <dl>
        <div>
          <dt>{t("why.model")}</dt>
          <dd>{model}</dd>
        </div>
        {tries > 1 && (
          <div>
            <dt>{t("why.keptTries")}</dt>
            <dd>{tries}</dd>
          </div>
        )}
      </dl>
      {error ? (
        <p class="aside bad">{modelFailureText(failure ?? error)}</p>
      ) : isTextVisible(text) ? (
        <div class="sent">
          <b>{t("why.keptAnswer")}</b>
          <pre tabindex={0}>{text || "–"}</pre>
        </div>
      ) : (
        <HiddenNote />
      )}
      {messages.length > 0 && isRequestVisible(messages) && (
        <details>
          <summary>{t("why.messages", { n: messages.length })}</summary>
          {messages.map((m, i) => (
            <div key={i} class="sent">
              <b>{m.role}</b>
              <pre tabindex={0}>{m.content}</pre>
            </div>
          ))}
        </details>
      )}
    </section>
  );
}

/** Returns whether the request contains no hidden values. */
const isRequestVisible = (messages: NonNullable<Trace["messages"]>) =>
  messages.every(({ content }) => isTextVisible(content));

/** Returns the part of a delta that the user may see. */
function visibleDeltaOf(delta: Delta): Delta {
  const seen = visibleDelta(delta);
  return { ...seen, ...(seen.problems && { problems: visibleProblems(seen.problems) }) };
}

const isCut = (all: Delta, visible: Delta) =>
  (["changes", "operations", "problems"] as const).some(
    (part) => (visible[part]?.length ?? 0) < (all[part]?.length ?? 0),
  );

/** Lists the tools that the model could call. Its calls are among the rules. */
const OfferedTools = ({ tools: { offered, used } }: { tools: NonNullable<Trace["tools"]> }) => (
  <section>
    <h3>{t("why.tools")}</h3>
    <p>{t(used.length > 0 ? "why.toolsUsed" : "why.toolsUnused", { names: offered.join(", "), n: used.length })}</p>
  </section>
);

/** Shows the imported file that a message came from. */
function Origin({ node }: { node: ChatNode | null }) {
  const { file, line } = fileOf(node);
  if (!file) return null;
  return (
    <section>
      <h3>{t("why.origin")}</h3>
      <p>{t(line ? "why.fromLine" : "why.fromFile", { file, line: line ?? "" })}</p>
    </section>
  );
}

const fileOf = (node: ChatNode | null): { file?: string; line?: number | null } =>
  node?.metadata?.provenance?.file ? node.metadata.provenance : {};

function changeNodeName(node: ChatNode | null, delta: Delta) {
  const title = isManualChange(delta) ? t("why.byHand") : changeNodeTitle(node, delta);
  return node ? `${title}, ${clock(node.timestamp)}` : title;
}

/** Returns whether a delta contains nothing to show. */
const isNothing = ({ operations = [], rolls = [], problems = [], rules = [] }: Delta) =>
  operations.length + rolls.length + problems.length === 0 &&
  !rules.some((rule) => rule.error || rule.warnings?.length);

/** Shows the result of a delta, its operations and its problems. */
function Changes({ delta }: { delta: Delta }) {
  const rows = [...changesOf([delta]).values()];
  const { rolls = [], problems = [] } = delta;
  const all = delta.operations ?? [];
  // Lore operations are shown with the lore, and summaries as text.
  const operations = all.filter((one) => one.in !== "lore" && one.in !== "summary");
  const summaries = all.filter((one) => one.in === "summary");
  return (
    <>
      {rows.length + all.length - all.filter((one) => one.in === "lore").length + rolls.length === 0 && (
        <p class="aside">{t("why.noChanges")}</p>
      )}
      {rows.length > 0 && (
        <ul class="changes">
          {rows.map((row) => (
            <li key={row.path} class={`chip ${toneOf(row)}`}>
              <span title={row.path}>{pathLabel(row.path)}</span>
              {secretMark(row.path)}
              <b>{differenceOf(row)}</b>
              <small>
                {compactJson(row.before)} → {compactJson(row.after)}
                <Computed delta={delta} path={row.path} />
              </small>
            </li>
          ))}
        </ul>
      )}
      {rolls.length > 0 && (
        <ul class="changes">
          {rolls.map((roll, i) => (
            <RollChip key={i} roll={roll} />
          ))}
        </ul>
      )}
      {operations.length > 0 && <Operations operations={operations} />}
      {summaries.map((one, i) => (
        <Summarised key={i} text={typeof one.value === "string" ? one.value : ""} />
      ))}
      {problems.map((problem, i) => (
        <ProblemLine key={i} problem={problem} />
      ))}
    </>
  );
}

/** Shows the values from which a computed value follows. */
function Computed({ delta, path }: { delta: Delta; path: string }) {
  const schema = rows.value.get(path)?.schema;
  if (schema?.["x-computed"] === undefined || causesOf(delta, path).length > 0) return null;
  const names = inputsOf(schema, path)
    .filter((input) => !isWithheld(input))
    .map(pathLabel);
  return names.length > 0 ? <> · {t("why.follows", { names: names.join(", ") })}</> : null;
}

/** Shows a new summary of messages that the prompt no longer contains. */
const Summarised = ({ text }: { text: string }) =>
  text.trim() ? (
    <div class="summarised">
      <p>{t("why.summarised")}</p>
      <p class="long">{text}</p>
    </div>
  ) : (
    <p>{t("why.unsummarised")}</p>
  );

/** Renders a path that can wrap only between its steps. */
const stepwise = (path: string) =>
  path.split("/").map((step, i) =>
    i === 0 ? (
      step
    ) : (
      <>
        <wbr />/{step}
      </>
    ),
  );

const Operations = ({ operations }: { operations: Operation[] }) => (
  <div class="table" tabindex={0}>
    <table>
      <thead>
        <tr>
          <th>{t("why.operation")}</th>
          <th>{t("why.value")}</th>
          <th>{t("why.reason")}</th>
          <th>{t("why.by")}</th>
        </tr>
      </thead>
      <tbody>
        {operations.map((o, i) => (
          <tr key={i}>
            <td>
              <code>
                {o.op} {stepwise(o.path)}
                {o.key ? ` · ${o.key}` : ""}
                {o.from ? <> ← {stepwise(o.from)}</> : ""}
              </code>
              {(o.in ?? "vars") === "vars" &&
                secretMark(o.key === undefined ? o.path : `${o.path}/${escapeStep(o.key)}`)}
            </td>
            <td>{o.value === undefined ? "" : compactJson(o.value)}</td>
            <td>{o.why}</td>
            <td>{o.by === "user" ? t("you") : o.by === "server" ? t("why.server") : o.by}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

function Prompt({ trace }: { trace: Partial<Trace> }) {
  const {
    blueprint = [],
    messages = [],
    scripts = [],
    usage,
    timings,
    params,
    parameters = [],
    model,
    historyCut,
    alias,
    passedOver = [],
    cachedTokens,
    tokens,
    template,
    cost,
    saved,
    preset,
  } = trace;
  /** The current names of the preset's parts. If the preset is deleted, their ids are shown. */
  const parts = useSignal<PresetPart[]>([]);
  useLatestResult(
    () => (preset?.id ? readParts(preset.id) : null),
    (found) => (parts.value = found),
    [preset?.id],
  );
  const isCounted = /^(tiktoken|file) /.test(tokens?.by ?? "");
  const facts = [
    [t("why.model"), alias ? `${model} (${alias})` : model],
    [t("why.passedOver"), passedOver.map((one) => `${one.model}: ${modelFailureText(one)}`).join(" ")],
    [t("why.firstToken"), timings?.firstToken == null ? null : `${timings.firstToken} ms`],
    [t("why.total"), timings?.total == null ? null : `${timings.total} ms`],
    [t("why.size"), tokens ? sizeOf(tokens) : null],
    [
      t("why.template"),
      template
        ? [
            optionalText(`why.template.${template.name}`) || template.name,
            template.failure ? messageText("why.template", template.failure) : template.problem,
          ]
            .filter(Boolean)
            .join(": ")
        : null,
    ],
    [
      t("why.preset"),
      preset?.by ? t(`why.presetBy.${preset.by}`, { name: preset.name ?? "", model: preset.model ?? "" }) : null,
    ],
    [t("why.usage"), usage && Object.keys(usage).length ? named(usage, "why.usage") : null],
    [t("why.cached"), cachedTokens ? String(cachedTokens) : null],
    [t("why.cost"), cost == null ? null : String(cost)],
    [t("why.saved"), saved == null ? null : String(saved)],
    [t("why.parameter"), parameters.map((one) => messageText("why.parameter", one)).join(" ")],
    [t("why.params"), params && Object.keys(params).length ? named(params, "why.param") : null],
  ].filter(([, value]) => value);
  return (
    <>
      {facts.length > 0 && (
        <section>
          <h3>{t("why.call")}</h3>
          <dl>
            {facts.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </section>
      )}
      {blueprint.length > 0 && (
        <section>
          <h3>{t("why.prompt")}</h3>
          <ol class="blocks">
            {blueprint.map((block, i) => (
              <PromptBlock key={i} block={block} parts={parts.value} isCounted={isCounted} />
            ))}
          </ol>
          {historyCut && <p class="aside">{t("why.historyCut")}</p>}
        </section>
      )}
      {scripts.length > 0 && (
        <section>
          <h3>{t("why.scripts")}</h3>
          <ul>
            {scripts.map((one, i) => (
              <ScriptLine key={i} one={one} />
            ))}
          </ul>
        </section>
      )}
      {messages.length > 0 && isRequestVisible(messages) && (
        <details>
          <summary>{t("why.messages", { n: messages.length })}</summary>
          {messages.map((m, i) => (
            <div key={i} class="sent">
              <b>
                {m.role}
                {m.name ? ` · ${m.name}` : ""}
              </b>
              <pre tabindex={0}>{m.content}</pre>
            </div>
          ))}
        </details>
      )}
    </>
  );
}

/** Shows what a regex script changed, or why it changed nothing. */
function ScriptLine({ one: { name, scope, changed, why, args = {}, message } }: { one: ScriptRun }) {
  const reason = why && messageText("why.script", { code: why, args, message: message ?? why });
  return (
    <li>
      {name ? (
        <>
          <b>{name}</b>{" "}
        </>
      ) : (
        ""
      )}
      <small>{optionalText(`why.scope.${scope}`) || scope}</small> {changed > 0 && t("why.changed", { n: changed })}
      {reason && (
        <>
          {" "}
          <span class="aside bad">{reason}</span>
        </>
      )}
    </li>
  );
}

/** Lists values by name, translated if the page has a text for it. */
const named = (values: { [key: string]: Json }, of: string) =>
  Object.entries(values)
    .map(([key, value]) => `${optionalText(`${of}.${key}`) || labelFromKey(key)}: ${compactJson(value)}`)
    .join(", ");

/** Returns a token count with its source; an estimate is marked. */
const sizeOf = ({ count, by }: { count: number; by: string }) =>
  `${by === "estimate" ? "≈ " : ""}${t("why.tokens", { n: count })} (${optionalText(`why.by.${by}`) || by})`;

function PromptBlock({ block, parts, isCounted }: { block: Block; parts: PresetPart[]; isCounted: boolean }) {
  const size = block.tokens === undefined ? "" : `${isCounted ? "" : "≈ "}${t("why.tokens", { n: block.tokens })}`;
  const dropped = block.kept === false;
  const reason = optionalText(`why.left.${block.why}`) || block.why;
  const about = [optionalText(`presetEdit.role.${block.role}`) || block.role, size, sourceName(block)]
    .filter(Boolean)
    .join(" · ");
  return (
    <li class={dropped ? "dropped" : ""}>
      <b>{slotName(block, parts)}</b> <small>{about}</small>
      {dropped && (
        <>
          {" "}
          <span class="chip">{t("why.dropped")}</span>
        </>
      )}
      {reason && (
        <>
          {" "}
          <small>{reason}</small>
        </>
      )}
    </li>
  );
}
