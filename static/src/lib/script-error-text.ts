// The text of an error or warning about a plugin, from its code and arguments.
import { filledText, withFullStop } from "./coded-message.ts";
import { addEnglish, t } from "./i18n.ts";
import words from "./strings/en-script-errors.ts";
import { isWestern, sentence } from "./text.ts";
import type { Failure } from "./wire.d.ts";

addEnglish(words);

/** Returns an error in the user's language if the page has a text for its code, otherwise the server's sentence. */
export function scriptErrorText({ code = "", args = {}, message }: Failure) {
  // What to write instead of an unknown name.
  const hint = typeof args.hint === "string" && args.hint !== "" ? t("fault.hint", { hint: args.hint }) : "";
  const shown = { ...args, hint };
  const text = filledText(`fault.${code}.full`, shown) ?? filledText(`fault.${code}`, shown);
  if (text === undefined) return sentence(message);
  const said = isWestern(text) ? sentence(text) : withFullStop(text);
  return typeof args.instead === "string" ? `${said} ${sentence(args.instead)}` : said;
}
