// Asking the browser for files.

/**
 * What opens the browser's own dialog. The field is kept: the browser forgets one that nothing leads to.
 * @param {(files: File[]) => unknown} take what was chosen
 * @param {{accept?: string, folder?: boolean}} how which endings are offered; whether a folder is wanted, with all that lies in it
 */
export function chooser(take, { accept = "", folder = false }) {
  const field = document.createElement("input");
  Object.assign(field, { type: "file", accept, multiple: true, webkitdirectory: folder });
  field.addEventListener("change", () => {
    const files = [...(field.files ?? [])];
    field.value = "";
    void take(files);
  });
  return () => field.click();
}
