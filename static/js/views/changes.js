// What a turn changed, as chips: "Hit points −12 the rat bites", and the dice it threw.
import { computed, h, html } from "../../vendor/preact.js";
import { locale, t } from "../lib/i18n.js";
import { valueName } from "../lib/schema.js";
import { brief, escapeStep, humanise, signed, steps } from "../lib/text.js";
import { head, peek } from "../model/story.js";
import { groups, known, rolls, turn } from "../model/world.js";
import { icon } from "./parts.js";

/** @import { Row, Turn } from "../lib/schema.js" */
/** @import { Id, Json, Roll } from "../lib/wire.d.ts" */

const drawn = computed(() => {
  /** @type {Map<string, Row>} */
  const map = new Map();
  /** @param {Row[]} rows */
  const walk = (rows) => {
    for (const row of rows) {
      map.set(row.path, row);
      walk(row.rows);
    }
  };
  groups.value.forEach((group) => walk(group.rows));
  return map;
});

/** The name a reader knows a path by; null where the schema hides it. @param {string} path */
export function labelOf(path) {
  const parts = steps(path);
  for (let n = parts.length; n > 0; n -= 1) {
    const row = drawn.value.get(`/${parts.slice(0, n).map(escapeStep).join("/")}`);
    if (row) return [row.label, ...parts.slice(n).map(humanise)].join(" · ");
  }
  return null;
}

/** A value in the schema's words for the reader's language, where it has some. @param {Row | undefined} row @param {Json | undefined} value */
export function nameOf(row, value) {
  const own = row && valueName(row.schema, value, locale.value);
  if (own) return own;
  return typeof value === "string" && /^[a-z]+([_ '-][a-z]+)*$/.test(value) ? humanise(value) : brief(value);
}

/** "−12" for numbers, else the new value; the old one in front where it is short. @param {Turn} change */
export function differenceOf({ path, before, after }) {
  const row = drawn.value.get(path);
  if (typeof before === "number" && typeof after === "number") return signed(after - before);
  if (Array.isArray(before) && Array.isArray(after)) return listDifference(before, after);
  if (after === undefined || after === null) return t("change.gone");
  if (typeof after === "boolean") return t(after ? "yes" : "no");
  const [was, is] = [nameOf(row, before), nameOf(row, after)];
  return before === undefined || before === null || was.length + is.length > 40 ? is : `${was} → ${is}`;
}

/** @param {Json[]} before @param {Json[]} after */
function listDifference(before, after) {
  const left = [...before];
  const added = after.map(brief).filter((item) => {
    const at = left.findIndex((old) => brief(old) === item);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
  return [...added.map((item) => `+ ${item}`), ...left.map((item) => `− ${brief(item)}`)].join(", ");
}

/** @param {Turn} change */
export function toneOf({ before, after }) {
  if (typeof before !== "number" || typeof after !== "number") return "";
  return after < before ? "down" : "up";
}

/** @param {{roll: Roll}} props */
export const RollChip = ({ roll }) =>
  html`<li class="chip" title=${`${roll.plugin} · ${roll.hook}`}>${icon("dice")}<span>${roll.spec}</span><b>${roll.total}</b>
    ${roll.dice.length > 1 && html`<small>${roll.dice.join(" + ")}</small>`}</li>`;

/** @param {{nid: Id}} props the last message of the line */
export function TurnChanges({ nid }) {
  void locale.value;
  const here = known.value?.nid;
  if (!here || here !== (peek.value ?? head.value)) return null;
  const rows = [...turn.value.values()].map((change) => ({ change, label: labelOf(change.path) })).filter(({ label }) => label !== null);
  if (rows.length + rolls.value.length === 0) return null;
  return html`<ul class="changes" aria-label=${t("turn.changes")} data-for=${nid}>
    ${rolls.value.map((roll, i) => h(RollChip, { key: i, roll }))}
    ${rows.map(({ change, label }) => html`<li key=${change.path} class=${`chip ${toneOf(change)}`}><span>${label}</span><b>${differenceOf(change)}</b>
      ${change.why && html`<small>${change.why}</small>`}</li>`)}</ul>`;
}
