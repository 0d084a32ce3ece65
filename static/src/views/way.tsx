// The turns that lead to where one stands, as a row above the story. What is drawn is what can be seen, however long it
// is.
import { h, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { loadOlder } from "../actions/follow.ts";
import { goToTurn } from "../actions/way.ts";
import { excerpt } from "../lib/excerpt.ts";
import { isFocusLost } from "../lib/focus.ts";
import { t } from "../lib/i18n.ts";
import { quoted } from "../lib/tags.ts";
import { plain } from "../lib/text.ts";
import { age } from "../model/deltas.ts";
import { loadingOlder, nodeOf, older, peek, peekNode } from "../model/story.ts";
import { shown } from "../tree/line.ts";
import { leads, turns, turnsOf } from "../tree/turns.ts";
import type { Id } from "../lib/wire.d.ts";
import type { Turn } from "../tree/turns.ts";

/** Pixels from one chip to the next. */
const STRIDE = 148;
/** So many are in the page; wider is no screen. */
const MOST = 30;
const SPARE = 4;

export function Way() {
  const all = turns.value;
  const ahead = useAhead();
  return leads(ahead.length) ? <Row all={[...all, ...ahead]} here={all.length - 1} /> : null;
}

/** The turns that one has gone back from: they lie ahead as long as the line can still go on to them. */
function useAhead(): Turn[] {
  const way = useRef({ ids: [] as Id[], age: 0 }).current;
  const ids = shown.value;
  const last = nodeOf(ids.at(-1) ?? null);
  const at = way.age === age.value && peek.value === null && last ? way.ids.indexOf(last.id) : -1;
  const rest = at < 0 ? [] : way.ids.slice(at + 1);
  if (
    rest.length > 0 &&
    last?.childrenIds?.includes(rest[0] ?? "") &&
    rest.every((id) => peekNode(id)?.status === "complete")
  )
    return turnsOf(rest);
  Object.assign(way, { ids, age: age.value });
  return [];
}

function Row({ all, here }: { all: Turn[]; here: number }) {
  const box = useRef<HTMLDivElement | null>(null);
  const first = useSignal(0);
  /** The turn whose chip the keyboard is at, if it is at one: its place changes when earlier ones come. */
  const held = useSignal<Id | null>(null);
  const heldAt = held.value === null ? -1 : all.findIndex((turn) => turn.first === held.value);
  const at = heldAt < 0 ? here : heldAt;
  /** Where the line began, and how many turns it had, when somebody asked for earlier ones. */
  const asked = useRef<{ from: Id | null; count: number } | null>(null);
  const look = () =>
    void (box.current && (first.value = Math.max(0, Math.floor(box.current.scrollLeft / STRIDE) - SPARE)));
  useLayoutEffect(() => {
    const row = box.current;
    if (!row) return;
    const came = asked.current && asked.current.from !== older.value ? all.length - asked.current.count : 0;
    if (came > 0) {
      asked.current = null;
      // The button is gone when there are no earlier ones, and the keyboard with it.
      if (isFocusLost()) held.value = all[came]?.first ?? null;
    }
    // Who asked for earlier turns sees those that came, up to the one that was the first; anybody else sees where he
    // stands.
    const settle = () => {
      row.scrollLeft = came > 0 ? (came + 1) * STRIDE - row.clientWidth : at * STRIDE - (row.clientWidth - STRIDE) / 2;
      look();
    };
    settle();
    let { clientWidth } = row;
    const sizes = new ResizeObserver(() => {
      if (row.clientWidth !== clientWidth) settle();
      ({ clientWidth } = row);
    });
    sizes.observe(row);
    return () => sizes.disconnect();
  }, [at, all.length]);
  useLayoutEffect(() => {
    if (held.value !== null)
      (box.current?.querySelector("[tabindex='0']") as HTMLElement | null)?.focus({ preventScroll: true });
  }, [held.value, first.value]);
  // Of what is drawn one can always be reached by keys, also where somebody has scrolled away from where he stands.
  const reached = Math.min(Math.max(at, first.value), first.value + MOST - 1);
  const walk = (event: KeyboardEvent) => {
    const to = { ArrowLeft: reached - 1, ArrowRight: reached + 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    held.value = all[Math.max(0, Math.min(to, all.length - 1))]?.first ?? null;
  };
  // A chip that goes out of sight is no longer there, and leaves the keyboard to the next one.
  const leave = ({ relatedTarget }: FocusEvent) =>
    void (relatedTarget instanceof Element && !box.current?.contains(relatedTarget) && (held.value = null));
  // Where the line begins further up, nobody has counted what is there.
  const isWhole = older.value === null;
  const earlier = () => {
    asked.current = { from: older.value, count: all.length };
    void loadOlder(500);
  };
  return (
    <nav class="way" aria-label={t("way.label")}>
      {!isWhole && (
        <button type="button" class="chip" aria-disabled={loadingOlder.value} onClick={earlier}>
          {t("way.older")}
        </button>
      )}
      <div ref={box} onScroll={look} onKeyDown={walk} onFocusOut={leave}>
        <ol style={{ width: `${all.length * STRIDE}px` }}>
          {all.slice(first.value, first.value + MOST).map((turn, i) => (
            <Chip key={turn.first} turn={turn} i={first.value + i} here={here} isAt={first.value + i === reached} />
          ))}
        </ol>
      </div>
    </nav>
  );
}

/**
 * Numbered as lists and the tree number turns: a reply that stands alone here, as what is there before anybody has
 * said anything, is none.
 */
function Chip({ turn, i, here, isAt }: { turn: Turn; i: number; here: number; isAt: boolean }) {
  const node = nodeOf(turn.first);
  const words = node
    ? excerpt(node.role === "user" ? plain(node.content) : quoted(node.display ?? node.content), 60)
    : "";
  const turnOf = node?.turn ?? 0;
  const number = node?.role === "assistant" && words ? 0 : turnOf;
  const name = number > 0 || !words ? t("way.turn", { i: turnOf, words }) : words;
  const look = i === here ? "on" : i > here ? "without" : "";
  // The words are drawn and are no text: who searches the page finds the message, and it is not read out twice.
  return (
    <li style={{ left: `${i * STRIDE}px` }}>
      <button
        type="button"
        class={`chip ${look}`}
        tabindex={isAt ? 0 : -1}
        aria-current={i === here ? "step" : undefined}
        aria-label={i > here ? `${name} (${t("way.ahead")})` : name}
        title={name}
        onClick={() => void goToTurn(turn, i > here)}
      >
        {number > 0 && <b>{number}</b>}
        <span data-words={words} />
      </button>
    </li>
  );
}
