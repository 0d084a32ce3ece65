// What a world hides from those who play in it: how it is marked where it is shown, and that there is more where it is not.
import { h, html } from "../../vendor/preact.js";
import { run } from "../actions/commands.js";
import "../actions/creator.js";
import { t } from "../lib/i18n.js";
import { isSecret } from "../model/world.js";
import { icon } from "./parts.js";

/** Beside a value that players do not see. @param {{path: string}} props */
export const SecretMark = ({ path }) => isSecret(path) && html`<span class="secret" title=${t("secret.mark")}>${icon("eyeOff")}<span class="hidden">${t("secret.mark")}</span></span>`;

/** Something is not shown here; who makes worlds can have it shown. */
export const Withheld = () => html`<p class="aside withheld">${icon("eyeOff")}<span>${t("secret.withheld")}</span> <button type="button" class="link" onClick=${() => run("page.creator")}>${t("command.creator")}</button></p>`;

/** @param {string} path */
export const secretMark = (path) => h(SecretMark, { path });
