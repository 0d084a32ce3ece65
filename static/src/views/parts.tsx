// Small pieces that every view uses: icons, buttons of commands, avatars, menus, dialogs.
import { Fragment, h, signal, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { canRun, command, isWaiting, run } from "../actions/commands.ts";
import { focusMessage, isFocusLost, keeperOf, messageOf } from "../lib/focus.ts";
import { t } from "../lib/i18n.ts";
import { spelled } from "../lib/keys.ts";
import { notFetched } from "../lib/modules.ts";
import { initial, sentence } from "../lib/text.ts";
import { told } from "../lib/told.ts";
import { dialog, dismiss, notices, openDialog } from "../model/page.ts";
import { focusField } from "../model/story.ts";
import type { ComponentChildren, ComponentType, VNode } from "../../vendor/preact.js";
import type { ChatNode, Problem } from "../lib/wire.d.ts";
import type { Notice } from "../model/page.ts";

const SPRITE = new URL("../../icons.svg", import.meta.url).pathname;

/** @param props a symbol of icons.svg */
export function Icon({ name }: { name: string }) {
  return (
    <svg class="icon" aria-hidden="true">
      <use href={`${SPRITE}#${name}`} />
    </svg>
  );
}

export const icon = (name: string) => <Icon name={name} />;

interface CommandButtonProps {
  id: string;
  node?: ChatNode | null;
  wide?: boolean;
  class?: string;
}

/** The button of a command. Shows its icon, its label too when `wide`; hidden while the command cannot run. */
export function CommandButton({ id, node = null, wide = false, class: look = "" }: CommandButtonProps) {
  const isOff = !canRun(id, node);
  if (isOff && !isWaiting(id, node)) return null;
  const { label, icon: symbol, keys } = command(id);
  const name = t(label);
  const title = keys?.[0] ? `${name} (${spelled(keys[0])})` : name;
  return (
    <button
      type="button"
      class={`${wide ? "" : "round"} ${look}`}
      title={title}
      aria-label={wide ? undefined : name}
      data-command={id}
      aria-disabled={isOff ? "true" : undefined}
      onClick={() => run(id, node)}
    >
      {icon(symbol)}
      {wide && <span>{name}</span>}
    </button>
  );
}

interface AvatarProps {
  name: string | null | undefined;
  src?: string | null | undefined;
  symbol?: string;
}

/** A picture of our own origin, a symbol, or the first letter. */
export function Avatar({ name, src = null, symbol = "" }: AvatarProps) {
  const own = src?.startsWith("/") && !src.startsWith("//");
  return (
    <span class="avatar" aria-hidden="true">
      {symbol ? (
        icon(symbol)
      ) : own ? (
        <img src={smallOf(src ?? "")} alt="" width="96" height="96" loading="lazy" decoding="async" />
      ) : (
        initial(name)
      )}
    </span>
  );
}

/** A list needs no whole pictures: of hundreds each takes two kilobytes. */
const smallOf = (src: string) => (src.includes("/avatar?v=") ? `${src}&size=96` : src);

let menus = 0;

interface MenuProps {
  label: string;
  symbol?: string;
  class?: string;
  children?: ComponentChildren;
}

/** A button that opens a small menu; what is in it is drawn while it is open. */
export function Menu({ label, symbol = "menu", class: look = "", children }: MenuProps) {
  const id = useRef(`menu-${++menus}`).current;
  const ref = useRef<HTMLDivElement | null>(null);
  const open = useSignal(false);
  const isOpen = open.value;
  useLayoutEffect(() => {
    const menu = ref.current;
    if (!isOpen || !menu) return undefined;
    const put = () => putBeside(menu, (menu.previousElementSibling as HTMLElement).getBoundingClientRect());
    const enter = () => menu.querySelector("button")?.focus();
    put();
    enter();
    // A phone that is turned, a window made narrow; and what is in it may come a moment later.
    let isEmpty = menu.querySelector("button") === null;
    const grown = new ResizeObserver(() => {
      put();
      if (isEmpty) enter();
      isEmpty = menu.querySelector("button") === null;
    });
    grown.observe(menu);
    addEventListener("resize", put);
    return () => {
      grown.disconnect();
      removeEventListener("resize", put);
    };
  }, [isOpen]);
  // What is in it comes before it is seen and goes after it has given the focus back.
  const turn = (event: Pick<ToggleEvent, "type" | "newState">) => {
    if ((event.type === "beforetoggle") === (event.newState === "open")) open.value = event.newState === "open";
    if (!open.peek() && isFocusLost()) focusMessage(messageOf(ref.current));
  };
  const close = () => ref.current?.hidePopover();
  // By hand, so that it is filled and in its place before it is first seen; the attribute says whose menu it is.
  const show = (event: Event) => {
    event.preventDefault();
    ref.current?.togglePopover();
  };
  return (
    <>
      <button type="button" class={`round ${look}`} aria-label={label} title={label} popovertarget={id} onClick={show}>
        {icon(symbol)}
      </button>
      <div
        id={id}
        ref={ref}
        class="menu"
        popover="auto"
        onBeforeToggle={turn}
        onToggle={turn}
        onClick={close}
        onKeyDown={walkMenu}
      >
        {isOpen && children}
      </div>
    </>
  );
}

const GAP = 4;
const EDGE = 8;

/** Below what opened it, or above where there is no room; never over an edge of the window. */
function putBeside(menu: HTMLElement, opener: DOMRect) {
  const { offsetHeight: tall, offsetWidth: wide, style } = menu;
  const fits = opener.bottom + GAP + tall <= innerHeight - EDGE;
  const top = fits ? opener.bottom + GAP : Math.max(EDGE, opener.top - GAP - tall);
  style.top = `${Math.min(top, Math.max(EDGE, innerHeight - tall - EDGE))}px`;
  style.left = `${Math.max(EDGE, Math.min(opener.left, innerWidth - wide - EDGE))}px`;
}

function walkMenu(event: KeyboardEvent) {
  const all = [...(event.currentTarget as HTMLElement).querySelectorAll("button")];
  const at = all.indexOf(document.activeElement as HTMLButtonElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  all.at(to % all.length)?.focus();
}

/** The question before what was typed is lost. */
const Sure = later(() => import("./sure.tsx").then((module) => module.Sure), 0);

/** Whether something was typed in a field. */
export const isBegun = (box: Element | null) =>
  [
    ...((box?.querySelectorAll("input:not([type=checkbox], [type=radio]), textarea") ??
      []) as NodeListOf<HTMLInputElement>),
  ].some((field) => field.value !== field.defaultValue);

interface ModalProps {
  title: string;
  class?: string;
  keeps?: boolean;
  children?: ComponentChildren;
}

/**
 * A modal dialog; Escape, the cross and a click beside it close it. `keeps`: what was typed is not lost by that
 * without a question.
 */
export function Modal({ title, class: look = "", keeps = false, children }: ModalProps) {
  const ref = useRef<HTMLDialogElement | null>(null);
  // The browser tells of a closing later: another dialog may be open by then.
  const mine = useRef(dialog.peek()).current;
  const close = () => dialog.peek() === mine && openDialog(null);
  // Before it is painted: a key pressed in between would still go to the page.
  useLayoutEffect(() => {
    const box = ref.current;
    const from = keeperOf(document.activeElement);
    box?.showModal();
    return () => {
      box?.close();
      // The browser gives the focus back to what had it only when it closes the dialog itself.
      if (!(from instanceof HTMLElement) || !(isFocusLost() || box?.contains(document.activeElement))) return;
      from.focus({ preventScroll: true });
      // The tools of a message hide without the focus, and what is hidden cannot take it.
      if (isFocusLost()) focusMessage(messageOf(from));
    };
  }, []);
  /** Where the keyboard was when it was asked. */
  const asking = useSignal<Element | null>(null);
  const stay = () => {
    const from = asking.peek();
    asking.value = null;
    if (from instanceof HTMLElement) from.focus();
  };
  const leave = () =>
    asking.peek() ? stay() : keeps && isBegun(ref.current) ? (asking.value = document.activeElement) : close();
  const beside = (event: MouseEvent) => event.target === ref.current && leave();
  const keys = (event: KeyboardEvent) => {
    if (!keeps || event.key !== "Escape") return;
    event.preventDefault();
    leave();
  };
  return (
    <dialog ref={ref} class={look} aria-label={title} onClose={close} onMouseDown={beside} onKeyDown={keys}>
      <div class="sheet">
        <header role="none">
          <h2>{title}</h2>
          <button type="button" class="round" aria-label={t("close")} onClick={leave}>
            {icon("close")}
          </button>
        </header>
        {asking.value && (
          <Sure text={t("typed.text")} yes={t("typed.drop")} no={t("typed.keep")} act={close} keep={stay} />
        )}
        {children}
      </div>
      <Notices inDialog />
    </dialog>
  );
}

// What the page has to say

/**
 * Errors stand in a row of their own, above the page or below what scrolls of the dialog they are about, where they
 * cover nothing and are in sight. What only passes stands over the header.
 */
export function Notices({ inDialog }: { inDialog: boolean }) {
  const said = (tone: Notice["tone"]) =>
    notices.value.filter((notice) => notice.tone === tone && notice.inDialog === inDialog);
  const box = (notice: Notice) => <NoticeBox key={notice.id} notice={notice} />;
  return (
    <div class="said" role="log" aria-label={t("notices")}>
      <div class="notices">{said("error").map(box)}</div>
      <div class="notices passing">{said("quiet").map(box)}</div>
    </div>
  );
}

/** So long a notice stays, in milliseconds; longer while it is looked at. */
const STAYS = { quiet: 7_000, error: 20_000 };

function NoticeBox({ notice: { id, tone, stays, text, hint, act, go } }: { notice: Notice }) {
  const ref = useRef<HTMLDivElement | null>(null);
  useEffect(() => {
    const isRead = () => document.hidden || ref.current?.matches(":hover, :focus-within");
    const timer = setInterval(() => isRead() || dismiss(id), STAYS[stays ? "error" : tone] * (act || go ? 2 : 1));
    return () => clearInterval(timer);
  }, []);
  const close = () => {
    dismiss(id);
    focusField();
  };
  return (
    <div ref={ref} class={`notice ${tone}`} role={tone === "error" ? "alert" : "status"}>
      {tone === "error" && icon("warning")}
      <div>
        <p>{text}</p>
        {hint && <p class="hint">{hint}</p>}
      </div>
      {go && (
        <button type="button" onClick={() => (dismiss(id), go())}>
          {t("branches.go")}
        </button>
      )}
      {act && (
        <button type="button" onClick={() => (act.run(), close())}>
          {t(act.label)}
        </button>
      )}
      <button type="button" class="round" aria-label={t("close")} title={`${t("close")} (Esc)`} onClick={close}>
        {icon("close")}
      </button>
    </div>
  );
}

/** One thing that a rule did not do, in the reader's words where the page has some. */
export const ProblemLine = ({ problem }: { problem: Problem }) => (
  <p class="aside problem-line">
    {problem.plugin && (
      <>
        <b>{problem.plugin}</b>{" "}
      </>
    )}
    {sentence(told(problem))}
  </p>
);

interface BlankProps {
  symbol: string;
  title: string;
  hint?: string;
  whole?: boolean;
  children?: ComponentChildren;
}

/** The designed answer to nothing-there, waiting and failing. `whole`: there is nothing else on the page. */
export function Blank({ symbol, title, hint = "", whole = false, children = null }: BlankProps) {
  return (
    <div class="blank">
      {icon(symbol)}
      {whole ? <h1 class="blank-title">{title}</h1> : <p class="blank-title">{title}</p>}
      {hint && <p>{hint}</p>}
      {children}
    </div>
  );
}

export function Waiting({ rows }: { rows: number }) {
  return (
    <div class="waiting" role="status">
      <span class="hidden">{t("loading")}</span>
      {Array.from({ length: rows }, (_, i) => (
        <span key={i} />
      ))}
    </div>
  );
}

/**
 * A view that is loaded when it is first shown, so that it weighs nothing before.
 * @param until rows of the placeholder, or what is there in its place
 * @returns `bring`: loads it before that, so that it is there at once
 */
export function later<P extends object>(
  load: () => Promise<ComponentType<P>>,
  until: number | (() => VNode | null) = 4,
): ((props: P) => VNode | null) & { bring: () => Promise<unknown> } {
  const view = signal<ComponentType<P> | null>(null);
  let coming: Promise<unknown> | null = null;
  // A view that could not be loaded is loaded again when it is shown the next time.
  const again = (error: unknown) => {
    coming = null;
    return notFetched(error);
  };
  const bring = () => (coming ??= load().then((loaded) => (view.value = loaded), again));
  const Later = (props: P) => {
    if (view.value) return h(view.value, props) as VNode;
    void bring();
    if (typeof until === "function") return until();
    return until > 0 ? <Waiting rows={until} /> : <span hidden />;
  };
  return Object.assign(Later, { bring });
}
