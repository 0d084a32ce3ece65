// 规则的话里由服务器写的句子：服务器只说英文，这里按句子的样子换成中文。
// Sentences of the server about values, by how they are built; a name, a number or a text in them stays as it is.

const KINDS: Record<string, string> = {
  null: "空值",
  "true or false": "“是”或“否”",
  "a whole number": "整数",
  "a number": "数字",
  "a text": "文字",
  "a list": "列表",
  "a map": "一组值",
};
const kinds = (words: string) =>
  words
    .split(" or ")
    .map((word) => KINDS[word] ?? word)
    .join("或");
/** "true or false or a text": the words of one kind hold an "or" themselves. */
const anyOf = (words: string) =>
  kinds(words.replace("true or false", "\u0000")).replace("\u0000", KINDS["true or false"] ?? "");
const OF = { character: "个字", value: "项" };
const countOf = (of: string) => OF[of as keyof typeof OF];

export default [
  [/^(\/\S+): (\S+) gets it, (\S+) does not$/, "$1 由 $2 执行，$3 收不到。"],
  [/^(.+): (\S+) is below (\S+), kept at \S+$/s, "$1：$2 低于下限，按 $3 算。"],
  [/^(.+): (\S+) is above (\S+), kept at \S+$/s, "$1：$2 高于上限，按 $3 算。"],
  [/^(.+): (\S+) is not whole, rounded to (\S+)$/s, "$1：$2 不是整数，取整为 $3。"],
  [/^(.+?): (\S+) is not above (\S+)$/s, "$1：$2 应当大于 $3。"],
  [/^(.+?): (\S+) is not below (\S+)$/s, "$1：$2 应当小于 $3。"],
  [
    /^(.+?): (.+) is none of (.+)$/s,
    (_, name, value, list) => `${name}：${value} 不在 ${list.replaceAll(", ", "、")} 之中。`,
  ],
  [
    /^(.+?): (.+) is not ((?:an? (?:whole )?number|a text|a list|a map|null|true or false)(?: or .+)?)$/s,
    (_, name, value, kind) => `${name}：应当是${anyOf(kind)}，不是${KINDS[value] ?? ` ${value}`}。`,
  ],
  [/^(.+): "(.+)" is missing$/s, "$1：缺少“$2”。"],
  [/^(.+): nothing there to remove$/s, "$1：没有可删去的。"],
  [/^(.+): no such value to take$/s, "$1：里面没有这一项。"],
  [
    /^(.+): cannot (?:add to|insert into|append to) (true or false|a .+|null)$/s,
    (_, name, kind) => `${name}：它是${anyOf(kind)}，加不进去。`,
  ],
  [/^(.+): cannot take from (true or false|a .+|null)$/s, (_, name, kind) => `${name}：它是${anyOf(kind)}，拿不出来。`],
  [/^(.+): (?:it|something in it) is read-only and has its value$/s, "$1：是只读的，已经有值了。"],
  [/^(.+): it is required$/s, "$1：不能没有它。"],
  [/^(.+): the value stands in (?:it|the list) already$/s, "$1：里面已经有这一项了。"],
  [
    /^(.+): has (\d+), needs at least (\d+) (character|value)s?$/s,
    (_, name, n, least, of) => `${name}：有 ${n} ${countOf(of)}，至少要 ${least} ${countOf(of)}。`,
  ],
  [
    /^(.+): has (\d+), may have at most (\d+) (character|value)s?$/s,
    (_, name, n, most, of) => `${name}：有 ${n} ${countOf(of)}，最多 ${most} ${countOf(of)}。`,
  ],
] satisfies [RegExp, string | ((...found: string[]) => string)][];
