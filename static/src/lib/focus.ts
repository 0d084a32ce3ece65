// Where the keyboard is.

/** The id of the message that an element belongs to. */
export function messageOf(element: EventTarget | null): string | null {
  const article = element instanceof Element ? element.closest("[data-node]") : null;
  return article instanceof HTMLElement ? (article.dataset.node ?? null) : null;
}

/** The message that has the focus, itself or in one of its buttons. */
export const focusedMessage = () => messageOf(document.activeElement);

const articleOf = (id: string | null) =>
  (id && document.querySelector(`[data-node="${CSS.escape(id)}"]`)) as HTMLElement | null;

export const focusMessage = (id: string | null) => articleOf(id)?.focus({ preventScroll: true });

/** Opens the menu of a message, as a click on its button does. */
export function openMenu(id: string) {
  focusMessage(id);
  (articleOf(id)?.querySelector(".more") as HTMLElement | null | undefined)?.click();
}

/** Whether what had the focus is gone. */
export const isFocusLost = () => document.activeElement === null || document.activeElement === document.body;

/** The message that the page itself gave the focus to last. */
let led: string | null = null;

/** Gives a message the focus without a deed of the reader's. */
export function leadTo(article: HTMLElement) {
  article.focus({ preventScroll: true });
  led = messageOf(article);
}

/**
 * Notes where the keyboard is. What it gives tells later whether the reader is still there; who went on meanwhile is
 * not called back.
 */
export function watchFocus() {
  const [place, before] = [focusedMessage(), led];
  return () => isFocusLost() || [place, led === before ? place : led].includes(focusedMessage());
}

/** What can be given the focus later: an entry of a menu goes with the menu, the button that opened it stays. */
export const keeperOf = (element: Element | null) => element?.closest("[popover]")?.previousElementSibling ?? element;

/** Waits until what changed is on screen. */
export const drawn = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
