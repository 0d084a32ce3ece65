// Suggests keys for a passage: names in it, quoted words, and capitalised words that do not begin a sentence.

const QUOTED = /[“"「『《‹«]([^“”"「」『』《》‹›«»\n]{2,24})[”"」』》›»]/gu;
const CAPITAL = /\p{Lu}[\p{L}\p{M}\p{N}’'-]+(?:[ ](?:(?:of|the|de|von|van)[ ]){0,2}\p{Lu}[\p{L}\p{M}\p{N}’'-]+)*/gu;
/** Text before a word that begins a sentence. */
const BEGINNING = /(?:^|[.!?…:;。！？\n“”"「」『』(（*—-])\s*$/u;
/** Matches quoted words that are speech and no name. */
const SPEECH = /[,.!?;…，。！？；、]|(?:\S+\s+){3}/u;
const ARTICLE = /^(?:the|an?)\s+/i;
/** Small words inside a name. */
const LINKS = /^(?:(?:of|the|de|von|van) )+/;
const MAX = 6;

/**
 * Returns a few keywords, the most likely first.
 * @param names the speakers and other known names
 */
export function keywordsOf(text: string, names: string[]): string[] {
  const counts: Map<string, number> = new Map();
  const count = (word: string, weight = 1) => word && counts.set(word, (counts.get(word) ?? 0) + weight);
  for (const [, quoted = ""] of text.matchAll(QUOTED))
    if (!SPEECH.test(quoted)) count(quoted.trim().replace(ARTICLE, ""));
  /** Single words at the start of a sentence. They only count if they are capitalised elsewhere too. */
  const draft: string[] = [];
  for (const { 0: found, index } of text.matchAll(CAPITAL)) {
    const isBegun = BEGINNING.test(text.slice(Math.max(0, index - 8), index));
    const [first = "", ...rest] = found.replace(/['’]s?$/u, "").split(" ");
    if (/^I['’]/.test(first)) continue;
    if (!isBegun) count([first, ...rest].join(" "));
    else if (rest.length === 0) draft.push(first);
    else count(rest.join(" ").replace(LINKS, ""));
  }
  for (const word of draft) if (counts.has(word)) count(word);
  const known = [...new Set(names)].filter((name) => name && text.includes(name));
  const lower = new Set(known.map((name) => name.toLowerCase()));
  const others = [...counts]
    .sort((a, b) => b[1] - a[1])
    .map(([word]) => word)
    .filter((word) => !lower.has(word.toLowerCase()));
  return [...known, ...others].slice(0, MAX);
}

/** Splits typed keys at commas. A regular expression stays whole, because it can contain commas. */
export function keysIn(typed: string) {
  const whole = typed.trim();
  if (/^\/.+\/[a-z]*$/.test(whole)) return [whole];
  return whole
    .split(/[,，、\n]/)
    .map((key) => key.trim())
    .filter(Boolean);
}
