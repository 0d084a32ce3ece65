// Formats sizes, rates and durations for the user.
import { locale } from "./i18n.ts";

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte"];

/** Formats bytes: "12 MB". */
export function bytes(n: number) {
  const step = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, n)) / 3)));
  return spelled(n / 1000 ** step, UNITS[step] as string, step > 1 ? 1 : 0);
}

/**
 * Formats a rate: "4 MB/s".
 * @param n bytes per second
 */
export function rate(n: number) {
  const isSmall = n < 1e6;
  return spelled(n / (isSmall ? 1e3 : 1e6), isSmall ? "kilobyte-per-second" : "megabyte-per-second", isSmall ? 0 : 1);
}

/** Formats a duration: "3 min". */
export function span(seconds: number) {
  if (seconds < 90) return spelled(Math.max(1, seconds), "second");
  return seconds < 5400 ? spelled(seconds / 60, "minute") : spelled(seconds / 3600, "hour", 1);
}

export const number = (n: number) => new Intl.NumberFormat(locale.value).format(n);

const spelled = (n: number, unit: string, digits: number = 0) =>
  new Intl.NumberFormat(locale.value, {
    style: "unit",
    unit,
    unitDisplay: unit === "byte" ? "long" : "short",
    maximumFractionDigits: digits,
  }).format(n);
