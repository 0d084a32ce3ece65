// A form whose words outlast a reload and the way back of the browser.
import { useEffect, useRef } from "../../vendor/preact.js";
import { begunAs, keepBegun } from "../model/begun.js";

/** @import { Fields } from "../model/begun.js" */

/** What stands in the fields of a form. @param {HTMLFormElement} form @returns {Fields} */
export const fieldsOf = (form) => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));

/** Puts words into the fields of a form, as if they were typed. @param {HTMLFormElement} form @param {Fields} fields */
export function fillIn(form, fields) {
  for (const field of /** @type {Iterable<HTMLInputElement>} */ (form.elements)) {
    if (!field.name) continue;
    if (field.type === "checkbox") field.checked = field.name in fields;
    else if (field.name in fields) field.value = fields[field.name] ?? "";
  }
}

/** What was begun under a name. Who leaves the form has saved it or does not want it; a reload and the way back are neither. @param {string} key @returns {Fields | null} */
export function useBegun(key) {
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
