// The stash beside the whole tree: a drawer from which fragments are dragged to the tree, and into which cards are
// dragged.
import { Fragment, h, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { run } from "../actions/commands.ts";
import { movedMessageId, startMovingFragment } from "../actions/move.ts";
import { moveCursor, startDraggingFragment } from "../actions/overview.ts";
import { restoreFragment, readArrangement } from "../actions/stash.ts";
import { excerpt } from "../lib/excerpt.ts";
import { isFocusLost } from "../lib/focus.ts";
import { ago, moment, t } from "../lib/i18n.ts";
import { plainText } from "../lib/text.ts";
import { fragments, moving } from "../model/arrangement.ts";
import { isOverStash } from "../model/overview.ts";
import { mayRearrange, openDialog } from "../model/page.ts";
import { previewOf } from "../tree/overview.ts";
import { EmptyState, Menu, LoadingRows, icon } from "./common.tsx";
import { Purge } from "./purge.tsx";
import { Contents, Rename, titleOf } from "./stash.tsx";
import { LONG_PRESS, MAX_CLICK_MOVE } from "./tree-pointers.ts";
import type { Key } from "../lib/i18n.ts";
import type { Fragment as StashFragment } from "../lib/wire.d.ts";
import type { DrawnTree } from "../tree/overview.ts";
import type { TreeCanvas } from "./tree-canvas.ts";

interface Around {
  tree: DrawnTree;
  canvas: () => TreeCanvas | null;
  focusTree: () => void;
}

const close = () => run("session.stash");

/**
 * Renders the drawer.
 * @param props `isCovered`: on a narrow screen another panel has its place; `takesKeys`: it was opened just now
 */
export function StashPanel({
  tree,
  canvas,
  focusTree,
  isCovered,
  takesKeys,
}: Around & { isCovered: boolean; takesKeys: boolean }) {
  const box = useRef<HTMLElement | null>(null);
  const list = fragments.value;
  useEffect(() => void readArrangement(), []);
  // A user who opened the drawer continues in it with the keyboard. When it is closed, the focus returns to the tree.
  useLayoutEffect(() => {
    if (takesKeys) box.current?.focus({ preventScroll: true });
    return () => void (box.current?.contains(document.activeElement) && focusTree());
  }, []);
  useEffect(() => {
    if (isFocusLost()) box.current?.focus({ preventScroll: true });
  }, [list]);
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.defaultPrevented || moving.peek() || document.querySelector(":popover-open"))
      return;
    event.preventDefault();
    close();
  };
  const takes = movedMessageId() !== null;
  const isOver = takes && isOverStash.value;
  return (
    <section
      ref={box}
      class={`tree-drawer ${isCovered ? "is-covered" : ""} ${takes ? "takes" : ""} ${isOver ? "is-over" : ""}`}
      tabindex={-1}
      data-takes="stash"
      aria-label={t("command.stash")}
      onKeyDown={keys}
    >
      <header>
        {icon("stash")}
        <h2>{t("command.stash")}</h2>
        {list && list.length > 0 && <span class="chip">{list.length}</span>}
        <button
          type="button"
          class="round"
          aria-label={t("tree.closeStash")}
          title={`${t("tree.closeStash")} (D)`}
          onClick={close}
        >
          {icon("close")}
        </button>
      </header>
      {takes && (
        <p class="takes-here">
          {icon("down")}
          <span>{t("tree.takesHere")}</span>
        </p>
      )}
      {list === null ? (
        <LoadingRows rows={3} />
      ) : list.length === 0 ? (
        <EmptyState symbol="stash" title={t("stash.empty")} hint={t("tree.stashHint")} />
      ) : (
        <ul>
          {list.map((fragment) => (
            <FragmentCard key={fragment.id} fragment={fragment} tree={tree} canvas={canvas} focusTree={focusTree} />
          ))}
        </ul>
      )}
    </section>
  );
}

type FragmentAction = "" | "read" | "rename" | "purge";

function FragmentCard({ fragment, tree, canvas, focusTree }: Around & { fragment: StashFragment }) {
  const doing = useSignal<FragmentAction>("");
  const name = titleOf(fragment);
  const turn = (to: FragmentAction) => (doing.value = doing.peek() === to ? "" : to);
  const button = (label: Key, symbol: string, act: () => unknown) => (
    <button type="button" onClick={act}>
      {icon(symbol)}
      <span>{t(label)}</span>
    </button>
  );
  const { piece } = moving.value ?? {};
  const isTaken = piece && "fragmentId" in piece && piece.fragmentId === fragment.id;
  return (
    <li class={`piece ${isTaken ? "is-taken" : ""}`}>
      <article aria-label={name}>
        <Handle fragment={fragment} name={name} canvas={canvas} />
        <Origin fragment={fragment} tree={tree} focusTree={focusTree} />
        <div class="actions">
          {mayRearrange.value && (
            <>
              {fragment.canReturn && button("tree.return", "undo", () => restoreFragment(fragment.id))}
              {button("tree.putBelow", "move", () => startMovingFragment(fragment.id, name, false))}
            </>
          )}
          <Menu label={t("tree.more", { name })} symbol="more" class="more">
            {button(doing.value === "read" ? "tree.close" : "stash.read", "eye", () => turn("read"))}
            {button("stash.rename", "edit", () => turn("rename"))}
            {mayRearrange.value &&
              button("stash.copyBelow", "copyTo", () => startMovingFragment(fragment.id, name, true))}
            {button("command.keepLore", "lore", () =>
              openDialog({ kind: "saveLoreEntry", passage: { fragmentId: fragment.id } }),
            )}
            {mayRearrange.value && (
              <>
                <hr />
                {button("command.purge", "shred", () => turn("purge"))}
              </>
            )}
          </Menu>
        </div>
        {doing.value === "read" && <Contents id={fragment.id} />}
        {doing.value === "rename" && <Rename fragment={fragment} done={() => (doing.value = "")} />}
        {doing.value === "purge" && <Purge piece={{ fragmentId: fragment.id }} keep={() => (doing.value = "")} />}
      </article>
    </li>
  );
}

/**
 * Shows a fragment's original place: the message that it followed, as a link. Otherwise it says why the fragment cannot
 * be restored.
 */
function Origin({
  fragment: { originId, canReturn },
  tree: { outline },
  focusTree,
}: Pick<Around, "tree" | "focusTree"> & { fragment: StashFragment }) {
  if (!canReturn)
    return (
      <p class="aside no-return">
        {icon("warning")}
        <span>{t(originId ? "stash.originOut" : "stash.originGone")}</span>
      </p>
    );
  const n = outline.at.get(originId ?? "");
  if (n === undefined) return null;
  const words = n === 0 ? t("tree.beginning") : excerpt(previewOf(outline, n), 40) || t("tree.wordless");
  return (
    <button type="button" class="origin" title={t("tree.showOrigin")} onClick={() => (moveCursor(n), focusTree())}>
      {icon("branch")}
      <span>{t("tree.origin", { text: words })}</span>
    </button>
  );
}

interface HandleProps {
  fragment: StashFragment;
  name: string;
  canvas: () => TreeCanvas | null;
}

/** Renders the handle by which a fragment is dragged: with a mouse at once, with a finger after a rest. */
function Handle({ fragment, name, canvas }: HandleProps) {
  const held = useRef(false);
  const press = (event: PointerEvent) =>
    mayRearrange.peek() && dragFragment(event, { fragment, name, canvas: canvas(), hold: (is) => (held.current = is) });
  // A finger that drags the fragment must not scroll the list as well.
  const stay = (event: TouchEvent) => held.current && event.cancelable && event.preventDefault();
  return (
    <div
      class={mayRearrange.value ? "piece-handle" : ""}
      onPointerDown={press}
      onTouchMove={stay}
      onContextMenu={(event: Event) => held.current && event.preventDefault()}
    >
      <h3>{name}</h3>
      <p class="aside">
        {fragment.name && fragment.firstLine && (
          <>
            <q>{excerpt(plainText(fragment.firstLine), 80)}</q> ·{" "}
          </>
        )}
        {t("stash.count", { n: fragment.count })} ·{" "}
        <time datetime={fragment.createdAt} title={moment(fragment.createdAt)}>
          {ago(fragment.createdAt, Date.now())}
        </time>
      </p>
    </div>
  );
}

/** Follows one press of a fragment, from the drawer over the tree. */
function dragFragment(
  event: PointerEvent,
  {
    fragment,
    name,
    canvas,
    hold,
  }: { fragment: StashFragment; name: string; canvas: TreeCanvas | null; hold: (is: boolean) => void },
) {
  const handle = event.currentTarget;
  if (event.button > 0 || !event.isPrimary || !canvas || !(handle instanceof HTMLElement)) return;
  const isMouse = event.pointerType === "mouse";
  const [x, y] = [event.clientX, event.clientY];
  const ends = new AbortController();
  let doing = "press" as "press" | "held" | "carry";
  const rest = () => {
    doing = "held";
    hold(true);
    handle.classList.add("is-held");
    navigator.vibrate?.(10);
  };
  const timer = isMouse ? 0 : window.setTimeout(rest, LONG_PRESS);
  const end = (isMeant: boolean) => {
    clearTimeout(timer);
    ends.abort();
    hold(false);
    handle.classList.remove("is-held");
    if (doing === "carry" && moving.peek()) canvas.hands.letGo(isMeant);
  };
  const move = (now: PointerEvent) => {
    if (doing !== "carry") {
      if (Math.hypot(now.clientX - x, now.clientY - y) < MAX_CLICK_MOVE[isMouse ? "mouse" : "touch"]) return;
      // A finger that did not rest scrolls the list.
      if ((doing === "press" && !isMouse) || !startDraggingFragment(fragment.id, name)) return end(false);
      doing = "carry";
      handle.setPointerCapture(now.pointerId);
    }
    // The move was cancelled, or dropped by a key.
    if (!moving.peek()) return end(false);
    canvas.hands.bring(canvas.at(now), name);
  };
  const { signal } = ends;
  handle.addEventListener("pointermove", move, { signal });
  handle.addEventListener("pointerup", () => end(true), { signal });
  handle.addEventListener("pointercancel", () => end(false), { signal });
}
