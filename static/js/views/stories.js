// The other stories, one of which a copy goes to. Loaded when first opened.
import { h, html } from "../../vendor/preact.js";
import { readMoreSessions } from "../actions/library.js";
import { carryTo } from "../actions/move.js";
import { excerpt } from "../lib/excerpt.js";
import { t } from "../lib/i18n.js";
import { quoted } from "../lib/tags.js";
import { loading, moreSessions, sessions } from "../model/library.js";
import { session } from "../model/story.js";
import { Ago } from "./parting.js";
import { Blank, Modal, Waiting, icon } from "./parts.js";

/** @import { Session } from "../lib/wire.d.ts" */

export function Stories() {
  const others = sessions.value.filter(({ id, mode }) => id !== session.value?.id && mode !== "linear");
  return h(Modal, { title: t("command.elsewhere"), class: "wide" }, html`<div class="stash"><p class="aside">${t("stories.text")}</p>
    ${loading.value.state !== "ready" ? h(Waiting, { rows: 3 }) : others.length === 0 ? h(Blank, { symbol: "book", title: t("stories.none") }) : html`<ul>${others.map((one) => h(Row, { key: one.id, session: one }))}</ul>`}
    ${moreSessions.value && html`<button type="button" onClick=${readMoreSessions}>${t("library.more")}</button>`}</div>`);
}

/** @param {{session: Session}} props */
function Row({ session: { id, title, preview = "", counts, updatedAt } }) {
  const length = [counts && t("library.turns", { n: counts.turns }), counts && counts.branches > 1 && t("library.branches", { n: counts.branches })].filter(Boolean).join(" · ");
  return html`<li class="fragment branch"><article aria-label=${title}><span class="aside">${icon("book")}</span><div><h3>${title}</h3><p class="aside">${preview && html`<span>${excerpt(quoted(preview), 80)}</span>`}<span>${length && `${length} · `}${h(Ago, { timestamp: updatedAt })}</span></p></div>
    <button type="button" onClick=${() => carryTo(id)}>${icon("right")}<span>${t("stories.choose")}</span></button></article></li>`;
}
