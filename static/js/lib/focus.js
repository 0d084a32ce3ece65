// Where the keyboard is.

/** The id of the message that an element belongs to. @param {EventTarget | null} element @returns {string | null} */
export function messageOf(element) {
  const article = element instanceof Element ? element.closest("[data-node]") : null;
  return article instanceof HTMLElement ? (article.dataset["node"] ?? null) : null;
}

/** The message that has the focus, itself or in one of its buttons. */
export const focusedMessage = () => messageOf(document.activeElement);

/** @param {string | null} id */
const articleOf = (id) => /** @type {HTMLElement | null} */ (id && document.querySelector(`[data-node="${CSS.escape(id)}"]`));

/** @param {string | null} id */
export const focusMessage = (id) => articleOf(id)?.focus({ preventScroll: true });

/** Opens the menu of a message, as a click on its button does. @param {string} id */
export function openMenu(id) {
  focusMessage(id);
  /** @type {HTMLElement | null | undefined} */ (articleOf(id)?.querySelector(".more"))?.click();
}

/** Whether what had the focus is gone. */
export const isFocusLost = () => document.activeElement === null || document.activeElement === document.body;

/** The message that the page itself gave the focus to last. @type {string | null} */
let led = null;

/** Gives a message the focus without a deed of the reader's. @param {HTMLElement} article */
export function leadTo(article) {
  article.focus({ preventScroll: true });
  led = messageOf(article);
}

/** Notes where the keyboard is. What it gives tells later whether the reader is still there; who went on meanwhile is not called back. */
export function watchFocus() {
  const [place, before] = [focusedMessage(), led];
  return () => isFocusLost() || [place, led === before ? place : led].includes(focusedMessage());
}

/** What can be given the focus later: an entry of a menu goes with the menu, the button that opened it stays. @param {Element | null} element */
export const keeperOf = (element) => element?.closest("[popover]")?.previousElementSibling ?? element;

/** Waits until what changed is on screen. */
export const drawn = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
