// One field for two searches: text finds messages in all stories and branches, and a leading ">" finds commands.
import { Fragment, h, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { canRun, commandsOf, run } from "../actions/commands.ts";
import { errorText } from "../actions/error-text.ts";
import { search } from "../actions/page.ts";
import { openSearchHit } from "../actions/navigation.ts";
import { moment, t, optionalText } from "../lib/i18n.ts";
import { shortcutText } from "../lib/shortcuts.ts";
import { fits, otherNames } from "../lib/synonyms.ts";
import { cutAtMarks, withoutMarkup } from "../lib/text.ts";
import { openDialog } from "../model/page.ts";
import { peekNode, purgeCount } from "../model/session-store.ts";
import { ApiError } from "../net/api.ts";
import { tail } from "../tree/shown-branch.ts";
import { SearchFilters, requestFieldsOf, isNarrowing } from "./search-filters.tsx";
import { EmptyState, Modal, icon } from "./common.tsx";
import type { Command } from "../actions/commands.ts";
import type { ChatNode, Hit, Id, SearchAnswer, SearchNote, SearchQuery } from "../lib/wire.d.ts";
import type { SearchFilter } from "./search-filters.tsx";

type Answer =
  | { state: "idle" }
  | { state: "busy" }
  | { state: "failed"; error: ApiError; asked: string }
  | { state: "done"; hits: Hit[]; total: string; told: string[] };

const PAUSE = 160;

/**
 * Renders the search.
 * @param props `focused`: the message that had the focus when the search was opened
 */
export function Search({ text, focused }: { text: string; focused: Id | null }) {
  const at = useRef(peekNode(focused) ?? tail.peek()).current;
  const query = useSignal(text);
  const filter = useSignal<SearchFilter>({});
  const answer = useSignal<Answer>({ state: "idle" });
  const chosen = useSignal(0);
  const list = useRef<HTMLDivElement | null>(null);
  const wanted = query.value.trim();
  const listsCommands = useSignal(text.startsWith(">"));
  const forCommands = listsCommands.value;
  const purges = purgeCount.value;
  const seen = useRef(purges);
  // Runs before the next paint; otherwise an arrow key pressed right after a letter would be undone.
  useLayoutEffect(() => {
    chosen.value = 0;
    if ((!wanted && !isNarrowing(filter.value)) || forCommands) return void (answer.value = { state: "idle" });
    const abort = new AbortController();
    const timer = setTimeout(
      () =>
        void runSearch({ q: wanted, ...requestFieldsOf(filter.peek()) }, abort.signal).then(
          (next) => next && (answer.value = next),
        ),
      PAUSE,
    );
    // Earlier results stay until newer ones arrive, unless some of them may have been purged.
    answer.value = answer.peek().state === "done" && seen.current === purges ? answer.peek() : { state: "busy" };
    seen.current = purges;
    return () => (clearTimeout(timer), abort.abort());
  }, [wanted, forCommands, filter.value, purges]);
  const found = answer.value;
  const asked = forCommands ? wanted.replace(/^>/, "").trim() : "";
  const commands = forCommands ? commandsFor(asked, at) : [];
  const options = commands.length > 0 || (!forCommands && found.state === "done" && found.hits.length > 0);
  const type = (event: InputEvent) => {
    const { value } = event.target as HTMLInputElement;
    const isAsked = (words: string) => words.trimStart().startsWith(">");
    // Replacing the whole text still searches for a command; deleting the ">" does not.
    const isDeleted = isAsked(query.peek()) && !event.inputType?.startsWith("insert");
    listsCommands.value = isAsked(value) || (listsCommands.peek() && value !== "" && !isDeleted);
    query.value = value;
  };
  const keys = (event: KeyboardEvent) => {
    const all = [...(list.current?.querySelectorAll("[role=option]") ?? [])];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const next = chosen.peek() + (event.key === "ArrowDown" ? 1 : -1);
      chosen.value = Math.max(0, Math.min(all.length - 1, next));
      all[chosen.peek()]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      (all[chosen.peek()] as HTMLElement | undefined)?.click();
    }
  };
  return (
    <Modal title={t(forCommands ? "command.palette" : "command.search")} class="search">
      <search>
        <div class="search-field">
          {icon("search")}
          <input
            type="text"
            enterkeyhint="search"
            role="combobox"
            aria-expanded={options}
            aria-controls={options ? "hits" : undefined}
            aria-activedescendant={options ? `hit-${chosen.value}` : undefined}
            aria-label={t("command.search")}
            placeholder={t("search.placeholder")}
            autofocus
            value={query.value}
            onInput={type}
            onKeyDown={keys}
          />
        </div>
        {!forCommands && <SearchFilters filter={filter} />}
        <div class="hits" ref={list}>
          {forCommands ? (
            <Commands filter={asked} found={commands} chosen={chosen.value} node={at} />
          ) : (
            <Hits answer={answer.value} chosen={chosen.value} />
          )}
        </div>
      </search>
    </Modal>
  );
}

/**
 * Turns a query whose last word may be incomplete into a prefix search.
 * @returns "" for a single letter of an alphabet, null if the query ends otherwise
 */
function prefixQuery(q: string) {
  if (/^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]$/u.test(q)) return "";
  const isOpen = q.split('"').length % 2 === 0;
  return /(?:^|[\s"])(?!(?:AND|OR|NOT)$)\p{L}[\p{L}\p{N}]+$/u.test(q) ? `${q}${isOpen ? '"*' : "*"}` : null;
}

/**
 * Searches for the words as typed. If nothing matches, it searches for words that start with the last one.
 * @returns null if the search was aborted
 */
async function runSearch(wanted: SearchQuery, signal: AbortSignal): Promise<Answer | null> {
  try {
    const whole = await search(wanted, signal);
    const longer = whole.items.length === 0 ? prefixQuery(wanted.q) : null;
    // Nobody expects results for one letter, but one Chinese character is a word.
    if (longer === "") return { state: "idle" };
    const prefixed = longer ? await search({ ...wanted, q: longer }, signal) : null;
    const isBetter = prefixed !== null && prefixed.items.length > 0;
    const found = isBetter ? prefixed : whole;
    const n = found.total?.value ?? found.items.length;
    return {
      state: "done",
      hits: found.items,
      total: t("search.total", { n }),
      told: [...(isBetter ? [t("search.begun")] : []), ...noteSentences(found)],
    };
  } catch (error) {
    if (signal.aborted) return null;
    if (!(error instanceof ApiError)) throw error;
    return { state: "failed", error, asked: wanted.q };
  }
}

/** Describes the notes on an answer in sentences. */
function noteSentences({ rebuilding, notes = [] }: SearchAnswer): string[] {
  const noteText = ({ code, name }: SearchNote) => t(`search.note.${code}`, { name: name ?? "" });
  return [
    ...(typeof rebuilding === "number" ? [t("search.rebuilding", { n: rebuilding })] : []),
    ...notes.map(noteText),
  ];
}

/** Shows why a query is invalid, and where. */
function QueryFault({ error, asked }: { error: ApiError; asked: string }) {
  const { at, length, reason, what, known = [] } = error.details;
  const { text, hint } = errorText(error);
  const own = reason && optionalText(`search.bad.${reason}`, { what });
  // If the query has no search words, the place would be the whole text, which the field shows already.
  const hasPlace = typeof at === "number" && reason !== "empty";
  return (
    <EmptyState
      symbol="warning"
      title={own || text}
      hint={
        own
          ? [t("search.possible"), known.length > 0 && t("search.known", { names: known.join(", ") })]
              .filter(Boolean)
              .join(" ")
          : hint
      }
    >
      {hasPlace && (
        <p class="asked">
          {cutAtMarks(asked, [[at, at + Math.max(1, length)]]).map((part, j) =>
            part.marked ? <mark key={j}>{part.text}</mark> : part.text,
          )}
        </p>
      )}
    </EmptyState>
  );
}

function Hits({ answer, chosen }: { answer: Answer; chosen: number }) {
  if (answer.state === "idle") return <p class="aside">{t("search.help")}</p>;
  if (answer.state === "busy")
    return (
      <p class="aside" role="status">
        {t("loading")}
      </p>
    );
  if (answer.state === "failed") return <QueryFault error={answer.error} asked={answer.asked} />;
  if (answer.hits.length === 0)
    return <EmptyState symbol="search" title={t("search.none")} hint={answer.told.join(" ") || t("search.noneHint")} />;
  return (
    <>
      <p class="aside" role="status">
        {[answer.total, ...answer.told].join(" · ")}
      </p>
      <ul id="hits" role="listbox" aria-label={t("search.hits")}>
        {answer.hits.map((hit, i) => (
          <li
            key={hit.nodeId}
            id={`hit-${i}`}
            role="option"
            aria-selected={i === chosen}
            onClick={() => void openSearchHit(hit)}
          >
            <small>
              <b>{hit.sessionTitle}</b> ·{" "}
              {hit.role === "user" && (hit.name ?? "You") === "You" ? t("you") : (hit.name ?? hit.role)}
              {hit.timestamp && ` · ${moment(hit.timestamp)}`}
              {hit.stashed && (
                <>
                  {" "}
                  <span class="chip">
                    {icon("stash")}
                    {t("search.stashed")}
                  </span>
                </>
              )}
              {!hit.stashed && hit.onTrunk === false && (
                <>
                  {" "}
                  <span class="chip">
                    {icon("branch")}
                    {hit.branch ?? t("search.otherBranch")}
                  </span>
                </>
              )}
            </small>
            <span>
              {cutAtMarks(hit.snippet.text, hit.snippet.marks).map((part, j) =>
                part.marked ? <mark key={j}>{withoutMarkup(part.text)}</mark> : withoutMarkup(part.text),
              )}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Returns the commands that match the typed text, those that match by name first. */
function commandsFor(filter: string, node: ChatNode | null): Command[] {
  const page = commandsOf("page").filter(({ id }) => canRun(id));
  if (!filter) return page;
  // Commands for messages are only listed for a typed text, and apply to the message that had the focus.
  const all = [
    ...page,
    ...commandsOf("message").filter(({ id }) => canRun(id, node) && id !== "message.menu" && id !== "message.rate"),
  ];
  const named = all.filter(({ label }) => fits(t(label), filter));
  return [...named, ...all.filter((one) => !named.includes(one) && otherNames(one.id, filter).length > 0)];
}

interface CommandsProps {
  filter: string;
  found: Command[];
  chosen: number;
  node: ChatNode | null;
}

function Commands({ filter, found, chosen, node }: CommandsProps) {
  if (found.length === 0)
    return (
      <div role="status">
        <EmptyState symbol="search" title={t("search.none")} />
      </div>
    );
  const choose = ({ id, scope }: Command) => {
    openDialog(null);
    run(id, scope === "message" ? node : null);
  };
  // Returns the synonyms that match, if the name does not match itself.
  const other = ({ id, label }: Command) =>
    filter && !fits(t(label), filter) ? otherNames(id, filter).slice(0, 3).join(", ") : "";
  return (
    <>
      <ul id="hits" role="listbox" aria-label={t("command.palette")}>
        {found.map((one, i) => (
          <li
            key={one.id}
            id={`hit-${i}`}
            role="option"
            aria-selected={i === chosen}
            class="command"
            onClick={() => choose(one)}
          >
            {icon(one.icon)}
            <span>{t(one.label)}</span>
            {other(one) && <small>{other(one)}</small>}
            {one.keys?.[0] && <kbd>{shortcutText(one.keys[0])}</kbd>}
          </li>
        ))}
      </ul>
      {!filter && <MessageKeys />}
    </>
  );
}

/** Lists the keys for actions on the focused message. */
const MessageKeys = () => (
  <>
    <h3>{t("search.messageKeys")}</h3>
    <ul class="keys">
      {commandsOf("message")
        .filter(({ keys }) => keys?.length)
        .map(({ id, label, keys }) => (
          <li key={id}>
            <span>{t(label)}</span>
            <kbd>{shortcutText(keys?.[0] ?? "")}</kbd>
          </li>
        ))}
    </ul>
  </>
);
