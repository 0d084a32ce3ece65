// One way to tell the reader that something did not work.
import { t } from "../lib/i18n.js";
import { sentence } from "../lib/text.js";
import { tell } from "../model/page.js";
import { ApiError } from "../net/api.js";

/** The words for an error: the server's own where it gave some. @param {ApiError} error */
export function wordsFor(error) {
  if (error.code === "offline") return { text: t("error.offline"), hint: t("error.offlineHint") };
  const text = sentence(error.message) || t("error.unknown", { status: error.status });
  const incident = error.incident ? t("error.incident", { id: error.incident }) : "";
  return { text, hint: [sentence(error.hint), incident].filter(Boolean).join(" ") };
}

/**
 * Runs something that may fail; tells the reader when it does.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T | undefined>}
 */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    tell({ tone: "error", ...wordsFor(error) });
    return undefined;
  }
}
