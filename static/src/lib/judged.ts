// Text that a stranger wrote and a reader has to judge: titles without signs that nobody sees, code with those signs
// made visible, and what is different in it line by line. Pure.

/** What is not seen and changes what is: control characters, marks of direction, joints of no width. */
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** A title as it is meant to be read. */
export const bare = (text: string) =>
  text
    .replace(/[\t\n]/g, " ")
    .replace(UNSEEN, "")
    .trim();

/** Code as it is, with what would not be seen. */
export const visible = (text: string) =>
  text
    .replaceAll("\r\n", "\n")
    .replace(UNSEEN, (sign) => `⟨U+${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

/** What each plugin is called in a list: by its id too, where another one has the same title. */
export function titlesOf(all: { id: string; title?: string }[]): Map<string, string> {
  const titles = all.map(({ id, title = "" }) => bare(title) || id);
  return new Map(
    all.map(({ id }, i) => [
      id,
      titles.filter((one) => one === titles[i]).length > 1 ? `${titles[i]} (${id})` : (titles[i] ?? id),
    ]),
  );
}

/** More pairs of lines than these are not compared: the middle is then told as gone and new. */
const MOST = 4_000_000;

/** The lines of two texts: those of both, those that are gone, those that are new. */
export function linesBetween(before: string, after: string): { sign: "" | "-" | "+"; text: string }[] {
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
  const middle = between(old.slice(head, old.length - tail), now.slice(head, now.length - tail));
  return [...same(old.slice(0, head)), ...middle, ...same(old.slice(old.length - tail))];
}

function between(old: string[], now: string[]): { sign: "" | "-" | "+"; text: string }[] {
  const gone = (text: string) => ({ sign: "-" as const, text });
  const come = (text: string) => ({ sign: "+" as const, text });
  if (old.length * now.length > MOST) return [...old.map(gone), ...now.map(come)];
  // How many lines the rest of both have in common, from each pair of places on.
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
    else if (was !== undefined && (is === undefined || at(i + 1, j) >= at(i, j + 1))) lines.push(gone(was)), (i += 1);
    else if (is !== undefined) lines.push(come(is)), (j += 1);
  }
  return lines;
}
