// A form whose words outlast a reload and the way back of the browser.
import { useEffect, useRef } from "../../vendor/preact.js";
import { begunAs, keepBegun } from "../model/begun.ts";
import type { Fields } from "../model/begun.ts";

/** What stands in the fields of a form. */
export const fieldsOf = (form: HTMLFormElement): Fields =>
  Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));

/** Puts words into the fields of a form, as if they were typed. */
export function fillIn(form: HTMLFormElement, fields: Fields) {
  for (const field of form.elements as Iterable<HTMLInputElement>) {
    if (!field.name) continue;
    if (field.type === "checkbox") field.checked = field.name in fields;
    else if (field.name in fields) field.value = fields[field.name] ?? "";
  }
}

/**
 * What was begun under a name. Who leaves the form has saved it or does not want it; a reload and the way back are
 * neither.
 */
export function useBegun(key: string): Fields | null {
  const begun = useRef(begunAs(key)).current;
  useEffect(() => {
    let isBack = false;
    const back = () => void (isBack = true);
    // Before the page hears of it, and closes what is open.
    addEventListener("popstate", back, true);
    return () => {
      removeEventListener("popstate", back, true);
      if (!isBack) keepBegun(key, null);
    };
  }, []);
  return begun;
}
