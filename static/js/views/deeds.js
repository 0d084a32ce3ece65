// What rules proposed, as it is stored, and where a world differs from another one: for those who write rules.
import { html } from "../../vendor/preact.js";
import { t } from "../lib/i18n.js";
import { brief, escapeStep } from "../lib/text.js";
import { placeName } from "../model/world.js";
import { secretMark } from "./secret.js";

/** @import { Change, Json, Operation } from "../lib/wire.d.ts" */

/** "add /purse/gold 5" @param {Operation} operation */
export const spelledOut = ({ op, path, key, from, value }) => [op, path, key, from && `← ${from}`, value === undefined ? "" : written(value)].filter(Boolean).join(" ");

/** Where an operation puts its value. @param {Operation} operation */
const placeOf = ({ path, key }) => (key === undefined ? path : `${path}/${escapeStep(key)}`);

/** A value on one line: texts without their marks where they are short words. @param {Json} value */
const written = (value) => (typeof value === "object" || typeof value === "string" ? JSON.stringify(value) : String(value));

/** @param {{operations: Operation[]}} props */
export const Deeds = ({ operations }) =>
  operations.length === 0
    ? html`<p class="aside">${t("workshop.nothingProposed")}</p>`
    : html`<ul class="deeds">${operations.map((one, i) => html`<li key=${i}><code>${spelledOut(one)}</code>${(one.in ?? "vars") === "vars" && secretMark(placeOf(one))}${one.why && html` <small>${one.why}</small>`}</li>`)}</ul>`;

/** @param {{changes: Change[]}} props */
export const Differences = ({ changes }) =>
  html`<ul class="deeds">${changes.map(({ path, before, after }) => html`<li key=${path}><span title=${path}>${placeName(path)}</span>${secretMark(path)} <b>${brief(before)} → ${brief(after)}</b></li>`)}</ul>`;
