// The page's texts. English is always loaded, other languages when chosen. A key missing in one is a type error.
import { signal } from "../../vendor/preact.js";
import en from "./strings/en.ts";
import type { Key } from "./strings/keys.d.ts";
export type { Key };

export type Locale = "en" | "zh";

export const LOCALES = { en: "English", zh: "中文" } as const;

/** The current language. A view that reads it is drawn again when it changes. */
export const locale = signal<Locale>("en");

const english = { ...en } as Record<Key, string>;

/** Adds the English texts of a part that is loaded later. */
export const addEnglish = (more: Partial<Record<Key, string>>) => Object.assign(english, more);

let catalogues = english;

/** Texts of the server, by code, in languages that the server does not have. */
let servers: Record<string, string> = {};

export async function setLocale(next: Locale) {
  ({ default: catalogues, servers } =
    next === "zh" ? await import("./strings/zh.ts") : { default: english, servers: {} });
  locale.value = next;
  document.documentElement.lang = next === "zh" ? "zh-CN" : "en";
}

/**
 * Chooses a language.
 * @param wanted the browser's languages in the user's order
 */
export function chooseLocale(wanted: readonly string[]): Locale {
  const first = wanted.find((tag) => /^(zh|en)\b/i.test(tag));
  return first && /^zh\b/i.test(first) ? "zh" : "en";
}

/**
 * Returns the text of a key. `{name}` is filled from `vars`; `{{name}}` is a macro and stays. "one|many" chooses a form
 * by `vars.n`.
 */
export function t(key: Key, vars: Record<string, string | number> = {}) {
  const language = locale.value;
  // Whoever loads a part later must add its texts first (`addEnglish`).
  if (!(key in catalogues)) console.error(`no words for ${key}`);
  const [one = key, many] = (catalogues[key] ?? "").split("|");
  const form = many && new Intl.PluralRules(language).select(Number(vars.n)) !== "one" ? many : one;
  return form.replace(/(?<!\{)\{(\w+)\}/g, (_, name) => String(vars[name] ?? ""));
}

/** Returns the text of a key that comes from the server, or "" if there is none. */
export function optionalText(key: string, vars?: Parameters<typeof t>[1]) {
  void locale.value;
  return key in catalogues ? t(key as Key, vars) : (servers[key] ?? "");
}

/** Returns the names of the placeholders in a text. */
export const placeholdersOf = (key: string): string[] =>
  [...(catalogues[key as Key] ?? "").matchAll(/(?<!\{)\{(\w+)\}/g)].map(([, name = ""]) => name);

/** Caches one value per language. Making a format takes as long as using it a hundred times. */
function cachePerLanguage<T>(make: (language: Locale) => T) {
  const cache: Map<Locale, T> = new Map();
  return () => cache.get(locale.value) ?? (cache.set(locale.peek(), make(locale.peek())).get(locale.peek()) as T);
}

const clocks = cachePerLanguage(
  (language) => new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }),
);
const moments = cachePerLanguage(
  (language) => new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }),
);
const distances = cachePerLanguage((language) => new Intl.RelativeTimeFormat(language, { numeric: "auto" }));

/** Formats a time as HH:mm. */
export const clock = (iso: string): string => clocks().format(new Date(iso));

/** Formats date and time, for titles and the library. */
export const moment = (iso: string) => moments().format(new Date(iso));

const STEPS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/**
 * Formats a distance in time: "3 hours ago".
 * @param now in milliseconds
 */
export function ago(iso: string, now: number) {
  const away = new Date(iso).getTime() - now;
  const [unit, size] = STEPS.find(([, step]) => Math.abs(away) >= step) ?? ["minute", 60_000];
  return distances().format(Math.round(away / size), unit);
}
