// Many characters: looked for by words and tags, in an order, of which only those in sight are in the page. Loaded when there are many.
import { h, html, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { addEnglish, t } from "../lib/i18n.js";
import { inOrder, lookedFor, tagsOf } from "../lib/shelf.js";
import words from "../lib/strings/en-shelf.js";
import { sessions } from "../model/library.js";
import { ORDERS, order, orderBy, want, wanted } from "../model/shelf.js";
import { Blank, icon } from "./parts.js";

/** @import { VNode } from "../../vendor/preact.js" */
/** @import { Character } from "../lib/wire.d.ts" */

addEnglish(words);

const MOST_TAGS = 14;

/** @param {{all: Character[], card: (character: Character) => VNode}} props */
export function Characters({ all, card }) {
  const { words, tags, favourites } = wanted.value;
  const found = inOrder(lookedFor(all, wanted.value), order.value, lastPlayed());
  const turn = (/** @type {string} */ tag) => want({ tags: tags.includes(tag) ? tags.filter((one) => one !== tag) : [...tags, tag] });
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const clear = () => (want({ words: "", tags: [], favourites: false }), field.current?.focus());
  return html`<div class="shelf"><div class="shelf-tools">
      <label class="shelf-search">${icon("search")}<span class="hidden">${t("shelf.search")}</span><input ref=${field} type="search" maxlength="200" placeholder=${t("shelf.search")} value=${words} onInput=${(/** @type {InputEvent} */ event) => want({ words: /** @type {HTMLInputElement} */ (event.target).value })} /></label>
      <label><span class="hidden">${t("shelf.order")}</span><select value=${order.value} onChange=${(/** @type {Event} */ event) => orderBy(ORDERS.find((one) => one === /** @type {HTMLSelectElement} */ (event.target).value) ?? "newest")}>${ORDERS.map((one) => html`<option key=${one} value=${one}>${t(`shelf.by.${one}`)}</option>`)}</select></label></div>
    <div class="filters" role="group" aria-label=${t("shelf.tags")}>${(favourites || all.some(({ isFavourite }) => isFavourite)) && html`<button type="button" class=${`chip ${favourites ? "on" : ""}`} aria-pressed=${favourites} onClick=${() => want({ favourites: !favourites })}>${icon("star")}${t("shelf.favourites")}</button>`}${tagsOf(all, tags, MOST_TAGS).map((tag) => html`<button key=${tag} type="button" class=${`chip ${tags.includes(tag) ? "on" : ""}`} aria-pressed=${tags.includes(tag)} onClick=${() => turn(tag)}>${tag}</button>`)}</div>
    <p class="aside" role="status">${t("shelf.count", { n: found.length })}</p>
    ${found.length === 0 ? h(Blank, { symbol: "search", title: t("shelf.none"), hint: t("shelf.noneHint") }, html`<button type="button" onClick=${clear}>${t("shelf.clear")}</button>`) : h(Window, { found, card })}</div>`;
}

/** When each character was last played, as far as the stories are listed: the newest are. @returns {Map<string, string>} */
const lastPlayed = () => new Map(sessions.value.toReversed().flatMap(({ characterIds, updatedAt }) => characterIds.map((id) => /** @type {[string, string]} */ ([id, updatedAt]))));

/** Rows above and below what is in sight. */
const SPARE = 2;

/** The rows in sight, with the room that the others would take. @param {{found: Character[], card: (character: Character) => VNode}} props */
function Window({ found, card }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const view = useSignal({ columns: 3, from: 0, rows: 8, tall: 0 });
  const look = () => {
    const box = list.current;
    if (!box) return;
    const { rowGap, gridAutoRows, gridTemplateColumns } = getComputedStyle(box);
    const tall = parseFloat(gridAutoRows) + parseFloat(rowGap);
    const columns = gridTemplateColumns.split(" ").length;
    const above = -box.getBoundingClientRect().top;
    const from = Math.max(0, Math.floor(above / tall) - SPARE);
    const next = { columns, from, rows: Math.ceil(innerHeight / tall) + 2 * SPARE, tall };
    if (Object.entries(next).some(([name, value]) => view.peek()[/** @type {keyof typeof next} */ (name)] !== value)) view.value = next;
  };
  useLayoutEffect(look, [found.length]);
  useEffect(() => {
    const scroller = list.current?.closest(".library");
    const observer = new ResizeObserver(look);
    if (list.current) observer.observe(list.current);
    scroller?.addEventListener("scroll", look, { passive: true });
    return () => (observer.disconnect(), scroller?.removeEventListener("scroll", look));
  }, []);
  const { columns, rows, tall } = view.value;
  const all = Math.ceil(found.length / columns);
  const from = Math.min(view.value.from, Math.max(0, all - rows));
  const below = Math.max(0, all - from - rows);
  return html`<ul ref=${list} class="cards windowed" style=${{ paddingTop: `${from * tall}px`, paddingBottom: `${below * tall}px` }}>${found
    .slice(from * columns, (from + rows) * columns)
    .map((character) => html`<li key=${character.id}>${card(character)}</li>`)}</ul>`;
}
