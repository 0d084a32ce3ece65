// Tests of the page's texts in both languages, without a browser. The type check finds missing keys.
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { describe, test } from "node:test";
import { filledText } from "../../static/src/lib/coded-message.ts";

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

/**
 * Returns the placeholders of a text, of both forms if it has two. Findings always have a count, which a text may leave out.
 * @param {string} text @param {string} key
 */
const placesOf = (text, key) => places(text).filter((name) => name !== "count" || !key.startsWith("finding."));
/** @param {string} text */
const places = (text) => [...new Set([...text.matchAll(/(?<!\{)\{(\w+)\}/g)].map(([, name]) => name))].sort();
const isChinese = (/** @type {string} */ text) => /[\u3400-\u9fff]/.test(text);
/** Returns the parts that are the same in both languages: names, signs, code. */
const ALIKE = /^[^a-z]*$|^(?:[\w.+-]*[A-Z/_.\d`{}][\w.+-]*|\{\w+\}|[^\w]|(?:px|ms|s|of|or))+$/;

describe("the languages of the page", () => {
  test("every text exists in both languages with the same placeholders", () => {
    assert.ok(pairs.length > 1_000, `${pairs.length} texts`);
    const wrong = pairs.filter(
      ([key, english, other]) =>
        !english.trim() || !other?.trim() || placesOf(english, key).join() !== placesOf(other, key).join(),
    );
    assert.deepEqual(wrong, []);
  });

  test("no key stands in two files, where the one that is loaded last would win", () => {
    const keys = pairs.map(([key]) => key);
    assert.deepEqual(
      keys.filter((key, at) => keys.indexOf(key) !== at),
      [],
    );
  });

  test("no text is in the wrong language", () => {
    // The language switch is written in the language that it selects.
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

  test("a counted text has the forms of its language: two in English, one in Chinese", () => {
    const forms = (/** @type {string} */ text) => text.split("|").length;
    assert.deepEqual(
      pairs.filter(([, english, other]) => forms(english) > 2 || forms(other) > 1),
      [],
    );
    // In English, a number before a word needs both forms.
    const counted = pairs.filter(
      ([key, english]) =>
        /\{(?:n|count|most|failures|limit)\} (?:[a-z]+s\b|of (?:these|\{\w+\} [a-z]+s\b))/.test(english) &&
        forms(english) === 1 &&
        !key.endsWith(".several"),
    );
    assert.deepEqual(
      counted.map(([key, english]) => `${key}: ${english}`),
      [],
    );
  });

  test("the first number of a report chooses its form", () => {
    assert.equal(filledText("problem.too_deep", { most: 1 }), "the state may have at most 1 level");
    assert.equal(filledText("problem.too_deep", { most: 2 }), "the state may have at most 2 levels");
    assert.match(
      String(filledText("problem.text_too_short", { count: 1, least: 2 })),
      /1 character and needs at least 2/,
    );
    assert.match(String(filledText("problem.text_too_short", { count: 0, least: 1 })), /0 characters and/);
  });
});
