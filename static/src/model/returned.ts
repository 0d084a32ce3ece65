// The words that undo has put into the field, which it may take out again.

/** Of each message that was taken back, the one that is in the field last. */
let words: string[] = [];

/** Whether a draft is nothing of the reader's own: empty, or what undo has put there. */
export const isReturned = (draft: string) => draft.trim() === "" || draft === words.at(-1);

/**
 * Undo puts words into the field, in the place of those that came after them.
 * @param draft what stands there
 */
export function putWords(text: string, draft: string) {
  words = draft.trim() === "" ? [text] : [...words, text];
}

/** Redo takes words out of the field; answers what stands there then. */
export function takeWords(text: string) {
  words = words.at(-1) === text ? words.slice(0, -1) : [];
  return words.at(-1) ?? "";
}
