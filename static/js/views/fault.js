// One fault of a script, a manifest or a schema, with the way to its line.
import { h, html } from "../../vendor/preact.js";
import { t } from "../lib/i18n.js";
import { sentence } from "../lib/text.js";
import { icon } from "./parts.js";

/** @import { ScriptError } from "../lib/wire.d.ts" */

/** One fault, and the way to its line. @param {{fault: ScriptError, isBad?: boolean, jump: (fault: ScriptError) => void}} props */
export function Fault({ fault, isBad = true, jump }) {
  const { file, line, column, message, stack = [], opsDropped = 0 } = fault;
  const place = file ? [file, line, column].filter(Boolean).join(":") : "";
  return html`<li class=${isBad ? "fault bad" : "fault"}>${icon("warning")}<div><p>${sentence(message)}</p>
    <p class="aside">${place && h(JumpButton, { place, jump: () => jump(fault) })}${stack.length > 0 && html` ${t("workshop.calledFrom")} ${stack.map((one, i) => html`${i > 0 ? " ← " : ""}${h(JumpButton, { key: i, place: [one.function, one.line].filter(Boolean).join(":"), jump: () => jump({ ...fault, ...one }) })}`)}`}${opsDropped > 0 && html` ${t("workshop.dropped", { n: opsDropped })}`}</p></div></li>`;
}

/** @param {{place: string, jump: () => void}} props */
const JumpButton = ({ place, jump }) => html`<button type="button" class="link place" onClick=${jump}><code>${place}</code></button>`;
