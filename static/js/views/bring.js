// The question before several files, or what another program keeps, come in: only look where that can be done, or bring it in; and
// what cannot be read from the files.
import { h, html, useRef } from "../../vendor/preact.js";
import { bringAll } from "../actions/transfers.js";
import { addEnglish, t } from "../lib/i18n.js";
import { bytes, number } from "../lib/measure.js";
import words from "../lib/strings/en-cards.js";
import { openDialog } from "../model/page.js";
import { asked } from "../model/transfers.js";
import { Modal, icon } from "./parts.js";

/** @import { Parcel } from "../model/transfers.js" */

addEnglish(words);

export function Bring() {
  const parcels = asked.value;
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const others = parcels.filter(({ to }) => !to);
  const homes = parcels.flatMap(({ data }) => (data.length > 1 ? data.map(({ home }) => home) : []));
  const go = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const said = new FormData(/** @type {HTMLFormElement} */ (form.current));
    const isDry = event.submitter?.getAttribute("value") === "look";
    openDialog(null);
    void bringAll(parcels, { isDry, hours: Number(said.get("hours")) || 0, home: String(said.get("home") ?? "") });
  };
  return h(Modal, { title: t(others.length > 0 ? "bring.title" : "bring.own") }, html`<form ref=${form} class="bring" onSubmit=${go}>
    <ul>${parcels.map((parcel, n) => html`<li key=${n}>${icon(parcel.file ? "book" : "stash")}<span><strong>${parcel.name}</strong><small>${sizeOf(parcel)}</small></span></li>`)}</ul>
    <p class="aside">${t(others.length > 0 ? "bring.text" : "bring.each")}</p>
    ${others.length > 0 && others.length < parcels.length && html`<p class="aside">${t("bring.unlooked")}</p>`}
    ${homes.length > 1 && html`<label>${t("bring.home")}<select name="home">${homes.map((home) => html`<option key=${home} value=${home} selected=${home.endsWith("default-user/")}>${home}</option>`)}</select></label>`}
    ${others.length > 0 && html`<label>${t("bring.hours")}<input name="hours" type="number" min="-25" max="25" step="0.25" defaultValue=${String(-new Date().getTimezoneOffset() / 60)} /><small>${t("bring.hoursHint")}</small></label>`}
    <div class="actions">${others.length > 0 ? html`<button value="look">${icon("search")}<span>${t("bring.look")}</span></button>` : html`<button type="button" onClick=${() => openDialog(null)}>${t("cancel")}</button>`}
      <button class="primary" value="bring" autofocus>${icon("upload")}<span>${t("bring.go")}</span></button></div></form>`);
}

/** @param {Parcel} parcel */
function sizeOf({ file, data }) {
  if (file) return bytes(file.size);
  const count = data.reduce((all, { parts }) => all + parts.length, 0);
  const aside = data.reduce((all, one) => all + one.aside.length, 0);
  const size = bytes(data.reduce((all, one) => all + one.bytes, 0));
  return [t("bring.files", { n: count, count: number(count), size }), aside > 0 && t("bring.aside", { n: aside, count: number(aside) })].filter(Boolean).join(" ");
}
