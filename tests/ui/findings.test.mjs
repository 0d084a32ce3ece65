// Tests of the texts of an import report: how the page says a finding from its code and arguments. A test of the
// program (tests/it/message_codes.rs) compares the codes of the server with the texts.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { findingContent, groupContent } from "../../static/src/lib/finding-text.ts";
import cards from "../../static/src/lib/strings/en-cards.ts";
import chineseCards from "../../static/src/lib/strings/zh-cards.ts";

const finding = (code, args = {}, fate = "skipped") => ({
  fate,
  code,
  args,
  line: null,
  count: args.count ?? 1,
  message: "a sentence",
});

describe("the texts of a report", () => {
  test("S4-53: a finding is said with its arguments", () => {
    const said = (...parts) => findingContent(finding(...parts));
    assert.equal(said("scripts", { count: 3 }).split(".")[0], "3 JavaScript scripts");
    assert.equal(said("lorebook_missing", { name: "Coast" }), "Its lorebook “Coast” is missing.");
    assert.equal(
      said("bad_line", { reason: "expected a comma" }),
      "One line cannot be read and was skipped: expected a comma.",
    );
    assert.equal(said("messages", { messages: 1200, new: 3 }), "1,200 messages. With all versions, 3 are new.");
    assert.equal(said("messages", { messages: 5, branches: 2, new: 3 }), "5 messages in 2 branches. 3 are new.");
    assert.equal(said("preset", { kind: "theme" }), "A theme for another page.");
    assert.equal(said("preset", { kind: "later" }), "It is kept completely, but not used yet.");
    assert.match(said("character_note", {}, "kept"), /was turned off/);
    assert.equal(said("unread", { reason: "encrypted" }), "It was not read: it is encrypted.");
  });

  test("S4-53: a finding without its arguments is said in general, and an unknown one not at all", () => {
    assert.equal(findingContent(finding("lorebook_missing")), "Its lorebook is missing.");
    assert.equal(findingContent(finding("of_a_later_server", { count: 2 })), "");
    assert.equal(groupContent("bad_line", 4), "4 lines cannot be read and were skipped.");
    assert.equal(groupContent("scripts_jquery", 1), "One script uses jQuery. Its page does not exist here.");
    assert.equal(groupContent("of_a_later_server", 2), "");
  });

  test("S4-53: every kind of item has a name in both languages", () => {
    const folder = new URL("../../crates/engine/src/transfer/", import.meta.url);
    const files = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith(".rs"));
    const kinds = new Set(
      files.flatMap((path) =>
        [...readFileSync(new URL(path, folder), "utf8").matchAll(/Item::(?:new|skipped)\(\s*"(\w+)"/g)].map(
          ([, kind]) => kind,
        ),
      ),
    );
    assert.ok(kinds.size >= 6);
    for (const kind of kinds) for (const words of [cards, chineseCards]) assert.ok(words[`report.kind.${kind}`], kind);
  });
});
