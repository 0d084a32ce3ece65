// Who did something to a value, in words: a rule of a plugin and where it ran, a tool, a reader, the prompt.
import { h, html } from "../../vendor/preact.js";
import { addEnglish, t, wordFor } from "../lib/i18n.js";
import words from "../lib/strings/en-why.js";
import { groups } from "../model/world.js";
import { spelledOut } from "./deeds.js";

/** @import { Cause } from "../lib/causes.js" */
/** @import { RuleRun } from "../lib/wire.d.ts" */

addEnglish(words);

/** The beginning of the name of a call that a model asked for. */
const TOOL = "tool_";

/** Whether a model asked for it. @param {RuleRun} run */
export const isTool = ({ hook }) => hook.startsWith(TOOL);

/** What a call of a plugin was for. @param {RuleRun} run */
export function deedOf(run) {
  const { hook, because = "" } = run;
  if (isTool(run)) return t("hook.tool", { name: hook.slice(TOOL.length) });
  return wordFor(`hook.${hook.split(":")[0]}`, { why: because });
}

/** @param {string} plugin */
const titleOf = (plugin) => groups.value.find((group) => group.plugin === plugin)?.title || plugin;

/** @param {{cause: Cause}} props */
export function CauseLine({ cause: { operation, run } }) {
  const { by = "", why } = operation;
  const who = by === "user" ? t("history.you") : by === "server" ? t("why.server") : titleOf(by);
  const rule = run?.hook.startsWith("rule:") ? run.hook.slice("rule:".length) : "";
  return html`<li><b>${who}</b>${run && html` · ${deedOf(run)}`}${why && html` · <q>${why}</q>`} <small><code>${spelledOut(operation)}</code>${rule ? html` · <code>${rule}</code>` : run && !isTool(run) ? html` · <code>${run.hook}</code>` : ""}</small></li>`;
}

/** @param {{causes: Cause[]}} props */
export const Causes = ({ causes }) => html`<ul class="causes">${causes.map((cause, i) => h(CauseLine, { key: i, cause }))}</ul>`;
