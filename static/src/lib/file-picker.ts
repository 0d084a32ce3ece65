// Asks the browser for files.

/**
 * Returns a function that opens the browser's file dialog. It keeps the input element: browsers forget one without
 * references.
 * @param take called with the chosen files
 * @param how `accept`: the offered file endings; `folder`: whether a whole folder is chosen
 */
export function filePicker(
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
