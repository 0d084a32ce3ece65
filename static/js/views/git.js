// The words of Git and what they are called here. Loaded when first opened.
import { h, html } from "../../vendor/preact.js";
import "../actions/arrange.js";
import "../actions/branches.js";
import { command } from "../actions/commands.js";
import "../actions/merge.js";
import "../actions/move.js";
import "../actions/stash.js";
import "../actions/summarise.js";
import "../actions/takeout.js";
import "../actions/transfers.js";
import "../actions/turn.js";
import { GIT } from "../lib/git.js";
import { t } from "../lib/i18n.js";
import { spelled } from "../lib/keys.js";
import { Modal, icon } from "./parts.js";

export const GitWords = () =>
  h(Modal, { title: t("command.git"), class: "wide" }, html`<p>${t("git.text")}</p><div class="table" tabindex="0"><table class="git"><thead><tr><th>Git</th><th>${t("git.here")}</th><th>${t("git.meaning")}</th></tr></thead>
    <tbody>${GIT.map(({ word, git, commands }) => html`<tr key=${word}><th><code>${git}</code></th><td>${commands.map((id) => h(Name, { key: id, id }))}</td><td>${t(`git.${word}`)}</td></tr>`)}</tbody></table></div>`);

/** @param {{id: string}} props */
function Name({ id }) {
  const { label, keys, icon: symbol } = command(id);
  return html`<span class="named">${icon(symbol)}<span>${t(label)}</span>${keys?.[0] && html` <kbd>${spelled(keys[0])}</kbd>`}</span>`;
}
