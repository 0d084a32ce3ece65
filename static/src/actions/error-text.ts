// Error messages for the user.
import { t, optionalText } from "../lib/i18n.ts";
import { sentence } from "../lib/text.ts";
import { notify } from "../model/page.ts";
import { ApiError } from "../net/api.ts";

/** Error codes whose server message says more than the code: from a rule, a model server, or about a wrong field. */
const SPECIFIC_MESSAGE_CODES = new Set(["invalid", "conflict", "forbidden", "input_refused", "provider_failed"]);

/** Returns whether a hint refers to the API documentation, which does not help users of the page. */
const isForPrograms = (hint: string) => hint.includes("/api/docs");

/** Returns the code of a refusal, exactly enough for its own text. */
function refusalOf({ code, details }: ApiError) {
  if (code === "conflict" && details?.name) return "name_taken";
  return code === "invalid" && details?.field === "file" ? "invalid_file" : code;
}

/** Returns the text for an error: the page's own in the user's language if there is one, otherwise the server's. */
export function errorText(error: ApiError) {
  if (error.code === "offline") return { text: t("error.offline"), hint: t("error.offlineHint") };
  const message = sentence(error.message);
  const { reason, fileFault } = error.details ?? {};
  const plainer = optionalText(fileFault ? `fileFault.${fileFault}` : `reason.${reason}`, error.details);
  if (plainer) return { text: plainer, hint: "" };
  const code = refusalOf(error);
  const own = optionalText(`refusal.${code}`);
  const hint = isForPrograms(error.hint) ? "" : sentence(error.hint);
  const text = own || message || t("error.unknown", { status: error.status });
  const incident = error.incident ? t("error.incident", { id: error.incident }) : "";
  return {
    text,
    hint: [
      own && SPECIFIC_MESSAGE_CODES.has(error.code) ? message : "",
      optionalText(`refusalHint.${code}`) || hint,
      incident,
    ]
      .filter(Boolean)
      .join(" "),
  };
}

/** Runs something that may fail. Shows an error to the user if it does. */
export async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    notify({ tone: "error", ...errorText(error) });
    return undefined;
  }
}
