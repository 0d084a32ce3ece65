// The page's words. English is always here, other languages load when chosen; a key missing in one is a type error.
import { signal } from "../../vendor/preact.js";
import en from "./strings/en.ts";
import type { Key } from "./strings/keys.d.ts";
export type { Key };

export type Locale = "en" | "zh";

export const LOCALES = { en: "English", zh: "中文" } as const;

/** The language on screen. Reading it in a view makes the view follow the switch. */
export const locale = signal<Locale>("en");

const english = { ...en } as Record<Key, string>;

/** Adds the words of what is loaded after the first page. */
export const addEnglish = (more: Partial<Record<Key, string>>) => Object.assign(english, more);

let words = english;

/** What the server says, by code, in a language that the server does not speak. */
let servers: Record<string, string> = {};

export async function setLocale(next: Locale) {
  ({ default: words, servers } = next === "zh" ? await import("./strings/zh.ts") : { default: english, servers: {} });
  locale.value = next;
  document.documentElement.lang = next === "zh" ? "zh-CN" : "en";
}

/** @param wanted languages in the reader's order */
export function chooseLocale(wanted: readonly string[]): Locale {
  const first = wanted.find((tag) => /^(zh|en)\b/i.test(tag));
  return first && /^zh\b/i.test(first) ? "zh" : "en";
}

/**
 * The text of a key. `{name}` is filled from `vars`, `{{name}}` is a macro and stays; "one|many" picks a form by
 * `vars.n`.
 */
export function t(key: Key, vars: Record<string, string | number> = {}) {
  const language = locale.value;
  // Asked for before it has come: whoever asks has to bring it (`addEnglish`).
  if (!(key in words)) console.error(`no words for ${key}`);
  const [one = key, many] = (words[key] ?? "").split("|");
  const form = many && new Intl.PluralRules(language).select(Number(vars.n)) !== "one" ? many : one;
  return form.replace(/(?<!\{)\{(\w+)\}/g, (_, name) => String(vars[name] ?? ""));
}

/** The text of a key that the server's own words may lead to, or "" where there is none. */
export function wordFor(key: string, vars?: Parameters<typeof t>[1]) {
  void locale.value;
  return key in words ? t(key as Key, vars) : (servers[key] ?? "");
}

/** The names that the text of a key is filled with. */
export const placesOf = (key: string): string[] =>
  [...(words[key as Key] ?? "").matchAll(/(?<!\{)\{(\w+)\}/g)].map(([, name = ""]) => name);

/** Keeps what is made for each language: to make a format takes as long as to use it a hundred times. */
function perLanguage<T>(make: (language: Locale) => T) {
  const made: Map<Locale, T> = new Map();
  return () => made.get(locale.value) ?? (made.set(locale.peek(), make(locale.peek())).get(locale.peek()) as T);
}

const clocks = perLanguage(
  (language) => new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }),
);
const moments = perLanguage(
  (language) => new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }),
);
const distances = perLanguage((language) => new Intl.RelativeTimeFormat(language, { numeric: "auto" }));

/** @returns HH:mm */
export const clock = (iso: string): string => clocks().format(new Date(iso));

/** @param iso the full moment, for titles and the library */
export const moment = (iso: string) => moments().format(new Date(iso));

const STEPS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/**
 * "3 hours ago"
 * @param now milliseconds
 */
export function ago(iso: string, now: number) {
  const away = new Date(iso).getTime() - now;
  const [unit, size] = STEPS.find(([, step]) => Math.abs(away) >= step) ?? ["minute", 60_000];
  return distances().format(Math.round(away / size), unit);
}
