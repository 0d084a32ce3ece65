// Asking the browser for files.

/**
 * What opens the browser's own dialog. The field is kept: the browser forgets one that nothing leads to.
 * @param take what was chosen
 * @param how which endings are offered; whether a folder is wanted, with all that lies in it
 */
export function chooser(
  take: (files: File[]) => unknown,
  { accept = "", folder = false }: { accept?: string; folder?: boolean },
) {
  const field = document.createElement("input");
  Object.assign(field, { type: "file", accept, multiple: true, webkitdirectory: folder });
  field.addEventListener("change", () => {
    const files = [...(field.files ?? [])];
    field.value = "";
    void take(files);
  });
  return () => field.click();
}
