// What a turn changed, as chips: "Hit points −12 the rat bites", and the dice it threw.
import { Fragment, h } from "../../vendor/preact.js";
import { run } from "../actions/commands.ts";
import { clock, locale, t } from "../lib/i18n.ts";
import { brief, signed } from "../lib/text.ts";
import { changesOf, isDescribed, undescribed } from "../lib/schema.ts";
import { deltaOf } from "../model/deltas.ts";
import { nodeOf } from "../model/story.ts";
import { labelOf, nameOf, rows, seenDelta } from "../model/world.ts";
import { askedFor, handsAfter, isAnswered } from "../tree/line.ts";
import { icon } from "./parts.tsx";
import { secretMark } from "./secret.tsx";
import type { Turn } from "../lib/schema.ts";
import type { ChatNode, Delta, Id, Json, Operation, Roll } from "../lib/wire.d.ts";

/** "−12" for numbers, else the new value; the old one in front where it is short. */
export function differenceOf({ path, before: was, after: now }: Turn) {
  const row = rows.value.get(path);
  const [before, after] = isDescribed(now) ? [was, now].map((value) => undescribed(path, value)) : [was, now];
  if (typeof before === "number" && typeof after === "number") return signed(after - before);
  if (Array.isArray(before) && Array.isArray(after)) return listDifference(before, after);
  if (after === undefined || after === null) return t("change.gone");
  if (typeof after === "boolean") return t(after ? "yes" : "no");
  const [old, is] = [nameOf(row, before), nameOf(row, after)];
  return before === undefined || before === null || old.length + is.length > 40 ? is : `${old} → ${is}`;
}

function listDifference(before: Json[], after: Json[]) {
  const left = [...before];
  const added = after.map(brief).filter((item) => {
    const at = left.findIndex((old) => brief(old) === item);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
  return [...added.map((item) => `+ ${item}`), ...left.map((item) => `− ${brief(item)}`)].join(", ");
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

/** What a reader can see of some deltas. */
function visible(deltas: Delta[]) {
  const all = [...changesOf(deltas.map(seenDelta)).values()].map((change) => ({ change, label: labelOf(change.path) }));
  return { rolls: deltas.flatMap((delta) => delta.rolls ?? []), changes: all.filter(({ label }) => label !== null) };
}

/** What a message would do to the world if it counted: what it asked for, as nothing was changed. */
function uncounted(id: Id | null) {
  if (nodeOf(id)?.effects !== "muted") return [];
  const delta = deltaOf(id ?? "");
  const asked = (delta ? (seenDelta(delta).operations ?? []) : []).filter((one) => (one.in ?? "vars") === "vars");
  return asked
    .map((one) => ({ path: one.path, label: labelOf(one.path), words: wishOf(one) }))
    .filter(({ label }) => label !== null);
}

function wishOf({ op, path, value }: Operation) {
  if (op === "add" && typeof value === "number") return signed(value);
  if (op === "append") return `+ ${brief(value)}`;
  if (op === "take") return `− ${brief(value)}`;
  return op === "remove" ? t("change.gone") : nameOf(rows.value.get(path), value);
}

function ChangeChip({ change, label }: { change: Turn; label: string | null }) {
  const difference = differenceOf(change);
  // A reason that says the same once more is none.
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

/** What the turn that ends with this message changed, and what was changed by hand after it. */
export function TurnChanges({ nid }: { nid: Id }) {
  void locale.value;
  const asked = askedFor(nid);
  const turn = isAnswered(nid) ? [] : [asked, nid].map((id) => (id ? deltaOf(id) : null));
  const { rolls, changes } = visible(turn.filter((delta) => delta !== null));
  const without = isAnswered(nid) ? [] : [...uncounted(asked), ...uncounted(nid)];
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
      {handsAfter(nid).map((id) => (
        <ByHand key={id} id={id} />
      ))}
    </>
  );
}

/** Whether a reader made a change; the others come with new rules. */
export const isByHand = (delta: Delta) => (delta.operations ?? []).some(({ by }) => by === "user");

/** What a step between two messages is. */
export const besideTitle = (node: ChatNode | null, delta: Delta) =>
  t(isByHand(delta) ? "change.byHand" : node?.metadata?.answers ? "change.answer" : "change.rules");

/** A change by hand: no message, but a step of the story like one. */
function ByHand({ id }: { id: Id }) {
  const node = nodeOf(id);
  const delta = deltaOf(id);
  if (!node || !delta) return null;
  const { changes } = visible([delta]);
  if (changes.length === 0) return null;
  return (
    <div class="by-hand">
      {icon("edit")}
      <span>{besideTitle(node, delta)}</span>
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
