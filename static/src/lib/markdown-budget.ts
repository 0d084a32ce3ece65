// Bounds for Markdown of strangers. The renderer takes time that grows with the square of a paragraph for some runs of
// marks, and follows nested quotes and lists by recursion. A text beyond the bounds is shown as it is.
import { Lexer } from "../../vendor/marked.js";
import type { MarkedOptions, Token } from "../../vendor/marked.js";

/** The longest paragraph that is formatted, in characters. */
const LONGEST_PARAGRAPH = 10_000;
/** How long the paragraphs of a text may take, in milliseconds. The rest is shown as it is. */
const BUDGET_MS = 500;
/** More quotes and lists inside each other than anybody writes. */
const TOO_NESTED = /^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){50}/m;

/** Returns the tokens of a text that is shown as it is, with its line breaks. */
const plainTokens = (text: string): Token[] =>
  text
    .split("\n")
    .flatMap((line, i): Token[] => [
      ...(i > 0 ? [{ type: "br", raw: "\n" } as const] : []),
      { type: "text", raw: line, text: line, escaped: false },
    ]);

/**
 * Splits a text into tokens. Use it in place of the lexer of a `Marked`.
 * @throws RangeError if quotes and lists are nested too deeply
 */
export function lexWithinBudget<P, R>(text: string, options?: MarkedOptions<P, R>): Token[] {
  if (TOO_NESTED.test(text)) throw new RangeError("quotes or lists are nested too deeply");
  const lexer = new Lexer(options);
  lexer.blockTokens(text.replace(/\r\n|\r/g, "\n"), lexer.tokens);
  const end = performance.now() + BUDGET_MS;
  for (const { src, tokens } of lexer.inlineQueue) {
    const fits = src.length <= LONGEST_PARAGRAPH && performance.now() < end;
    if (fits) lexer.inlineTokens(src, tokens);
    else tokens.push(...plainTokens(src));
  }
  lexer.inlineQueue = [];
  return lexer.tokens;
}
