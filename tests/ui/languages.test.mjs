// The words of the page in its two languages, without a browser. That no key is missing is held by the types.
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { describe, test } from "node:test";

const FOLDER = new URL("../../static/src/lib/strings/", import.meta.url);
const load = async (/** @type {string} */ file) => (await import(new URL(file, FOLDER).href)).default;
const names = (await readdir(FOLDER)).filter((file) => /^en.*\.ts$/.test(file));

/** @type {[string, string, string][]} */
const pairs = [];
const chinese = await load("zh.ts");
for (const name of names) {
  const english = await load(name);
  for (const [key, text] of Object.entries(english)) pairs.push([key, text, chinese[key]]);
}

/** What is filled in; of two forms, what either has. Findings are always told with their count, which a language may leave out. @param {string} text @param {string} key */
const placesOf = (text, key) => places(text).filter((name) => name !== "count" || !key.startsWith("finding."));
/** @param {string} text */
const places = (text) => [...new Set([...text.matchAll(/(?<!\{)\{(\w+)\}/g)].map(([, name]) => name))].sort();
const isChinese = (/** @type {string} */ text) => /[\u3400-\u9fff]/.test(text);
/** What is written alike in both: names, signs, code. */
const ALIKE = /^[^a-z]*$|^(?:[\w.+-]*[A-Z/_.\d`{}][\w.+-]*|\{\w+\}|[^\w]|(?:px|ms|s|of|or))+$/;

describe("the languages of the page", () => {
  test("every text is there in both, with the same places to fill in", () => {
    assert.ok(pairs.length > 1_000, `${pairs.length} texts`);
    const wrong = pairs.filter(
      ([key, english, other]) =>
        !english.trim() || !other?.trim() || placesOf(english, key).join() !== placesOf(other, key).join(),
    );
    assert.deepEqual(wrong, []);
  });

  test("none is in the other language", () => {
    // A switch is written in the language that it leads to.
    const plain = pairs.filter(([key]) => key !== "command.language");
    assert.deepEqual(
      plain.filter(([, english]) => isChinese(english.replace(/中文/g, ""))),
      [],
    );
    const left = plain.filter(([, , other]) => !isChinese(other) && !ALIKE.test(other));
    assert.deepEqual(
      left.map(([key, , other]) => `${key}: ${other}`),
      [],
    );
  });

  test("a counted text has the forms that its language has: two in English, one in Chinese", () => {
    const forms = (/** @type {string} */ text) => text.split("|").length;
    assert.deepEqual(
      pairs.filter(([, english, other]) => forms(english) > 2 || forms(other) > 1),
      [],
    );
    // Nobody reads "1 messages": a number before a word in English has both forms.
    const counted = pairs.filter(
      ([key, english]) => /\{n\} [a-z]+s\b/.test(english) && forms(english) === 1 && !key.endsWith(".several"),
    );
    assert.deepEqual(
      counted.map(([key, english]) => `${key}: ${english}`),
      [],
    );
  });
});
