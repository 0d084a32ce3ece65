// A replay of the rules along the displayed branch: the old results beside the new ones. It writes nothing until the
// user accepts it.
import { Fragment, h, useSignal } from "../../vendor/preact.js";
import { moveHeadTo } from "../actions/branches.ts";
import { clearDialogErrors } from "../actions/dialog-errors.ts";
import { acceptReplay, runReplay } from "../actions/workshop.ts";
import { t } from "../lib/i18n.ts";
import { isTextVisible } from "../model/secrets.ts";
import { head, viewedLeaf, session } from "../model/session-store.ts";
import { isNotNull, visibleChange, visibleOperation } from "../model/world.ts";
import { OperationList, ValueChanges, operationText } from "./operations.tsx";
import { Fault } from "./fault.tsx";
import { EmptyState, icon } from "./common.tsx";
import { HiddenNote } from "./secret.tsx";
import { titleOf } from "./workshop-try.tsx";
import type {
  ChatNode,
  Id,
  PluginDetail,
  PluginReplayResult,
  PluginReplayRow,
  ScriptError,
  FileTexts,
} from "../lib/wire.d.ts";

type ReplayAnswer = PluginReplayResult & { nodes: Map<Id, ChatNode> };

const proposalsOf = ({ old, new: next }: PluginReplayRow) =>
  [old, next].map((list) => list.map((one) => `${operationText(one)} ${one.why ?? ""}`).join("\n"));

/** Returns whether the rules would propose something else. */
function isOther(row: PluginReplayRow) {
  const [was, is] = proposalsOf(row);
  return was !== is || Boolean(row.error);
}

/** Returns whether anything would change at a message. */
const differs = (row: PluginReplayRow) => isOther(row) || row.world.length > 0;

/** Returns the part of a row that the user may see. */
const visibleRow = (row: PluginReplayRow): PluginReplayRow => ({
  ...row,
  old: row.old.map(visibleOperation).filter(isNotNull),
  new: row.new.map(visibleOperation).filter(isNotNull),
  world: row.world.map(visibleChange).filter(isNotNull),
  notes: row.notes.filter(isTextVisible),
});

interface ReplayProps {
  plugin: PluginDetail;
  texts: FileTexts;
  jump: (fault: ScriptError) => void;
}

export function Replay({ plugin, texts, jump }: ReplayProps) {
  const open = session.value;
  const result = useSignal<{ answer: ReplayAnswer; texts: FileTexts; leaf: Id | null } | null>(null);
  const isBusy = useSignal(false);
  const every = useSignal(false);
  const follows = useSignal(false);
  if (!open) return <EmptyState symbol="book" title={t("workshop.noStory")} hint={t("workshop.noStoryHint")} />;
  const ask = async () => {
    if (isBusy.peek()) return;
    clearDialogErrors();
    isBusy.value = true;
    follows.value = false;
    const leaf = viewedLeaf.peek() ?? head.peek();
    const answer = await runReplay(plugin.id, { sessionId: open.id, files: texts, ...(leaf && { leafId: leaf }) });
    isBusy.value = false;
    if (answer) result.value = { answer, texts, leaf };
  };
  const accept = async () => {
    const seen = result.peek();
    if (isBusy.peek() || !seen) return;
    clearDialogErrors();
    isBusy.value = true;
    const { leaf, answer: replay } = seen;
    const answer = await acceptReplay(plugin.id, {
      sessionId: open.id,
      files: {},
      shown: replay.shown,
      ...(leaf && { leafId: leaf }),
    });
    isBusy.value = false;
    if (!answer) return;
    result.value = null;
    follows.value = true;
  };
  const isSaved = Object.keys(texts).length === 0;
  const mayFollow = result.value?.texts === texts && (result.value?.answer.rows ?? []).every((row) => !row.error);
  const all = result.value?.answer.rows ?? [];
  const rows = all.map(visibleRow);
  const isLess = JSON.stringify(rows) !== JSON.stringify(all);
  const other = rows.filter(differs);
  const shown = every.value ? rows : other;
  return (
    <>
      <p class="aside">{t("workshop.replayText")}</p>
      <div class="actions start">
        <button type="button" class="primary" aria-disabled={isBusy.value ? "true" : undefined} onClick={ask}>
          {icon("rewind")}
          <span>{t("workshop.replayIt")}</span>
        </button>
        {isBusy.value && (
          <p class="aside" role="status">
            {t("workshop.running")}
          </p>
        )}
      </div>
      {follows.value && <p role="status">{t("workshop.follows")}</p>}
      {result.value?.answer.error && (
        <ul>
          <Fault fault={result.value.answer.error} jump={jump} />
        </ul>
      )}
      {result.value && !result.value.answer.error && (
        <>
          <p role="status">
            {rows.length === 0
              ? t("workshop.noRows")
              : t(other.length === 0 ? "workshop.allSame" : "workshop.someOther", { n: rows.length, m: other.length })}
          </p>
          {result.value.texts !== texts && <p class="aside">{t("workshop.old")}</p>}
          {isLess && <HiddenNote />}
          {other.length > 0 && other.length < rows.length && (
            <label class="check">
              <input
                type="checkbox"
                checked={every.value}
                onChange={(event: Event) => (every.value = (event.target as HTMLInputElement).checked)}
              />
              <span>{t("workshop.showAll")}</span>
            </label>
          )}
          {shown.length > 0 && (
            <table class="replay">
              <caption class="hidden">{t("workshop.replay")}</caption>
              <thead>
                <tr>
                  <th scope="col">{t("workshop.message")}</th>
                  <th scope="col">{t("workshop.before")}</th>
                  <th scope="col">{t("workshop.after")}</th>
                  <th scope="col">{t("workshop.worldThen")}</th>
                </tr>
              </thead>
              <tbody>
                {shown.map((row) => (
                  <Row
                    key={`${row.nodeId} ${row.hook}`}
                    row={row}
                    node={result.value?.answer.nodes.get(row.nodeId) ?? null}
                    jump={jump}
                  />
                ))}
              </tbody>
            </table>
          )}
          {all.some(differs) &&
            mayFollow &&
            (isSaved ? (
              <div class="actions start">
                <button type="button" aria-disabled={isBusy.value ? "true" : undefined} onClick={accept}>
                  {icon("check")}
                  <span>{t("workshop.follow")}</span>
                </button>
                <p class="aside">{t("workshop.followText")}</p>
              </div>
            ) : (
              <p class="aside">{t("workshop.followSaved")}</p>
            ))}
        </>
      )}
    </>
  );
}

interface RowProps {
  row: PluginReplayRow;
  node: ChatNode | null;
  jump: (fault: ScriptError) => void;
}

function Row({ row, node, jump }: RowProps) {
  const { nodeId, hook, old, new: next, notes, error, world } = row;
  const differs = isOther(row);
  const name = node ? titleOf(node) : nodeId;
  return (
    <tr class={differs ? "differs" : ""}>
      <th scope="row">
        <button type="button" class="link" title={t("workshop.goTo")} onClick={() => moveHeadTo(nodeId, false)}>
          {name}
        </button>{" "}
        <small>
          <code>{hook}</code>
        </small>
      </th>
      <td data-label={t("workshop.before")}>
        <OperationList operations={old} />
      </td>
      <td data-label={t("workshop.after")}>
        {error ? (
          <ul>
            <Fault fault={error} jump={jump} />
          </ul>
        ) : differs ? (
          <OperationList operations={next} />
        ) : (
          <p class="aside">{t("workshop.same")}</p>
        )}
        {notes.map((note, i) => (
          <p key={i} class="aside">
            {note}
          </p>
        ))}
      </td>
      <td data-label={t("workshop.worldThen")}>
        {world.length > 0 ? <ValueChanges changes={world} /> : <p class="aside">{t("workshop.same")}</p>}
      </td>
    </tr>
  );
}
