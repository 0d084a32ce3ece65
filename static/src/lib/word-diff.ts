// The words in which two texts differ. Pure.

/** A range in UTF-16 code units. */
export interface Range {
  start: number;
  end: number;
}

/** Maximum product of the two numbers of words that are compared. */
const MAX_WORK = 1_500_000;
/** Minimum share of common words. Below it, two texts are not versions of each other. */
const MIN_COMMON = 0.3;

/** Splits a text into words, also of East Asian scripts, and the characters between them. */
const wordsOf = (text: string) =>
  [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)].map(({ segment, index, isWordLike }) => ({
    word: segment,
    start: index,
    isWord: isWordLike === true,
  }));

/** Returns the parts of each text that the other lacks; `null` if they have too little in common or are too long. */
export function diffWords(one: string, two: string): [Range[], Range[]] | null {
  const [a, b] = [wordsOf(one), wordsOf(two)];
  let head = 0;
  while (head < a.length && head < b.length && a[head]?.word === b[head]?.word) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail)?.word === b.at(-1 - tail)?.word) tail += 1;
  const [midA, midB] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  if (midA.length * midB.length > MAX_WORK) return null;
  const { inA, inB } = commonWords(
    midA.map(({ word }) => word),
    midB.map(({ word }) => word),
  );
  const isWord = (part: { isWord: boolean }) => part.isWord;
  const same = [...a.slice(0, head), ...midA.filter((_, i) => inA.has(i)), ...a.slice(a.length - tail)].filter(
    isWord,
  ).length;
  if (same < MIN_COMMON * Math.max(a.filter(isWord).length, b.filter(isWord).length, 1)) return null;
  return [joinRanges(midA, inA), joinRanges(midB, inB)];
}

/** Returns the longest common subsequence of words, as positions in each text. */
function commonWords(a: string[], b: string[]) {
  const wide = b.length + 1;
  const best = new Uint16Array((a.length + 1) * wide);
  const at = (i: number, j: number) => best[i * wide + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      best[i * wide + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const [inA, inB] = [new Set<number>(), new Set<number>()];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) inA.add(i++), inB.add(j++);
    else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return { inA, inB };
}

/** Returns the differing parts as few ranges. A space between two differing words belongs to them. */
function joinRanges(words: { word: string; start: number }[], same: Set<number>): Range[] {
  const ranges: Range[] = [];
  words.forEach(({ word, start }, i) => {
    const isSpace = word.trim() === "";
    const isBetween = isSpace && i > 0 && i < words.length - 1 && !same.has(i - 1) && !same.has(i + 1);
    if (isSpace ? !isBetween : same.has(i)) return;
    const last = ranges.at(-1);
    if (last?.end === start) last.end = start + word.length;
    else ranges.push({ start, end: start + word.length });
  });
  return ranges;
}
