// Words that a passage could be looked up by: the names in it, what is put in quotation marks, what is written with a
// capital letter where no sentence begins.

const QUOTED = /[“"「『《‹«]([^“”"「」『』《》‹›«»\n]{2,24})[”"」』》›»]/gu;
const CAPITAL = /\p{Lu}[\p{L}\p{M}\p{N}’'-]+(?:[ ](?:(?:of|the|de|von|van)[ ]){0,2}\p{Lu}[\p{L}\p{M}\p{N}’'-]+)*/gu;
/** Before a word that has its capital letter from the beginning of a sentence. */
const BEGINNING = /(?:^|[.!?…:;。！？\n“”"「」『』(（*—-])\s*$/u;
/** Quoted words with these are speech, no name. */
const SPEECH = /[,.!?;…，。！？；、]|(?:\S+\s+){3}/u;
const ARTICLE = /^(?:the|an?)\s+/i;
/** Small words inside of a name. */
const LINKS = /^(?:(?:of|the|de|von|van) )+/;
const MOST = 6;

/**
 * @param names who speaks, and who else is known
 * @returns a few, the likeliest first
 */
export function keywordsOf(text: string, names: string[]): string[] {
  const counts: Map<string, number> = new Map();
  const count = (word: string, weight = 1) => word && counts.set(word, (counts.get(word) ?? 0) + weight);
  for (const [, quoted = ""] of text.matchAll(QUOTED))
    if (!SPEECH.test(quoted)) count(quoted.trim().replace(ARTICLE, ""));
  /** Single words with which a sentence begins: they count if they have their capital letter elsewhere, too. */
  const begun: string[] = [];
  for (const { 0: found, index } of text.matchAll(CAPITAL)) {
    const isBegun = BEGINNING.test(text.slice(Math.max(0, index - 8), index));
    const [first = "", ...rest] = found.replace(/['’]s?$/u, "").split(" ");
    if (/^I['’]/.test(first)) continue;
    if (!isBegun) count([first, ...rest].join(" "));
    else if (rest.length === 0) begun.push(first);
    else count(rest.join(" ").replace(LINKS, ""));
  }
  for (const word of begun) if (counts.has(word)) count(word);
  const known = [...new Set(names)].filter((name) => name && text.includes(name));
  const lower = new Set(known.map((name) => name.toLowerCase()));
  const others = [...counts]
    .sort((a, b) => b[1] - a[1])
    .map(([word]) => word)
    .filter((word) => !lower.has(word.toLowerCase()));
  return [...known, ...others].slice(0, MOST);
}

/** What was typed as keys: with commas between them, but for a pattern, which has its own. */
export function keysIn(typed: string) {
  const whole = typed.trim();
  if (/^\/.+\/[a-z]*$/.test(whole)) return [whole];
  return whole
    .split(/[,，、\n]/)
    .map((key) => key.trim())
    .filter(Boolean);
}
