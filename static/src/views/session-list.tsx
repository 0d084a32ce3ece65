// Tools of the list of stories: search, order, tags, folders, and changes of the selected stories. Loaded after the list.
import { Fragment, h, useEffect, useRef } from "../../vendor/preact.js";
import {
  changeSessions,
  filterSessions,
  openFolder,
  readSessionGroups,
  sortSessions,
  toggleSelected,
} from "../actions/session-list.ts";
import { addEnglish, t } from "../lib/i18n.ts";
import storyTexts from "../lib/strings/en-story.ts";
import words from "../lib/strings/en-session-list.ts";
import { characterById, sessionReads, sessions } from "../model/library.ts";
import { openDialog } from "../model/page.ts";
import {
  SESSION_ORDERS,
  TOOLS_FROM,
  folders,
  isFiltered,
  openFolders,
  selectSessions,
  selectedSessions,
  sessionFilter,
  sessionOrder,
  tags,
} from "../model/session-list.ts";
import { EmptyState, icon } from "./common.tsx";
import type { ComponentType } from "../../vendor/preact.js";
import type { Session } from "../lib/wire.d.ts";

addEnglish(words);
addEnglish(storyTexts);

/** Maximum number of tags that are shown; chosen ones always are. */
const MAX_TAGS = 20;

export function SessionListTools() {
  const reads = sessionReads.value;
  useEffect(() => void readSessionGroups(), [reads]);
  const filter = sessionFilter.value;
  const field = useRef<HTMLInputElement | null>(null);
  if (!isFiltered(filter) && sessions.value.length < TOOLS_FROM) return <Fragment />;
  const clear = () => (filterSessions(null), field.current?.focus());
  const character = filter.characterId === null ? null : characterById(filter.characterId);
  return (
    <div class="shelf stories-tools">
      <div class="shelf-tools">
        <label class="shelf-search">
          {icon("search")}
          <span class="hidden">{t("stories.search")}</span>
          <input
            ref={field}
            type="search"
            maxlength={200}
            placeholder={t("stories.search")}
            value={filter.words}
            onInput={(event: InputEvent) => filterSessions({ words: (event.target as HTMLInputElement).value })}
          />
        </label>
        <label>
          <span class="hidden">{t("stories.order")}</span>
          <select
            value={sessionOrder.value}
            onChange={(event: Event) =>
              sortSessions(SESSION_ORDERS.find((one) => one === (event.target as HTMLSelectElement).value) ?? "updated")
            }
          >
            {SESSION_ORDERS.map((one) => (
              <option key={one} value={one}>
                {t(`stories.by.${one}`)}
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          aria-pressed={selectedSessions.value !== null}
          onClick={() => selectSessions(selectedSessions.peek() ? null : [])}
        >
          {icon("check")}
          <span>{t("stories.select")}</span>
        </button>
      </div>
      {(filter.characterId !== null || tags.value.length > 0 || filter.tags.length > 0) && (
        <div class="filters" role="group" aria-label={t("stories.tags")}>
          {filter.characterId !== null && (
            <button type="button" class="chip on" aria-pressed onClick={() => filterSessions({ characterId: null })}>
              {icon("chat")}
              {character ? t("stories.chatsOf", { name: character.name }) : t("stories.chatsOfThis")}
            </button>
          )}
          <Tags />
        </div>
      )}
      {selectedSessions.value && <Selection />}
      {isFiltered(filter) && sessions.value.length === 0 && (
        <EmptyState symbol="search" title={t("stories.noMatch")} hint={t("stories.noneHint")}>
          <button type="button" onClick={clear}>
            {t("stories.clear")}
          </button>
        </EmptyState>
      )}
    </div>
  );
}

function Tags() {
  const chosen = sessionFilter.value.tags;
  const often = tags.value.toSorted((a, b) => b.count - a.count).map(({ name }) => name);
  const shown = [...chosen, ...often.filter((tag) => !chosen.includes(tag))].slice(
    0,
    Math.max(MAX_TAGS, chosen.length),
  );
  const turn = (tag: string) =>
    filterSessions({ tags: chosen.includes(tag) ? chosen.filter((one) => one !== tag) : [...chosen, tag] });
  return (
    <>
      {shown.map((tag) => (
        <button
          key={tag}
          type="button"
          class={`chip ${chosen.includes(tag) ? "on" : ""}`}
          aria-pressed={chosen.includes(tag)}
          onClick={() => turn(tag)}
        >
          {icon("tag")}
          {tag}
        </button>
      ))}
    </>
  );
}

/** The number of selected stories, and what can be done with them. */
function Selection() {
  const ids = [...(selectedSessions.value ?? [])];
  const none = ids.length === 0;
  return (
    <div class="stories-selection" role="group" aria-label={t("stories.selected", { n: ids.length })}>
      <span role="status">{t("stories.selected", { n: ids.length })}</span>
      <button type="button" onClick={() => selectSessions(sessions.peek().map(({ id }) => id))}>
        {t("stories.selectAll")}
      </button>
      <button type="button" disabled={none} onClick={() => openDialog({ kind: "arrangeSessions", ids })}>
        {icon("folder")}
        <span>{t("stories.arrange")}</span>
      </button>
      <button type="button" disabled={none} onClick={() => changeSessions(ids, [{ action: "pin" }])}>
        {icon("pin")}
        <span>{t("stories.pin")}</span>
      </button>
      <button type="button" disabled={none} onClick={() => changeSessions(ids, [{ action: "unpin" }])}>
        <span>{t("stories.unpin")}</span>
      </button>
      <button type="button" disabled={none} onClick={() => changeSessions(ids, [{ action: "delete" }])}>
        {icon("trash")}
        <span>{t("command.delete")}</span>
      </button>
    </div>
  );
}

export const SessionCheckBox = ({ session }: { session: Session }) => (
  <label class="story-check">
    <input
      type="checkbox"
      checked={selectedSessions.value?.has(session.id) ?? false}
      onChange={() => toggleSelected(session.id)}
    />
    <span class="hidden">{t("stories.selectOne", { name: session.title })}</span>
  </label>
);

/** The folders, which open and close. An open one has all its stories. */
export function SessionFolders({ rows: Rows }: { rows: ComponentType<{ list: Session[] }> }) {
  const counts = new Map(folders.value.map(({ name, count }) => [name, count]));
  const loaded = new Set(sessions.value.flatMap(({ folder }) => folder ?? []));
  const names = [...counts.keys(), ...[...loaded].filter((name) => !counts.has(name))];
  return (
    <>
      {names.map((name) => {
        const list = sessions.value.filter(({ folder }) => folder === name);
        return (
          <details
            key={name}
            class="story-folder"
            open={openFolders.value.has(name)}
            onToggle={(event: Event) => void openFolder(name, (event.target as HTMLDetailsElement).open)}
          >
            <summary>
              {icon("folder")}
              <span>{name}</span> <small>{counts.get(name) ?? list.length}</small>
            </summary>
            {openFolders.value.has(name) && list.length > 0 && <Rows list={list} />}
          </details>
        );
      })}
    </>
  );
}
