// Small components that every view uses: icons, command buttons, avatars, menus, dialogs.
import { Fragment, h, signal, useEffect, useLayoutEffect, useRef, useSignal } from "../../vendor/preact.js";
import { canRun, command, isWaiting, run } from "../actions/commands.ts";
import { focusMessage, isFocusLost, lastingElementOf, messageOf } from "../lib/focus.ts";
import { t } from "../lib/i18n.ts";
import { shortcutText } from "../lib/shortcuts.ts";
import { ignoreFetchFailure } from "../lib/modules.ts";
import { initial, sentence } from "../lib/text.ts";
import { codedMessageText } from "../lib/coded-message.ts";
import { dialog, dismiss, notices, openDialog } from "../model/page.ts";
import { requestFieldFocus } from "../model/session-store.ts";
import type { ComponentChildren, ComponentType, VNode } from "../../vendor/preact.js";
import type { ChatNode, Problem } from "../lib/wire.d.ts";
import type { Notice } from "../model/page.ts";

const SPRITE = new URL("../../icons.svg", import.meta.url).pathname;

/**
 * Renders an icon.
 * @param props `name`: a symbol of icons.svg
 */
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

/** Renders the button of a command: its icon, and its label if `wide`. Hidden while the command cannot run. */
export function CommandButton({ id, node = null, wide = false, class: look = "" }: CommandButtonProps) {
  const isOff = !canRun(id, node);
  if (isOff && !isWaiting(id, node)) return null;
  const { label, icon: symbol, keys } = command(id);
  const name = t(label);
  const title = keys?.[0] ? `${name} (${shortcutText(keys[0])})` : name;
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

/** Renders an image from this origin, a symbol, or the first letter of the name. */
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

/** Returns the address of the small image, as lists do not need full ones. With hundreds, each takes two kilobytes. */
const smallOf = (src: string) => (src.includes("/avatar?v=") ? `${src}&size=96` : src);

let menus = 0;

interface MenuProps {
  label: string;
  symbol?: string;
  class?: string;
  children?: ComponentChildren;
}

/** Renders a button that opens a small menu. Its items are rendered only while it is open. */
export function Menu({ label, symbol = "menu", class: look = "", children }: MenuProps) {
  const id = useRef(`menu-${++menus}`).current;
  const ref = useRef<HTMLDivElement | null>(null);
  const open = useSignal(false);
  const isOpen = open.value;
  useLayoutEffect(() => {
    const menu = ref.current;
    if (!isOpen || !menu) return undefined;
    const put = () => placeMenu(menu, (menu.previousElementSibling as HTMLElement).getBoundingClientRect());
    const enter = () => menu.querySelector("button")?.focus();
    put();
    enter();
    // The window can change its size, and the items of the menu may load later.
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
  // Renders the items before the menu is visible, and removes them after it has returned the focus.
  const turn = (event: Pick<ToggleEvent, "type" | "newState">) => {
    if ((event.type === "beforetoggle") === (event.newState === "open")) open.value = event.newState === "open";
    if (!open.peek() && isFocusLost()) focusMessage(messageOf(ref.current));
  };
  const close = () => ref.current?.hidePopover();
  // The menu is opened by code, so that it is filled and placed before it is visible. The attribute links it to its
  // button.
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
        onKeyDown={moveMenuFocus}
      >
        {isOpen && children}
      </div>
    </>
  );
}

const GAP = 4;
const EDGE = 8;

/** Places a menu below its opener, or above if there is no room. It stays inside the window. */
function placeMenu(menu: HTMLElement, opener: DOMRect) {
  const { offsetHeight: tall, offsetWidth: wide, style } = menu;
  const fits = opener.bottom + GAP + tall <= innerHeight - EDGE;
  const top = fits ? opener.bottom + GAP : Math.max(EDGE, opener.top - GAP - tall);
  style.top = `${Math.min(top, Math.max(EDGE, innerHeight - tall - EDGE))}px`;
  style.left = `${Math.max(EDGE, Math.min(opener.left, innerWidth - wide - EDGE))}px`;
}

function moveMenuFocus(event: KeyboardEvent) {
  const all = [...(event.currentTarget as HTMLElement).querySelectorAll("button")];
  const at = all.indexOf(document.activeElement as HTMLButtonElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  all.at(to % all.length)?.focus();
}

/** The question before typed text is lost. */
const Confirmation = lazyView(() => import("./confirmation.tsx").then((module) => module.Confirmation), 0);

/** Returns whether the user typed into a field. */
export const isFormChanged = (box: Element | null) =>
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
 * Renders a modal dialog. Escape, the close button and a click outside close it.
 * @param props `keeps`: ask first if typed text would be lost
 */
export function Modal({ title, class: look = "", keeps = false, children }: ModalProps) {
  const ref = useRef<HTMLDialogElement | null>(null);
  // The browser reports the closing later, when another dialog may already be open.
  const mine = useRef(dialog.peek()).current;
  const close = () => dialog.peek() === mine && openDialog(null);
  // Runs before the first paint, as a key pressed in between would still go to the page.
  useLayoutEffect(() => {
    const box = ref.current;
    const from = lastingElementOf(document.activeElement);
    box?.showModal();
    return () => {
      box?.close();
      // The browser returns the focus only if it closes the dialog itself.
      if (!(from instanceof HTMLElement) || !(isFocusLost() || box?.contains(document.activeElement))) return;
      from.focus({ preventScroll: true });
      // The tools of a message are hidden without the focus, and hidden elements cannot take it.
      if (isFocusLost()) focusMessage(messageOf(from));
    };
  }, []);
  /** The element that had the focus when the question appeared. */
  const asking = useSignal<Element | null>(null);
  const stay = () => {
    const from = asking.peek();
    asking.value = null;
    if (from instanceof HTMLElement) from.focus();
  };
  const leave = () =>
    asking.peek() ? stay() : keeps && isFormChanged(ref.current) ? (asking.value = document.activeElement) : close();
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
          <Confirmation
            text={t("typed.text")}
            confirmLabel={t("typed.drop")}
            cancelLabel={t("typed.keep")}
            onConfirm={close}
            onCancel={stay}
          />
        )}
        {children}
      </div>
      <Notices inDialog />
    </dialog>
  );
}

// Notices

/**
 * Shows the notices. Errors have their own row, above the page or below the scrolling part of their dialog. There they
 * are visible and cover nothing. Short-lived notices appear over the header.
 */
export function Notices({ inDialog }: { inDialog: boolean }) {
  const noticesOf = (tone: Notice["tone"]) =>
    notices.value.filter((notice) => notice.tone === tone && notice.inDialog === inDialog);
  const box = (notice: Notice) => <NoticeBox key={notice.id} notice={notice} />;
  return (
    <div class="said" role="log" aria-label={t("notices")}>
      <div class="notices">{noticesOf("error").map(box)}</div>
      <div class="notices passing">{noticesOf("quiet").map(box)}</div>
    </div>
  );
}

/** How long a notice stays, in milliseconds. It stays longer while the user looks at it. */
const NOTICE_TIME = { quiet: 7_000, error: 20_000 };

function NoticeBox({ notice: { id, tone, stays, text, hint, action, show } }: { notice: Notice }) {
  const ref = useRef<HTMLDivElement | null>(null);
  useEffect(() => {
    const isRead = () => document.hidden || ref.current?.matches(":hover, :focus-within");
    const timer = setInterval(
      () => isRead() || dismiss(id),
      NOTICE_TIME[stays ? "error" : tone] * (action || show ? 2 : 1),
    );
    return () => clearInterval(timer);
  }, []);
  const close = () => {
    dismiss(id);
    requestFieldFocus();
  };
  return (
    <div ref={ref} class={`notice ${tone}`} role={tone === "error" ? "alert" : "status"}>
      {tone === "error" && icon("warning")}
      <div>
        <p>{text}</p>
        {hint && <p class="hint">{hint}</p>}
      </div>
      {show && (
        <button type="button" onClick={() => (dismiss(id), show())}>
          {t("message.go")}
        </button>
      )}
      {action && (
        <button type="button" onClick={() => (action.run(), close())}>
          {t(action.label)}
        </button>
      )}
      <button type="button" class="round" aria-label={t("close")} title={`${t("close")} (Esc)`} onClick={close}>
        {icon("close")}
      </button>
    </div>
  );
}

/** Shows a problem of a rule, in the user's language if the page has a translation. */
export const ProblemLine = ({ problem }: { problem: Problem }) => (
  <p class="aside problem-line">
    {problem.plugin && (
      <>
        <b>{problem.plugin}</b>{" "}
      </>
    )}
    {sentence(codedMessageText(problem))}
  </p>
);

interface EmptyStateProps {
  symbol: string;
  title: string;
  hint?: string;
  whole?: boolean;
  children?: ComponentChildren;
}

/**
 * Shows that a view is empty, loading or failed.
 * @param props `whole`: the page shows nothing else
 */
export function EmptyState({ symbol, title, hint = "", whole = false, children = null }: EmptyStateProps) {
  return (
    <div class="blank">
      {icon(symbol)}
      {whole ? <h1 class="blank-title">{title}</h1> : <p class="blank-title">{title}</p>}
      {hint && <p>{hint}</p>}
      {children}
    </div>
  );
}

export function LoadingRows({ rows }: { rows: number }) {
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
 * Returns a view whose code is loaded when it is first shown, so that it costs nothing before.
 * @param until number of placeholder rows, or a component shown instead
 * @returns the view; its `load` loads the code in advance
 */
export function lazyView<P extends object>(
  load: () => Promise<ComponentType<P>>,
  until: number | (() => VNode | null) = 4,
): ((props: P) => VNode | null) & { load: () => Promise<unknown> } {
  const view = signal<ComponentType<P> | null>(null);
  let coming: Promise<unknown> | null = null;
  // Loads a view again at the next use after a failure.
  const again = (error: unknown) => {
    coming = null;
    return ignoreFetchFailure(error);
  };
  const start = () => (coming ??= load().then((loaded) => (view.value = loaded), again));
  const LazyView = (props: P) => {
    if (view.value) return h(view.value, props) as VNode;
    void start();
    if (typeof until === "function") return until();
    return until > 0 ? <LoadingRows rows={until} /> : <span hidden />;
  };
  return Object.assign(LazyView, { load: start });
}
