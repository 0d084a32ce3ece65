// The words that undo has put into the field, which it may take out again.

/** Of each message that was taken back, the one that is in the field last. @type {string[]} */
let words = [];

/** Whether a draft is nothing of the reader's own: empty, or what undo has put there. @param {string} draft */
export const isReturned = (draft) => draft.trim() === "" || draft === words.at(-1);

/** Undo puts words into the field, in the place of those that came after them. @param {string} text @param {string} draft what stands there */
export function putWords(text, draft) {
  words = draft.trim() === "" ? [text] : [...words, text];
}

/** Redo takes words out of the field; answers what stands there then. @param {string} text */
export function takeWords(text) {
  words = words.at(-1) === text ? words.slice(0, -1) : [];
  return words.at(-1) ?? "";
}
