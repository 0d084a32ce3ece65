// Tests that the page has a text for everything that an import report can say. The codes are read from the source of
// the program.
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
/** Removes unit tests from a source. */
const sources = files.map(([path, folder]) => [
  path,
  readFileSync(new URL(path, folder), "utf8").split("#[cfg(test)]")[0],
]);

/** Functions that take the code of a finding, each with its file. */
const TOLD = {
  "card/unsupported.rs": "kept",
  "foreign_chat/message_tree.rs": "told",
  "sillytavern/data_folder.rs": "leave_out",
};

/** Returns the codes in a file, and whether it has findings whose code is not a literal. */
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

describe("the texts of a report", () => {
  test("S4-53: every finding is found in the source: by its code, or by a function that takes it", () => {
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

  test("S4-53: every code has a text in both languages", () => {
    const wordless = (words) => codes.filter((code) => !words[`finding.${code}`]?.trim());
    assert.deepEqual(wordless(english), []);
    assert.deepEqual(wordless(chinese), []);
    assert.deepEqual(Object.keys(english).sort(), Object.keys(chinese).sort());
  });

  test("S4-53: every kind of item has a name in both languages", () => {
    const kinds = new Set(
      sources.flatMap(([, text]) => [...text.matchAll(/Item::(?:new|skipped)\(\s*"(\w+)"/g)].map(([, kind]) => kind)),
    );
    assert.ok(kinds.size >= 6);
    for (const kind of kinds) for (const words of [cards, chineseCards]) assert.ok(words[`report.kind.${kind}`], kind);
  });
});
