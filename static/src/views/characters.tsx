// The list of many characters, with search, tags and sort order. Only the visible rows are in the page. Loaded when
// there are many characters.
import { h, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { addEnglish, t } from "../lib/i18n.ts";
import { sortCharacters, filterCharacters, tagsOf } from "../lib/character-list.ts";
import words from "../lib/strings/en-character-list.ts";
import { sessions } from "../model/library.ts";
import {
  ORDERS,
  characterOrder,
  setCharacterOrder,
  changeCharacterFilter,
  characterFilter,
} from "../model/character-list.ts";
import { EmptyState, icon } from "./common.tsx";
import type { VNode } from "../../vendor/preact.js";
import type { Character } from "../lib/wire.d.ts";

addEnglish(words);

const MAX_TAGS = 14;

export function Characters({ all, card }: { all: Character[]; card: (character: Character) => VNode }) {
  const { words, tags, favourites } = characterFilter.value;
  const found = sortCharacters(filterCharacters(all, characterFilter.value), characterOrder.value, lastPlayed());
  const turn = (tag: string) =>
    changeCharacterFilter({ tags: tags.includes(tag) ? tags.filter((one) => one !== tag) : [...tags, tag] });
  const field = useRef<HTMLInputElement | null>(null);
  const clear = () => (changeCharacterFilter({ words: "", tags: [], favourites: false }), field.current?.focus());
  return (
    <div class="shelf">
      <div class="shelf-tools">
        <label class="shelf-search">
          {icon("search")}
          <span class="hidden">{t("shelf.search")}</span>
          <input
            ref={field}
            type="search"
            maxlength={200}
            placeholder={t("shelf.search")}
            value={words}
            onInput={(event: InputEvent) => changeCharacterFilter({ words: (event.target as HTMLInputElement).value })}
          />
        </label>
        <label>
          <span class="hidden">{t("shelf.order")}</span>
          <select
            value={characterOrder.value}
            onChange={(event: Event) =>
              setCharacterOrder(ORDERS.find((one) => one === (event.target as HTMLSelectElement).value) ?? "newest")
            }
          >
            {ORDERS.map((one) => (
              <option key={one} value={one}>
                {t(`shelf.by.${one}`)}
              </option>
            ))}
          </select>
        </label>
      </div>
      <div class="filters" role="group" aria-label={t("shelf.tags")}>
        {(favourites || all.some(({ isFavourite }) => isFavourite)) && (
          <button
            type="button"
            class={`chip ${favourites ? "on" : ""}`}
            aria-pressed={favourites}
            onClick={() => changeCharacterFilter({ favourites: !favourites })}
          >
            {icon("star")}
            {t("shelf.favourites")}
          </button>
        )}
        {tagsOf(all, tags, MAX_TAGS).map((tag) => (
          <button
            key={tag}
            type="button"
            class={`chip ${tags.includes(tag) ? "on" : ""}`}
            aria-pressed={tags.includes(tag)}
            onClick={() => turn(tag)}
          >
            {tag}
          </button>
        ))}
      </div>
      <p class="aside" role="status">
        {t("shelf.count", { n: found.length })}
      </p>
      {found.length === 0 ? (
        <EmptyState symbol="search" title={t("shelf.none")} hint={t("shelf.noneHint")}>
          <button type="button" onClick={clear}>
            {t("shelf.clear")}
          </button>
        </EmptyState>
      ) : (
        <Window found={found} card={card} />
      )}
    </div>
  );
}

/** Returns when each character was last played. Only the listed sessions count, which are the newest. */
const lastPlayed = (): Map<string, string> =>
  new Map(
    sessions.value
      .toReversed()
      .flatMap(({ characterIds, updatedAt }) => characterIds.map((id) => [id, updatedAt] as [string, string])),
  );

/** Number of extra rows above and below the visible ones. */
const SPARE = 2;

/** The visible rows, with padding in place of the others. */
function Window({ found, card }: { found: Character[]; card: (character: Character) => VNode }) {
  const list = useRef<HTMLUListElement | null>(null);
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
    if (Object.entries(next).some(([name, value]) => view.peek()[name as keyof typeof next] !== value))
      view.value = next;
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
  return (
    <ul
      ref={list}
      class="cards windowed"
      style={{ paddingTop: `${from * tall}px`, paddingBottom: `${below * tall}px` }}
    >
      {found.slice(from * columns, (from + rows) * columns).map((character) => (
        <li key={character.id}>{card(character)}</li>
      ))}
    </ul>
  );
}
