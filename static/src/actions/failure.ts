// One way to tell the reader that something did not work.
import { t, wordFor } from "../lib/i18n.ts";
import { sentence } from "../lib/text.ts";
import { tell } from "../model/page.ts";
import { ApiError } from "../net/api.ts";

/** Whose sentence says more than their code: what a rule or a model server said, and which field is wrong. */
const TELLING = new Set(["invalid", "conflict", "forbidden", "input_refused", "provider_failed"]);

/** Whether a hint leads to the documentation of the interface, which is no advice to who reads the page. */
const isForPrograms = (hint: string) => hint.includes("/api/docs");

/** The words for an error: the page's own in the reader's language where it has some, else the server's. */
export function wordsFor(error: ApiError) {
  if (error.code === "offline") return { text: t("error.offline"), hint: t("error.offlineHint") };
  const said = sentence(error.message);
  const plainer = wordFor(`reason.${error.details?.reason}`);
  if (plainer) return { text: plainer, hint: "" };
  const code = error.code === "conflict" && error.details?.name ? "name_taken" : error.code;
  const own = wordFor(`refusal.${code}`);
  const hint = isForPrograms(error.hint) ? "" : sentence(error.hint);
  const text = own || said || t("error.unknown", { status: error.status });
  const incident = error.incident ? t("error.incident", { id: error.incident }) : "";
  return {
    text,
    hint: [own && TELLING.has(error.code) ? said : "", wordFor(`refusalHint.${code}`) || hint, incident]
      .filter(Boolean)
      .join(" "),
  };
}

/** Runs something that may fail; tells the reader when it does. */
export async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    tell({ tone: "error", ...wordsFor(error) });
    return undefined;
  }
}
