// Copies text. On plain HTTP from another machine, browsers offer no clipboard API, so `execCommand` is the fallback.

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    // Behind a modal dialog nothing can be selected.
    (document.querySelector("dialog:modal") ?? document.body).append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    return copied;
  }
}
