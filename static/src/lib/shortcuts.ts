// Keyboard shortcuts, written like "mod+k", "alt+ArrowLeft", "e". `mod` is Cmd on Apple machines and Ctrl elsewhere.

const APPLE = /Mac|iP(hone|ad)/.test(navigator.platform);

export function isPressed(event: KeyboardEvent, shortcut: string) {
  const parts = shortcut.split("+");
  const key = parts.pop() ?? "";
  const mod = APPLE ? event.metaKey : event.ctrlKey;
  const other = APPLE ? event.ctrlKey : event.metaKey;
  return (
    event.key.toLowerCase() === key.toLowerCase() &&
    mod === parts.includes("mod") &&
    event.altKey === parts.includes("alt") &&
    !other &&
    (event.shiftKey === parts.includes("shift") || /^[^a-z0-9]$/i.test(key))
  );
}

/** Returns a shortcut for display. */
export function shortcutText(shortcut: string) {
  return shortcut
    .split("+")
    .map((part) => NAMES[part] ?? part.toUpperCase())
    .join(APPLE ? "" : "+");
}

const NAMES: Record<string, string> = {
  ContextMenu: "▤",
  mod: APPLE ? "⌘" : "Ctrl",
  alt: APPLE ? "⌥" : "Alt",
  shift: APPLE ? "⇧" : "Shift",
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
  Delete: "Del",
};

/** The field that the user emptied last. Its own undo restores the text. */
let emptiedField: EventTarget | null = null;
addEventListener("input", ({ target }) => (emptiedField = isTyping(target) && isEmpty(target) ? target : null), true);

const isEmpty = (target: EventTarget | null) =>
  target instanceof HTMLTextAreaElement && target.value === "" && !target.closest("dialog");

/** Whether the undo of a field itself may have something to undo or redo. */
export const hasOwnUndo = (target: EventTarget | null) =>
  isTyping(target) && (!isEmpty(target) || target === emptiedField);

/** Whether an element takes text, so that keys are no shortcuts. */
export function isTyping(target: EventTarget | null) {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));
}
