// Texts that undo put into the input field, so that redo may remove them again.

/** The text of each message that was undone. The last one is in the field. */
let undoneTexts: string[] = [];

/** Whether a draft contains nothing of the user's own: it is empty, or undo put it there. */
export const isUndoneText = (draft: string) => draft.trim() === "" || draft === undoneTexts.at(-1);

/**
 * Notes that undo puts a text into the field.
 * @param draft the current content of the field
 */
export function addUndoneText(text: string, draft: string) {
  undoneTexts = draft.trim() === "" ? [text] : [...undoneTexts, text];
}

/** Notes that redo removes a text. Returns the new content of the field. */
export function removeUndoneText(text: string) {
  undoneTexts = undoneTexts.at(-1) === text ? undoneTexts.slice(0, -1) : [];
  return undoneTexts.at(-1) ?? "";
}
