// The page's words. English is always here, other languages load when chosen; a key missing in one is a type error.
import { signal } from "../../vendor/preact.js";
import en from "./strings/en.js";

/** @typedef {import("./strings/keys.d.ts").Key} Key */
/** @typedef {"en" | "zh"} Locale */

export const LOCALES = /** @type {const} */ ({ en: "English", zh: "中文" });

/** The language on screen. Reading it in a view makes the view follow the switch. */
export const locale = signal(/** @type {Locale} */ ("en"));

const english = /** @type {Record<Key, string>} */ ({ ...en });

/** Adds the words of what is loaded after the first page. @param {Partial<Record<Key, string>>} more */
export const addEnglish = (more) => Object.assign(english, more);

let words = english;

/** What the server says, by code, in a language that the server does not speak. @type {Record<string, string>} */
let servers = {};

/** How sentences of the server are built, and the same in a language that it does not speak. @type {[RegExp, string | ((...found: string[]) => string)][]} */
let sentences = [];

/** @param {Locale} next */
export async function setLocale(next) {
  ({ default: words, servers, sentences } = next === "zh" ? await import("./strings/zh.js") : { default: english, servers: {}, sentences: [] });
  locale.value = next;
  document.documentElement.lang = next === "zh" ? "zh-CN" : "en";
}

/** @param {readonly string[]} wanted languages in the reader's order @returns {Locale} */
export function chooseLocale(wanted) {
  const first = wanted.find((tag) => /^(zh|en)\b/i.test(tag));
  return first && /^zh\b/i.test(first) ? "zh" : "en";
}

/**
 * The text of a key. `{name}` is filled from `vars`, `{{name}}` is a macro and stays; "one|many" picks a form by `vars.n`.
 * @param {Key} key
 * @param {Record<string, string | number>} [vars]
 */
export function t(key, vars = {}) {
  const language = locale.value;
  // Asked for before it has come: whoever asks has to bring it (`addEnglish`).
  if (!(key in words)) console.error(`no words for ${key}`);
  const [one = key, many] = (words[key] ?? "").split("|");
  const form = many && new Intl.PluralRules(language).select(Number(vars["n"])) !== "one" ? many : one;
  return form.replace(/(?<!\{)\{(\w+)\}/g, (_, name) => String(vars[name] ?? ""));
}

/** The text of a key that the server's own words may lead to, or "" where there is none. @param {string} key @param {Parameters<typeof t>[1]} [vars] */
export function wordFor(key, vars) {
  void locale.value;
  return key in words ? t(/** @type {Key} */ (key), vars) : (servers[key] ?? "");
}

/** A sentence of the server about the world, in the reader's language where the page knows how it is built. @param {string} sentence */
export function said(sentence) {
  void locale.value;
  const found = sentences.find(([pattern]) => pattern.test(sentence));
  return found ? sentence.replace(found[0], /** @type {string} */ (found[1])) : sentence;
}

/** Keeps what is made for each language: to make a format takes as long as to use it a hundred times. @template T @param {(language: Locale) => T} make */
function perLanguage(make) {
  /** @type {Map<Locale, T>} */
  const made = new Map();
  return () => made.get(locale.value) ?? /** @type {T} */ (made.set(locale.peek(), make(locale.peek())).get(locale.peek()));
}

const clocks = perLanguage((language) => new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }));
const moments = perLanguage((language) => new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }));
const distances = perLanguage((language) => new Intl.RelativeTimeFormat(language, { numeric: "auto" }));

/** @param {string} iso @returns {string} HH:mm */
export const clock = (iso) => clocks().format(new Date(iso));

/** @param {string} iso the full moment, for titles and the library */
export const moment = (iso) => moments().format(new Date(iso));

const STEPS = /** @type {const} */ ([
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
]);

/** "3 hours ago" @param {string} iso @param {number} now milliseconds */
export function ago(iso, now) {
  const away = new Date(iso).getTime() - now;
  const [unit, size] = STEPS.find(([, step]) => Math.abs(away) >= step) ?? ["minute", 60_000];
  return distances().format(Math.round(away / size), unit);
}
