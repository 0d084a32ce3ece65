// What a dialog reads from the server and shows: cleared at once, and read anew, when text was thrown away for good.
import { h, useEffect, useSignal } from "../../vendor/preact.js";
import { wordsFor } from "../actions/failure.js";
import { t } from "../lib/i18n.js";
import { purges } from "../model/story.js";
import { Blank } from "./parts.js";

/** @import { ApiError } from "../net/api.js" */

/**
 * @template T
 * @param {() => Promise<T>} read
 * @param {string} about what it is read of: of something else it is read anew
 * @returns {T | ApiError | null} null: it is being read
 */
export function useReading(read, about) {
  const key = `${about} ${purges.value}`;
  const answer = useSignal(/** @type {{key: string, found: T | ApiError} | null} */ (null));
  useEffect(() => {
    let isOver = false;
    answer.value = null;
    const put = (/** @type {T | ApiError} */ found) => void (isOver || (answer.value = { key, found }));
    void read().then(put, put);
    return () => void (isOver = true);
  }, [key]);
  return answer.value?.key === key ? answer.value.found : null;
}

/**
 * Reads at once, and anew when one of `about` becomes another. What comes for the earlier ones after that is dropped: it
 * would stand under the name of the later.
 * @template T
 * @param {() => Promise<T> | null} read null: there is nothing to read
 * @param {(found: T) => unknown} put @param {unknown[]} about
 */
export function useLatest(read, put, about) {
  useEffect(() => {
    let isOver = false;
    void read()?.then((found) => isOver || put(found));
    return () => void (isOver = true);
  }, about);
}

/** Why it could not be read. @param {{error: ApiError}} props */
export function Failed({ error }) {
  const isGone = error.status === 404 || error.status === 410;
  const words = isGone ? { text: t("gone.text"), hint: t("gone.hint") } : wordsFor(error);
  return h(Blank, { symbol: "warning", title: words.text, hint: words.hint });
}
