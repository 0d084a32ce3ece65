// Devices of the house: the section of the settings, and the dialogs that pair, name and remove one.
import { h, html, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { lookForNew, nameDevice, offerCode, readHouse, revokeDevice } from "../actions/devices.js";
import { copyText } from "../lib/clipboard.js";
import { addEnglish, ago, moment, t } from "../lib/i18n.js";
import { QUIET, darkPath, minutes, siteOf, spelledCode } from "../lib/pairing.js";
import words from "../lib/strings/en-devices.js";
import { house } from "../model/devices.js";
import { openDialog, tell } from "../model/page.js";
import { Blank, Modal, Waiting, icon } from "./parts.js";

/** @import { Device, Id, Pairing } from "../lib/wire.d.ts" */

addEnglish(words);

const COMMAND = "clotho serve --lan";

/** @param {string} text */
const copy = async (text) => (await copyText(text)) && tell({ tone: "quiet", text: t("notice.copied") });

// The section

export function Devices() {
  useEffect(() => void readHouse(), []);
  const seen = house.value;
  if (!seen) return h(Waiting, { rows: 2 });
  const { servesHouse, devices } = seen;
  const list = devices.length > 0 && html`<ul class="servers">${devices.map((device) => h(Row, { key: device.id, device }))}</ul>`;
  if (!servesHouse)
    return html`<p>${t("devices.off")}</p>
      <div class="shell"><code>${COMMAND}</code><button type="button" class="round" aria-label=${t("devices.copy")} title=${t("devices.copy")} onClick=${() => copy(COMMAND)}>${icon("copy")}</button></div>
      <p class="aside">${t("devices.offFile")}</p>${list && html`<p class="aside">${t("devices.offOld")}</p>${list}`}`;
  return html`<p class="aside">${t("devices.text")}</p>
    ${list || h(Blank, { symbol: "phone", title: t("devices.none"), hint: t("devices.noneHint") })}
    <div class="actions start"><button type="button" class=${list ? "" : "primary"} onClick=${() => openDialog({ kind: "pair" })}>${icon("phone")}<span>${t("devices.pair")}</span></button></div>
    <p class="aside">${t("devices.plain")}</p>`;
}

const HOUR = 3_600_000;

/** The server notes once an hour that somebody is here. @param {string} iso */
const seenOf = (iso) => (Date.now() - Date.parse(iso) < HOUR ? t("devices.seenNow") : t("devices.seen", { when: ago(iso, Date.now()) }));

/** @param {{device: Device}} props */
function Row({ device }) {
  const { name, createdAt, lastSeenAt, isThis } = device;
  const button = (/** @type {"devices.rename" | "devices.revoke"} */ label, /** @type {string} */ symbol, /** @type {"nameDevice" | "revokeDevice"} */ kind) =>
    html`<button type="button" class="round" aria-label=${t(label, { name })} title=${t(label, { name })} onClick=${() => openDialog({ kind, device })}>${icon(symbol)}</button>`;
  return html`<li class="server"><article aria-label=${name}><div><h3>${name}${isThis && html` <span class="chip on">${t("devices.this")}</span>`}</h3>
      <p class="aside">${t("devices.paired", { when: moment(createdAt) })} · ${seenOf(lastSeenAt)}</p></div>
    <div class="actions">${button("devices.rename", "edit", "nameDevice")}${button("devices.revoke", "trash", "revokeDevice")}</div></article></li>`;
}

/** @param {{device: Device}} props */
export const NameDevice = ({ device }) => h(Modal, { title: t("devices.rename", { name: device.name }), keeps: true }, h(NameForm, { device, label: t("save"), cancel: true }));

/** @param {{device: Device, label: string, cancel: boolean}} props */
function NameForm({ device, label, cancel }) {
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    const name = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("name") ?? "").trim();
    if (name === device.name) openDialog(null);
    else if (name) void nameDevice(device.id, name);
  };
  return html`<form onSubmit=${save}><label>${t(cancel ? "devices.name" : "pair.call")}<input name="name" required maxlength="80" autofocus autocomplete="off" defaultValue=${device.name} /></label>
    <div class="actions">${cancel && html`<button type="button" onClick=${() => openDialog(null)}>${t("cancel")}</button>`}<button class="primary">${label}</button></div></form>`;
}

/** @param {{device: Device}} props */
export function RevokeDevice({ device }) {
  const { name, isThis } = device;
  const yes = (/** @type {Event} */ event) => (event.preventDefault(), void revokeDevice(device));
  return h(Modal, { title: t("devices.revoke", { name }) }, html`<form onSubmit=${yes}><p>${t("devices.revokeText", { name })}</p>${isThis && html`<p>${t("devices.revokeThis")}</p>`}
    <div class="actions"><button type="button" autofocus onClick=${() => openDialog(null)}>${t("cancel")}</button><button class="primary danger">${t("devices.revokeYes")}</button></div></form>`);
}

// Pairing

/** So often is looked whether the device has come, in milliseconds. */
const LOOK_EVERY = 1500;

/** @typedef {{pairing: Pairing, known: Set<Id>, until: number}} Offer `until`: by the clock of this machine */

export function PairDevice() {
  const offer = useSignal(/** @type {Offer | null} */ (null));
  const came = useSignal(/** @type {Device | null} */ (null));
  const isFailed = useSignal(false);
  const fresh = async () => {
    isFailed.value = false;
    came.value = offer.value = null;
    const made = await offerCode();
    isFailed.value = !made;
    if (made) offer.value = { ...made, until: Date.now() + made.pairing.expiresInS * 1000 };
  };
  useEffect(() => void fresh(), []);
  const waited = offer.value;
  useEffect(() => {
    if (!waited) return undefined;
    let isOver = false;
    const look = async () => {
      const found = await lookForNew(waited.known);
      if (isOver) return;
      if (found) came.value = found;
      else timer = setTimeout(look, LOOK_EVERY);
    };
    let timer = setTimeout(look, LOOK_EVERY);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [waited]);
  const what = came.value
    ? h(Came, { device: came.value, again: () => void fresh() })
    : waited
      ? h(Code, { key: waited.pairing.code, offer: waited, fresh: () => void fresh() })
      : isFailed.value
        ? html`<div class="actions"><button type="button" class="primary" onClick=${fresh}>${t("retry")}</button></div>`
        : h(Waiting, { rows: 4 });
  return h(Modal, { title: t("devices.pair"), class: came.value ? "" : "pairing" }, what);
}

/** @param {{offer: Offer, fresh: () => void}} props */
function Code({ offer: { pairing, until }, fresh }) {
  const at = useSignal(0);
  const left = useSignal(secondsUntil(until));
  useEffect(() => {
    const timer = setInterval(() => (left.value = secondsUntil(until)), 500);
    return () => clearInterval(timer);
  }, []);
  const isOver = left.value === 0;
  const link = pairing.links[at.value];
  const again = html`<button type="button" class=${isOver ? "primary" : ""} onClick=${fresh}>${icon("reroll")}<span>${t("pair.fresh")}</span></button>`;
  if (!link) return html`<p>${t("pair.lonely")}</p><div class="actions">${again}</div>`;
  const choose = (/** @type {Event} */ event) => (at.value = Number(/** @type {HTMLSelectElement} */ (event.target).value));
  return html`<p>${t("pair.text")}</p>
    <div class=${`scan ${isOver ? "over" : ""}`}>${h(Squares, { link })}
      <div class="typed">${pairing.links.length > 1 && html`<label>${t("pair.where")}<select onChange=${choose}>${pairing.links.map(({ address }, i) => html`<option key=${address} value=${i} selected=${i === at.value}>${siteOf(address)}</option>`)}</select><small>${t("pair.other")}</small></label>`}
        <p>${t("pair.typed")}</p><p class="site"><code>${siteOf(link.address)}</code></p>
        <p class="short"><span class="hidden">${t("pair.code")} </span><code>${spelledCode(pairing.shortCode)}</code></p></div></div>
    <p class="aside ends" role="status">${isOver ? html`<strong>${t("pair.ended")}</strong>` : html`<span class="hidden">${t("pair.ends", { time: minutes(Math.ceil(left.value / 60) * 60) })}</span>`}
      ${!isOver && html`<span aria-hidden="true">${t("pair.ends", { time: minutes(left.value) })}</span>`}</p>
    <div class="actions">${!isOver && html`<button type="button" onClick=${() => copy(link.address)}>${icon("copy")}<span>${t("pair.copy")}</span></button>`}${again}</div>`;
}

/** @param {number} until */
const secondsUntil = (until) => Math.max(0, Math.ceil((until - Date.now()) / 1000));

/** Dark on light in every look of the page, for cameras want it so. @param {{link: Pairing["links"][number]}} props */
function Squares({ link: { address, modules } }) {
  const side = modules.length + 2 * QUIET;
  return html`<svg class="qr" viewBox=${`0 0 ${side} ${side}`} role="img" aria-label=${t("pair.qr", { address: siteOf(address) })} shape-rendering="crispEdges"><rect width=${side} height=${side} /><path d=${darkPath(modules)} /></svg>`;
}

/** @param {{device: Device, again: () => void}} props */
function Came({ device, again }) {
  const said = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => said.current?.focus(), []);
  return html`<p class="came" role="status" tabindex="-1" ref=${said}>${icon("check")}<span>${t("pair.done", { name: device.name })}</span></p>${h(NameForm, { device, label: t("pair.finish"), cancel: false })}
    <div class="actions again"><button type="button" class="link" onClick=${again}>${t("pair.another")}</button></div>`;
}
