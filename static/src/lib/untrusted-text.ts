// Foreign text that the user has to judge: titles without invisible characters, code that shows them, and a line diff.
// Pure.

/** Invisible characters: control characters, direction marks, zero-width joiners. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression must match control characters
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Returns a title without invisible characters. */
export const withoutInvisible = (text: string) =>
  text
    .replace(/[\t\n]/g, " ")
    .replace(INVISIBLE, "")
    .trim();

/** Returns code with invisible characters written as `⟨U+…⟩`. */
export const showInvisible = (text: string) =>
  text
    .replaceAll("\r\n", "\n")
    .replace(INVISIBLE, (sign) => `⟨U+${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

/** Returns the title of each plugin in a list. If two have the same title, the id follows. */
export function titlesOf(all: { id: string; title?: string }[]): Map<string, string> {
  const titles = all.map(({ id, title = "" }) => withoutInvisible(title) || id);
  return new Map(
    all.map(({ id }, i) => [
      id,
      titles.filter((one) => one === titles[i]).length > 1 ? `${titles[i]} (${id})` : (titles[i] ?? id),
    ]),
  );
}

/** Maximum number of line pairs that are compared. Above it, the middle is shown as removed and added. */
const MAX = 4_000_000;

/** Compares the lines of two texts: common, removed and added ones. */
export function diffLines(before: string, after: string): { sign: "" | "-" | "+"; text: string }[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  )
    tail += 1;
  const same = (lines: string[]) => lines.map((text) => ({ sign: "" as const, text }));
  const middle = diffMiddle(old.slice(head, old.length - tail), now.slice(head, now.length - tail));
  return [...same(old.slice(0, head)), ...middle, ...same(old.slice(old.length - tail))];
}

function diffMiddle(old: string[], now: string[]): { sign: "" | "-" | "+"; text: string }[] {
  const removedLine = (text: string) => ({ sign: "-" as const, text });
  const come = (text: string) => ({ sign: "+" as const, text });
  if (old.length * now.length > MAX) return [...old.map(removedLine), ...now.map(come)];
  // For each pair of positions: the number of common lines from there on.
  const wide = now.length + 1;
  const common = new Uint32Array((old.length + 1) * wide);
  const at = (i: number, j: number) => common[i * wide + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1)
      common[i * wide + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const lines: { sign: "" | "-" | "+"; text: string }[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    const [was, is] = [old[i], now[j]];
    if (was !== undefined && was === is) lines.push({ sign: "", text: was }), (i += 1), (j += 1);
    else if (was !== undefined && (is === undefined || at(i + 1, j) >= at(i, j + 1)))
      lines.push(removedLine(was)), (i += 1);
    else if (is !== undefined) lines.push(come(is)), (j += 1);
  }
  return lines;
}
