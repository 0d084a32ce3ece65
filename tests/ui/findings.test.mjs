// What the program can say in a report of an import, and whether the page has words for it: read from the program's own source.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, test } from "node:test";
import cards from "../../static/src/lib/strings/en-cards.ts";
import english from "../../static/src/lib/strings/en-findings.ts";
import chineseCards from "../../static/src/lib/strings/zh-cards.ts";
import chinese from "../../static/src/lib/strings/zh-findings.ts";

const folders = ["compat/src/interop", "engine/src/transfer"].map(
  (folder) => new URL(`../../crates/${folder}/`, import.meta.url),
);
const files = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true })
    .filter((path) => path.endsWith(".rs"))
    .map((path) => [path, folder]),
);
/** Without what only its tests say. */
const sources = files.map(([path, folder]) => [
  path,
  readFileSync(new URL(path, folder), "utf8").split("#[cfg(test)]")[0],
]);

/** Functions that are told the code of what they find, each with the file that it stands in. */
const TOLD = {
  "card/unsupported.rs": "kept",
  "foreign_chat/message_tree.rs": "told",
  "sillytavern/data_folder.rs": "leave_out",
};

/** The codes that a file names, and whether it has findings whose code is no word of it. */
function codesOf(path, text) {
  const made = [...text.matchAll(/Finding::new\(\s*[\w:]+,\s*(?:"(\w+)"|\w+),/g)].map(([, code]) => code);
  const told =
    path in TOLD
      ? [...text.matchAll(new RegExp(`\\b${TOLD[path]}\\([^;"]*"(\\w+)",`, "g"))].map(([, code]) => code)
      : [];
  return {
    codes: [...made.filter(Boolean), ...told],
    isOdd: made.includes(undefined),
    all: text.match(/Finding::new\(/g)?.length ?? 0,
    seen: made.length,
  };
}

const found = sources.map(([path, text]) => ({ path, ...codesOf(path, text) }));
const codes = [...new Set(found.flatMap(({ codes }) => codes))].sort();

describe("what a report says", () => {
  test("S4-53: every finding is seen where it is made: by its code, or by a function that is told it", () => {
    for (const { path, all, seen } of found)
      assert.equal(seen, all, `${path} makes findings in a way that is not read here`);
    assert.deepEqual(
      found
        .filter(({ isOdd }) => isOdd)
        .map(({ path }) => path)
        .sort(),
      Object.keys(TOLD).sort(),
      "whoever is told a code stands in TOLD",
    );
    assert.ok(
      codes.length > 60 &&
        ["ejs", "halves", "left_aside", "no_text", "too_many_files"].every((code) => codes.includes(code)),
      codes.join(),
    );
  });

  test("S4-53: every code has words in both languages", () => {
    const wordless = (words) => codes.filter((code) => !words[`finding.${code}`]?.trim());
    assert.deepEqual(wordless(english), []);
    assert.deepEqual(wordless(chinese), []);
    assert.deepEqual(Object.keys(english).sort(), Object.keys(chinese).sort());
  });

  test("S4-53: every kind of thing that is told of has a name in both languages", () => {
    const kinds = new Set(
      sources.flatMap(([, text]) => [...text.matchAll(/Item::(?:new|skipped)\(\s*"(\w+)"/g)].map(([, kind]) => kind)),
    );
    assert.ok(kinds.size >= 6);
    for (const kind of kinds) for (const words of [cards, chineseCards]) assert.ok(words[`report.kind.${kind}`], kind);
  });
});
