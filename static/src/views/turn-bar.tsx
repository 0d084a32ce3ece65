// The turns that lead to the current message, as a row above the story. Only the visible ones are rendered, however
// many there are.
import { h, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { loadOlder } from "../actions/session-sync.ts";
import { goToTurn } from "../actions/turn-bar.ts";
import { excerpt } from "../lib/excerpt.ts";
import { isFocusLost } from "../lib/focus.ts";
import { t } from "../lib/i18n.ts";
import { quoteText } from "../lib/hidden-tags.ts";
import { plainText } from "../lib/text.ts";
import { deltasVersion } from "../model/deltas.ts";
import { loadingOlder, nodeOf, olderCursor, viewedLeaf, peekNode } from "../model/session-store.ts";
import { shownIds } from "../tree/shown-branch.ts";
import { hasTurnBar, turns, turnsOf } from "../tree/turns.ts";
import type { Id } from "../lib/wire.d.ts";
import type { Turn } from "../tree/turns.ts";

/** Distance from one chip to the next in pixels. */
const CHIP_WIDTH = 148;
/** Maximum number of rendered chips; no screen is wider. */
const MAX = 30;
const EXTRA_CHIPS = 4;

export function TurnBar() {
  const all = turns.value;
  const ahead = useTurnsAhead();
  return hasTurnBar(ahead.length) ? <Row all={[...all, ...ahead]} here={all.length - 1} /> : null;
}

/**
 * Returns the turns from which the user went back. They stay ahead as long as the branch can still continue to them.
 */
function useTurnsAhead(): Turn[] {
  const way = useRef({ ids: [] as Id[], age: 0 }).current;
  const ids = shownIds.value;
  const last = nodeOf(ids.at(-1) ?? null);
  const at = way.age === deltasVersion.value && viewedLeaf.value === null && last ? way.ids.indexOf(last.id) : -1;
  const rest = at < 0 ? [] : way.ids.slice(at + 1);
  if (
    rest.length > 0 &&
    last?.childrenIds?.includes(rest[0] ?? "") &&
    rest.every((id) => peekNode(id)?.status === "complete")
  )
    return turnsOf(rest);
  Object.assign(way, { ids, age: deltasVersion.value });
  return [];
}

function Row({ all, here }: { all: Turn[]; here: number }) {
  const box = useRef<HTMLDivElement | null>(null);
  const first = useSignal(0);
  /** The turn whose chip has the focus, if any. An index would change when earlier turns are loaded. */
  const held = useSignal<Id | null>(null);
  const heldAt = held.value === null ? -1 : all.findIndex((turn) => turn.first === held.value);
  const at = heldAt < 0 ? here : heldAt;
  /** The start of the row and its number of turns when the user asked for earlier ones. */
  const asked = useRef<{ from: Id | null; count: number } | null>(null);
  const look = () =>
    void (box.current && (first.value = Math.max(0, Math.floor(box.current.scrollLeft / CHIP_WIDTH) - EXTRA_CHIPS)));
  useLayoutEffect(() => {
    const row = box.current;
    if (!row) return;
    const added = asked.current && asked.current.from !== olderCursor.value ? all.length - asked.current.count : 0;
    if (added > 0) {
      asked.current = null;
      // If no earlier turns are left, the button disappears together with the focus.
      if (isFocusLost()) held.value = all[added]?.first ?? null;
    }
    // A user who asked for earlier turns sees the new ones, up to the former first. Otherwise the current turn is
    // shown.
    const settle = () => {
      row.scrollLeft =
        added > 0 ? (added + 1) * CHIP_WIDTH - row.clientWidth : at * CHIP_WIDTH - (row.clientWidth - CHIP_WIDTH) / 2;
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
  // One of the rendered chips can always be reached with the keyboard, even if the user scrolled away from the current
  // turn.
  const reached = Math.min(Math.max(at, first.value), first.value + MAX - 1);
  const walk = (event: KeyboardEvent) => {
    const to = { ArrowLeft: reached - 1, ArrowRight: reached + 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    held.value = all[Math.max(0, Math.min(to, all.length - 1))]?.first ?? null;
  };
  // A chip that is scrolled out of sight is removed, and the focus goes to the next one.
  const leave = ({ relatedTarget }: FocusEvent) =>
    void (relatedTarget instanceof Element && !box.current?.contains(relatedTarget) && (held.value = null));
  // If the row starts further down, the turns above are not counted.
  const isWhole = olderCursor.value === null;
  const earlier = () => {
    asked.current = { from: olderCursor.value, count: all.length };
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
        <ol style={{ width: `${all.length * CHIP_WIDTH}px` }}>
          {all.slice(first.value, first.value + MAX).map((turn, i) => (
            <Chip key={turn.first} turn={turn} i={first.value + i} here={here} isAt={first.value + i === reached} />
          ))}
        </ol>
      </div>
    </nav>
  );
}

/**
 * Renders a turn, with the number that lists and the tree show. A reply without a user message, like a greeting, is not
 * a turn.
 */
function Chip({ turn, i, here, isAt }: { turn: Turn; i: number; here: number; isAt: boolean }) {
  const node = nodeOf(turn.first);
  const words = node
    ? excerpt(node.role === "user" ? plainText(node.content) : quoteText(node.display ?? node.content), 60)
    : "";
  const turnOf = node?.turn ?? 0;
  const number = node?.role === "assistant" && words ? 0 : turnOf;
  const name = number > 0 || !words ? t("way.turn", { i: turnOf, words }) : words;
  const look = i === here ? "on" : i > here ? "without" : "";
  // The words are drawn by CSS and are not text. A search in the page then finds the message, and screen readers do not
  // read it twice.
  return (
    <li style={{ left: `${i * CHIP_WIDTH}px` }}>
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
