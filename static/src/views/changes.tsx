// The changes of a turn as chips, such as "Hit points −12 the rat bites", and its dice rolls.
import { Fragment, h } from "../../vendor/preact.js";
import { run } from "../actions/commands.ts";
import { clock, locale, t } from "../lib/i18n.ts";
import { compactJson, signed } from "../lib/text.ts";
import { changesOf, isDescribed, withoutDescription } from "../lib/schema.ts";
import { deltaOf } from "../model/deltas.ts";
import { nodeOf } from "../model/session-store.ts";
import { labelOf, valueText, rows, visibleDelta } from "../model/world.ts";
import { answeredMessage, changeNodesAfter, isAnswered } from "../tree/shown-branch.ts";
import { icon } from "./common.tsx";
import { secretMark } from "./secret.tsx";
import type { Turn } from "../lib/schema.ts";
import type { ChatNode, Delta, Id, Json, Operation, Roll } from "../lib/wire.d.ts";

/** Returns "−12" for numbers, else the new value, with the old one before it if both together are short. */
export function differenceOf({ path, before: was, after: now }: Turn) {
  const row = rows.value.get(path);
  const [before, after] = isDescribed(now) ? [was, now].map((value) => withoutDescription(path, value)) : [was, now];
  if (typeof before === "number" && typeof after === "number") return signed(after - before);
  if (Array.isArray(before) && Array.isArray(after)) return listDifference(before, after);
  if (after === undefined || after === null) return t("change.gone");
  if (typeof after === "boolean") return t(after ? "yes" : "no");
  const [old, is] = [valueText(row, before), valueText(row, after)];
  return before === undefined || before === null || old.length + is.length > 40 ? is : `${old} → ${is}`;
}

function listDifference(before: Json[], after: Json[]) {
  const left = [...before];
  const added = after.map(compactJson).filter((item) => {
    const at = left.findIndex((old) => compactJson(old) === item);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
  return [...added.map((item) => `+ ${item}`), ...left.map((item) => `− ${compactJson(item)}`)].join(", ");
}

export function toneOf({ before, after }: Turn) {
  if (typeof before !== "number" || typeof after !== "number") return "";
  return after < before ? "down" : "up";
}

export const RollChip = ({ roll }: { roll: Roll }) => (
  <li class="chip" title={`${roll.plugin} · ${roll.hook}`}>
    {icon("dice")}
    <span>{roll.spec}</span>
    <b>{roll.total}</b>
    {roll.dice.length > 1 && <small>{roll.dice.join(" + ")}</small>}
  </li>
);

/** Returns the rolls and the visible changes of some deltas. */
function visible(deltas: Delta[]) {
  const all = [...changesOf(deltas.map(visibleDelta)).values()].map((change) => ({
    change,
    label: labelOf(change.path),
  }));
  return { rolls: deltas.flatMap((delta) => delta.rolls ?? []), changes: all.filter(({ label }) => label !== null) };
}

/**
 * Returns the operations that a message with muted effects asked for. There are no changes to show, because none was
 * applied.
 */
function mutedOperations(id: Id | null) {
  if (nodeOf(id)?.effects !== "muted") return [];
  const delta = deltaOf(id ?? "");
  const asked = (delta ? (visibleDelta(delta).operations ?? []) : []).filter((one) => (one.in ?? "vars") === "vars");
  return asked
    .map((one) => ({ path: one.path, label: labelOf(one.path), words: requestedOperation(one) }))
    .filter(({ label }) => label !== null);
}

function requestedOperation({ op, path, value }: Operation) {
  if (op === "add" && typeof value === "number") return signed(value);
  if (op === "append") return `+ ${compactJson(value)}`;
  if (op === "take") return `− ${compactJson(value)}`;
  return op === "remove" ? t("change.gone") : valueText(rows.value.get(path), value);
}

function ChangeChip({ change, label }: { change: Turn; label: string | null }) {
  const difference = differenceOf(change);
  // A reason that only repeats the difference is not shown.
  const why = difference.toLowerCase().includes(change.why.toLowerCase()) ? "" : change.why;
  return (
    <li class={`chip ${toneOf(change)}`}>
      <span>{label}</span>
      {secretMark(change.path)}
      <b>{difference}</b>
      {why && <small>{why}</small>}
    </li>
  );
}

/** The changes of the turn that ends with this message, and the manual changes after it. */
export function TurnChanges({ nid }: { nid: Id }) {
  void locale.value;
  const asked = answeredMessage(nid);
  const turn = isAnswered(nid) ? [] : [asked, nid].map((id) => (id ? deltaOf(id) : null));
  const { rolls, changes } = visible(turn.filter((delta) => delta !== null));
  const without = isAnswered(nid) ? [] : [...mutedOperations(asked), ...mutedOperations(nid)];
  return (
    <>
      {rolls.length + changes.length + without.length > 0 && (
        <ul class="changes" aria-label={t("turn.changes")}>
          {rolls.map((roll, i) => (
            <RollChip key={i} roll={roll} />
          ))}
          {changes.map(({ change, label }) => (
            <ChangeChip key={change.path} change={change} label={label} />
          ))}
          {without.map(({ path, label, words }, i) => (
            <li key={`without-${i}`} class="chip without">
              <span>{label}</span>
              {secretMark(path)}
              <s>{words}</s>
              <small>{t("change.notCounted")}</small>
            </li>
          ))}
        </ul>
      )}
      {changeNodesAfter(nid).map((id) => (
        <ManualChange key={id} id={id} />
      ))}
    </>
  );
}

/** Returns whether a user made the change. Other changes come with new rules. */
export const isManualChange = (delta: Delta) => (delta.operations ?? []).some(({ by }) => by === "user");

/** Returns the title of a change node between two messages. */
export const changeNodeTitle = (node: ChatNode | null, delta: Delta) =>
  t(isManualChange(delta) ? "change.byHand" : node?.metadata?.answers ? "change.answer" : "change.rules");

/** A manual change. It is a node of its own but no message. */
function ManualChange({ id }: { id: Id }) {
  const node = nodeOf(id);
  const delta = deltaOf(id);
  if (!node || !delta) return null;
  const { changes } = visible([delta]);
  if (changes.length === 0) return null;
  return (
    <div class="by-hand">
      {icon("edit")}
      <span>{changeNodeTitle(node, delta)}</span>
      <time datetime={node.timestamp}>{clock(node.timestamp)}</time>
      <ul>
        {changes.map(({ change, label }) => (
          <ChangeChip key={change.path} change={change} label={label} />
        ))}
      </ul>
      <button
        type="button"
        class="round"
        aria-label={t("change.why")}
        title={t("change.why")}
        onClick={() => run("message.why", node)}
      >
        {icon("why")}
      </button>
    </div>
  );
}
