// Forms whose input survives a reload and the back button of the browser.
import { useEffect, useRef } from "../../vendor/preact.js";
import { readFormDraft, saveFormDraft } from "../model/form-drafts.ts";
import type { FormFields } from "../model/form-drafts.ts";

/** Returns the values of a form's fields. */
export const formValues = (form: HTMLFormElement): FormFields =>
  Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));

/** Fills the fields of a form, as if the values were typed. */
export function fillForm(form: HTMLFormElement, fields: FormFields) {
  for (const field of form.elements as Iterable<HTMLInputElement>) {
    if (!field.name) continue;
    if (field.type === "checkbox") field.checked = field.name in fields;
    else if (field.name in fields) field.value = fields[field.name] ?? "";
  }
}

/**
 * Returns the unsaved input under a key, or null. Unmounting the form deletes it, because the user has saved or
 * cancelled. A reload or the back button keeps it.
 */
export function useFormDraft(key: string): FormFields | null {
  const draft = useRef(readFormDraft(key)).current;
  useEffect(() => {
    let isBack = false;
    const back = () => void (isBack = true);
    // In the capture phase: before the page handles the event and closes the open form.
    addEventListener("popstate", back, true);
    return () => {
      removeEventListener("popstate", back, true);
      if (!isBack) saveFormDraft(key, null);
    };
  }, []);
  return draft;
}
