// Copying text. On plain http away from this machine the browser hides its clipboard, so the old way stays as a second.

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    // Behind a dialog nothing can be selected.
    (document.querySelector("dialog:modal") ?? document.body).append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    return copied;
  }
}
