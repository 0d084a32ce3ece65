// The keyboard focus.

/** Returns the id of the message that contains an element. */
export function messageOf(element: EventTarget | null): string | null {
  const article = element instanceof Element ? element.closest("[data-node]") : null;
  return article instanceof HTMLElement ? (article.dataset.node ?? null) : null;
}

/** Returns the message that has the focus, itself or in one of its buttons. */
export const focusedMessage = () => messageOf(document.activeElement);

const articleOf = (id: string | null) =>
  (id && document.querySelector(`[data-node="${CSS.escape(id)}"]`)) as HTMLElement | null;

export const focusMessage = (id: string | null) => articleOf(id)?.focus({ preventScroll: true });

/** Opens the menu of a message like a click on its button. */
export function openMenu(id: string) {
  focusMessage(id);
  (articleOf(id)?.querySelector(".more") as HTMLElement | null | undefined)?.click();
}

/** Whether the focused element was removed. */
export const isFocusLost = () => document.activeElement === null || document.activeElement === document.body;

/** The message that the page itself focused last. */
let lastFocusedByPage: string | null = null;

/** Focuses a message without an action of the user. */
export function focusQuietly(article: HTMLElement) {
  article.focus({ preventScroll: true });
  lastFocusedByPage = messageOf(article);
}

/**
 * Notes the focus. The returned function tells later whether the user is still there. If they went elsewhere meanwhile,
 * the focus is not moved back.
 */
export function watchFocus() {
  const [place, before] = [focusedMessage(), lastFocusedByPage];
  return () =>
    isFocusLost() || [place, lastFocusedByPage === before ? place : lastFocusedByPage].includes(focusedMessage());
}

/**
 * Returns the element that can take the focus later. A menu entry disappears with its menu, but the button that opened
 * it stays.
 */
export const lastingElementOf = (element: Element | null) =>
  element?.closest("[popover]")?.previousElementSibling ?? element;

/** Waits until the changes are on screen. */
export const afterRender = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
