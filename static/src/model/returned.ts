// Texts that undo put into the input field, so that redo may remove them again.

/** The text of each message that was undone. The last one is in the field. */
let words: string[] = [];

/** Whether a draft contains nothing of the user's own: it is empty, or undo put it there. */
export const isReturned = (draft: string) => draft.trim() === "" || draft === words.at(-1);

/**
 * Notes that undo puts a text into the field.
 * @param draft the current content of the field
 */
export function putWords(text: string, draft: string) {
  words = draft.trim() === "" ? [text] : [...words, text];
}

/** Notes that redo removes a text. Returns the new content of the field. */
export function takeWords(text: string) {
  words = words.at(-1) === text ? words.slice(0, -1) : [];
  return words.at(-1) ?? "";
}
