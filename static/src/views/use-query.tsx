// Hooks for data that a dialog reads from the server. After a purge, `useQuery` discards its data at once and reads
// again.
import { h, useEffect, useSignal } from "../../vendor/preact.js";
import { errorText } from "../actions/error-text.ts";
import { t } from "../lib/i18n.ts";
import { purgeCount } from "../model/session-store.ts";
import { EmptyState } from "./common.tsx";
import type { ApiError } from "../net/api.ts";

/**
 * Reads data from the server.
 * @param about identifies the data; a new value starts a new read
 * @returns null while the data is loading
 */
export function useQuery<T>(read: () => Promise<T>, about: string): T | ApiError | null {
  const key = `${about} ${purgeCount.value}`;
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
 * Reads at once, and again when a value of `about` changes. A late answer for earlier values is dropped, because it
 * would appear under the new name.
 * @param read returns null if there is nothing to read
 */
export function useLatestResult<T>(read: () => Promise<T> | null, put: (found: T) => unknown, about: unknown[]) {
  useEffect(() => {
    let isOver = false;
    void read()?.then((found) => isOver || put(found));
    return () => void (isOver = true);
  }, about);
}

/** Explains why a read failed. */
export function QueryError({ error }: { error: ApiError }) {
  const isGone = error.status === 404 || error.status === 410;
  const words = isGone ? { text: t("gone.text"), hint: t("gone.hint") } : errorText(error);
  return <EmptyState symbol="warning" title={words.text} hint={words.hint} />;
}
