// A trial of a hook on a message of the open story, with the dice rolls recorded there. It writes nothing.
import { Fragment, h, useRef, useSignal } from "../../vendor/preact.js";
import { clearDialogErrors } from "../actions/dialog-errors.ts";
import { tryHook } from "../actions/workshop.ts";
import { excerpt } from "../lib/excerpt.ts";
import { clock, t } from "../lib/i18n.ts";
import { quoteText } from "../lib/hidden-tags.ts";
import { compactJson, sentence } from "../lib/text.ts";
import { codedMessageText } from "../lib/coded-message.ts";
import { isTextVisible, visibleDataOf, visibleProblems } from "../model/secrets.ts";
import { branch, nodeOf, session } from "../model/session-store.ts";
import { isNotNull, isWithheld, visibleChange, visibleOperation } from "../model/world.ts";
import { speakerName } from "../tree/speaker.ts";
import { RollChip } from "./changes.tsx";
import { OperationList, ValueChanges } from "./operations.tsx";
import { Fault } from "./fault.tsx";
import { EmptyState, icon } from "./common.tsx";
import { HiddenNote } from "./secret.tsx";
import { hookText } from "./workshop-about.tsx";
import type { ChatNode, Json, PluginDetail, HookTrialResult, ScriptError, FileTexts } from "../lib/wire.d.ts";

/** Number of characters that a list shows of a message. */
const BEGINNING = 60;
/** The role of messages that a hook reads, if it reads only one. */
const READS: Record<string, string> = { on_input: "user", on_reply: "assistant", on_edit: "assistant" };

/** The prefix of tools in the list of functions to run; the function of a tool has it too. */
const TOOL = "tool_";

/** Parses the arguments of a tool. Returns null if they are no JSON object. */
function readArguments(text: string): Record<string, Json> | null {
  try {
    const read = JSON.parse(text.trim() || "{}");
    return typeof read === "object" && read !== null && !Array.isArray(read) ? read : null;
  } catch {
    return null;
  }
}

export const titleOf = (node: ChatNode) =>
  `${speakerName(node)}, ${clock(node.timestamp)}: ${excerpt(quoteText(node.display ?? node.content), BEGINNING)}`;

interface HookTrialProps {
  plugin: PluginDetail;
  hooks: string[];
  texts: FileTexts;
  jump: (fault: ScriptError) => void;
}

export function HookTrial({ plugin, hooks, texts, jump }: HookTrialProps) {
  const open = session.value;
  const hook = useSignal<string | null>(null);
  const tried = useSignal<{ answer: HookTrialResult; hook: string; texts: FileTexts } | null>(null);
  const isBusy = useSignal(false);
  const isWrong = useSignal(false);
  const form = useRef<HTMLFormElement | null>(null);
  if (!open) return <EmptyState symbol="book" title={t("workshop.noStory")} hint={t("workshop.noStoryHint")} />;
  const all = [...hooks, ...(plugin.manifest?.tools ?? []).map(({ name }) => `${TOOL}${name}`)];
  const chosen =
    hook.value !== null && all.includes(hook.value)
      ? hook.value
      : (["on_reply", "on_input", "plan"].find((one) => all.includes(one)) ?? all[0]);
  if (chosen === undefined)
    return <EmptyState symbol="plug" title={t("workshop.noHooks")} hint={t("workshop.noHooksHint")} />;
  const isTool = chosen.startsWith(TOOL);
  const wordsOf = (one: string) =>
    hookText(one) || (plugin.manifest?.tools?.find(({ name }) => `${TOOL}${name}` === one)?.description ?? "");
  const reads = isTool ? "assistant" : READS[chosen];
  const nodes = branch.value.map((id) => nodeOf(id)).filter((node) => node !== null && node.status === "complete");
  const fitting = (nodes as ChatNode[]).filter((node) => !reads || (node.role === reads && node.kind === "message"));
  const ask = async (event: Event) => {
    event.preventDefault();
    if (isBusy.peek()) return;
    clearDialogErrors();
    const given = new FormData(event.target as HTMLFormElement);
    const text = String(given.get("text") ?? "");
    const args = isTool ? readArguments(String(given.get("arguments") ?? "")) : {};
    isWrong.value = args === null;
    if (args === null) return;
    isBusy.value = true;
    const what = isTool
      ? { tool: chosen.slice(TOOL.length), arguments: args }
      : { hook: chosen, ...(text.trim() && { text }) };
    const answer = await tryHook(plugin.id, {
      sessionId: open.id,
      nodeId: String(given.get("node")),
      files: texts,
      ...what,
    });
    isBusy.value = false;
    if (answer) tried.value = { answer, hook: chosen, texts };
  };
  return (
    <>
      <p class="aside">{t("workshop.tryText")}</p>
      <form ref={form} onSubmit={ask}>
        <label>
          {t("workshop.hook")}
          <select value={chosen} onChange={(event: Event) => (hook.value = (event.target as HTMLSelectElement).value)}>
            {all.map((one) => (
              <option key={one} value={one} selected={one === chosen}>
                {[one, wordsOf(one)].filter(Boolean).join(" – ")}
              </option>
            ))}
          </select>
        </label>
        {fitting.length === 0 ? (
          <p class="aside">{t("workshop.noMessage")}</p>
        ) : (
          <>
            <label>
              {t(reads ? "workshop.message" : "workshop.place")}
              <select key={chosen} name="node">
                {fitting.map((node, i) => (
                  <option key={node.id} value={node.id} selected={i === fitting.length - 1}>
                    {titleOf(node)}
                  </option>
                ))}
              </select>
            </label>
            {isTool ? (
              <label>
                {t("workshop.arguments")}
                <textarea
                  name="arguments"
                  class="code"
                  rows={3}
                  spellcheck={false}
                  defaultValue="{}"
                  aria-invalid={isWrong.value ? "true" : undefined}
                />
                <small>{t(isWrong.value ? "workshop.argumentsWrong" : "workshop.argumentsHint")}</small>
              </label>
            ) : (
              <details>
                <summary>{t("workshop.otherWords")}</summary>
                <label>
                  {t("workshop.otherWordsLabel")}
                  <textarea name="text" rows={3} />
                  <small>{t("workshop.otherWordsHint")}</small>
                </label>
              </details>
            )}
            <div class="actions start">
              <button type="submit" class="primary" aria-disabled={isBusy.value ? "true" : undefined}>
                {icon("play")}
                <span>{t("workshop.tryIt")}</span>
              </button>
            </div>
          </>
        )}
      </form>
      {tried.value && (
        <TrialResult {...tried.value} plugin={plugin.id} isOld={tried.value.texts !== texts} jump={jump} />
      )}
    </>
  );
}

/** Returns the part of a trial's result that the user may see. */
function visibleTrial(answer: HookTrialResult, plugin: string): HookTrialResult {
  const { operations, problems, notes, warnings, log, world, result, asks } = answer;
  const texts = (list: string[]) => list.filter(isTextVisible);
  return {
    ...answer,
    ...{
      operations: operations.map(visibleOperation).filter(isNotNull),
      world: world.map(visibleChange).filter(isNotNull),
    },
    ...{
      problems: visibleProblems(problems).filter(({ path }) => !path || !isWithheld(path)),
      notes: texts(notes),
      warnings: texts(warnings),
      log: texts(log),
    },
    ...{
      result: visibleDataOf(plugin, result),
      ...(asks && { asks: asks.filter((one) => isTextVisible(JSON.stringify(one))) }),
    },
  };
}

interface TrialResultProps {
  answer: HookTrialResult;
  plugin: string;
  hook: string;
  isOld: boolean;
  jump: (fault: ScriptError) => void;
}

function TrialResult({ answer, plugin, hook, isOld, jump }: TrialResultProps) {
  const seen = visibleTrial(answer, plugin);
  const { operations, problems, rolls, notes, warnings, log, world, result, asks = [], usage, error } = seen;
  const isLess = JSON.stringify(seen) !== JSON.stringify(answer);
  const part = (title: string, lines: string[]) =>
    lines.length > 0 && (
      <section>
        <h4>{title}</h4>
        <ul class="deeds">
          {lines.map((one, i) => (
            <li key={i}>{one}</li>
          ))}
        </ul>
      </section>
    );
  return (
    <div class="tried" role="region" aria-label={t("workshop.came", { hook })}>
      <h3>{t("workshop.came", { hook })}</h3>
      {isOld && <p class="aside">{t("workshop.old")}</p>}
      {isLess && <HiddenNote />}
      {error && (
        <ul>
          <Fault fault={error} jump={jump} />
        </ul>
      )}
      {!error && (
        <>
          <section>
            <h4>{t("workshop.proposed")}</h4>
            <OperationList operations={operations} />
          </section>
          <section>
            <h4>{t("workshop.world")}</h4>
            {world.length > 0 ? <ValueChanges changes={world} /> : <p class="aside">{t("workshop.sameWorld")}</p>}
          </section>
        </>
      )}
      {part(
        t("workshop.problems"),
        problems.map((one) => [one.path, sentence(codedMessageText(one))].filter(Boolean).join(": ")),
      )}
      {rolls.length > 0 && (
        <section>
          <h4>{t("workshop.rolls")}</h4>
          <ul class="changes">
            {rolls.map((roll, i) => (
              <RollChip key={i} roll={roll} />
            ))}
          </ul>
        </section>
      )}
      {asks.length > 0 && (
        <section>
          <h4>{t("workshop.asks")}</h4>
          <pre tabindex={0}>{JSON.stringify(asks, null, 2)}</pre>
        </section>
      )}
      {part(t("workshop.notes"), notes)}
      {part(t("workshop.warnings"), warnings)}
      {part(t("workshop.log"), log)}
      {result !== null && (
        <section>
          <h4>{t("workshop.result")}</h4>
          {typeof result === "string" ? (
            <p class="long">{result}</p>
          ) : (
            <pre tabindex={0}>{JSON.stringify(result, null, 2)}</pre>
          )}
        </section>
      )}
      <p class="aside">
        {t("workshop.usage", {
          micros: compactJson(usage.micros),
          steps: compactJson(usage.operations),
          kib: Math.ceil(usage.heapPeak / 1024),
        })}
      </p>
    </div>
  );
}
