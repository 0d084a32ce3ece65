// For what a lorebook holds: everything, or stories, personas and characters that are chosen.
import { h, html, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { readHolders, readHolds, setHolds } from "../actions/lore.js";
import { excerpt } from "../lib/excerpt.js";
import { t } from "../lib/i18n.js";
import { icon } from "./parts.js";

/** @import { Key } from "../lib/i18n.js" */
/** @import { Holders } from "../actions/lore.js" */
/** @import { Id, LorebookHolds } from "../lib/wire.d.ts" */

/** What a book can hold for beside everything, each with its field and its words. @type {{field: "sessionIds" | "personaIds" | "characterIds", label: Key, add: Key}[]} */
const KINDS = [
  { field: "sessionIds", label: "lore.holdsSessions", add: "lore.holdsAddSession" },
  { field: "characterIds", label: "lore.holdsCharacters", add: "lore.holdsAddCharacter" },
  { field: "personaIds", label: "lore.holdsPersonas", add: "lore.holdsAddPersona" },
];

/** @param {{id: Id}} props */
export function HoldsFor({ id }) {
  const holds = useSignal(/** @type {LorebookHolds | null} */ (null));
  const holders = useSignal(/** @type {Holders | null} */ (null));
  useEffect(() => {
    void readHolds(id).then((came) => (holds.value = came ?? null));
  }, []);
  const open = (/** @type {Event} */ event) => {
    const isOpen = /** @type {HTMLDetailsElement} */ (event.currentTarget).open;
    if (isOpen && holders.peek() === null) void readHolders(holds.peek()).then((came) => (holders.value = came ?? null));
  };
  const put = async (/** @type {LorebookHolds} */ next) => {
    const kept = await setHolds(id, next);
    // What was refused is shown as it is.
    holds.value = kept ?? (holds.peek() && { .../** @type {LorebookHolds} */ (holds.peek()) });
  };
  const now = holds.value;
  if (!now) return null;
  return html`<details class="holds lore-keys" onToggle=${open}><summary>${t("lore.holds")} <b>${summaryOf(now)}</b></summary>
    <label class="check"><input type="checkbox" checked=${now.everything} onChange=${(/** @type {Event} */ event) => put({ ...now, everything: /** @type {HTMLInputElement} */ (event.target).checked })} /><span>${t("lore.holdsEverything")}<small>${t("lore.holdsEverythingHint")}</small></span></label>
    ${holders.value && KINDS.map(({ field, label, add }) => h(Some, { key: field, label, add, all: /** @type {Holders} */ (holders.value)[field], ids: now[field], put: (ids) => put({ ...now, [field]: ids }) }))}</details>`;
}

/** What it holds for, in few words. @param {LorebookHolds} holds */
function summaryOf({ everything, sessionIds, personaIds, characterIds }) {
  const counts = [
    everything && t("lore.holdsEverything"),
    sessionIds.length > 0 && t("lore.holdsInSessions", { n: sessionIds.length }),
    characterIds.length > 0 && t("lore.holdsInCharacters", { n: characterIds.length }),
    personaIds.length > 0 && t("lore.holdsInPersonas", { n: personaIds.length }),
  ].filter(Boolean);
  return counts.length > 0 ? counts.join(", ") : t("lore.holdsNothing");
}

/** @param {{label: Key, add: Key, all: {id: Id, name: string}[], ids: Id[], put: (ids: Id[]) => void}} props */
function Some({ label, add, all, ids, put }) {
  const choice = useRef(/** @type {HTMLSelectElement | null} */ (null));
  const others = all.filter(({ id }) => !ids.includes(id));
  const nameOf = (/** @type {Id} */ id) => excerpt(all.find((one) => one.id === id)?.name ?? id, 60);
  const drop = (/** @type {Id} */ id) => {
    put(ids.filter((one) => one !== id));
    // The button that was pressed goes with it.
    choice.current?.focus();
  };
  const choose = () => {
    const id = choice.current?.value;
    if (id) put([...ids, id]);
    if (choice.current) choice.current.value = "";
  };
  if (all.length === 0) return null;
  return html`<div role="group" aria-label=${t(label)}><p class="aside">${t(label)}</p>
    ${ids.length > 0 && html`<ul class="chips">${ids.map((id) => html`<li key=${id} class="chip"><span>${nameOf(id)}</span><button type="button" aria-label=${t("lore.holdsDrop", { name: nameOf(id) })} title=${t("lore.holdsDrop", { name: nameOf(id) })} onClick=${() => drop(id)}>${icon("close")}</button></li>`)}</ul>`}
    <select ref=${choice} aria-label=${t(add)} onChange=${choose}><option value="">${t(add)}</option>${others.map(({ id, name }) => html`<option key=${id} value=${id}>${excerpt(name, 60)}</option>`)}</select></div>`;
}
