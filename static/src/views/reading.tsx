// What a dialog reads from the server and shows: cleared at once, and read anew, when text was thrown away for good.
import { h, useEffect, useSignal } from "../../vendor/preact.js";
import { wordsFor } from "../actions/failure.ts";
import { t } from "../lib/i18n.ts";
import { purges } from "../model/story.ts";
import { Blank } from "./parts.tsx";
import type { ApiError } from "../net/api.ts";

/**
 * @param about what it is read of: of something else it is read anew
 * @returns null: it is being read
 */
export function useReading<T>(read: () => Promise<T>, about: string): T | ApiError | null {
  const key = `${about} ${purges.value}`;
  const answer = useSignal<{ key: string; found: T | ApiError } | null>(null);
  useEffect(() => {
    let isOver = false;
    answer.value = null;
    const put = (found: T | ApiError) => void (isOver || (answer.value = { key, found }));
    void read().then(put, put);
    return () => void (isOver = true);
  }, [key]);
  return answer.value?.key === key ? answer.value.found : null;
}

/**
 * Reads at once, and anew when one of `about` becomes another. What comes for the earlier ones after that is dropped:
 * it would stand under the name of the later.
 * @param read null: there is nothing to read
 */
export function useLatest<T>(read: () => Promise<T> | null, put: (found: T) => unknown, about: unknown[]) {
  useEffect(() => {
    let isOver = false;
    void read()?.then((found) => isOver || put(found));
    return () => void (isOver = true);
  }, about);
}

/** Why it could not be read. */
export function Failed({ error }: { error: ApiError }) {
  const isGone = error.status === 404 || error.status === 410;
  const words = isGone ? { text: t("gone.text"), hint: t("gone.hint") } : wordsFor(error);
  return <Blank symbol="warning" title={words.text} hint={words.hint} />;
}
