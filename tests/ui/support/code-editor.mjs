// Uses the code editor of the workshop by keyboard.

/** @param {import("playwright-core").Locator} dialog in which it stands */
export function codeEditorIn(dialog) {
  const element = dialog.locator("code-editor");
  const box = element.locator(".cm-content");
  const press = (/** @type {string} */ keys) => box.page().keyboard.press(keys);
  return {
    box,
    press,
    waitFor: () => box.waitFor(),
    inputValue: () => element.evaluate((/** @type {any} */ editor) => editor.text),
    selected: () => element.evaluate((/** @type {any} */ editor) => editor.selected),
    isFocused: () => element.evaluate((editor) => document.activeElement === editor),
    /** @param {string} text in the place of all that stands there */
    async fill(text) {
      await box.focus();
      await press("Control+a");
      if (text === "") return press("Delete");
      await box.page().keyboard.insertText(text);
    },
    /** @param {string} text letter by letter */
    type: (text) => box.page().keyboard.type(text),
  };
}
