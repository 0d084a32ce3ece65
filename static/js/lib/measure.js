// How much and how long, for readers.
import { locale } from "./i18n.js";

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte"];

/** "12 MB" @param {number} n */
export function bytes(n) {
  const step = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, n)) / 3)));
  return spelled(n / 1000 ** step, /** @type {string} */ (UNITS[step]), step > 1 ? 1 : 0);
}

/** "4 MB/s" @param {number} n bytes in a second */
export function rate(n) {
  const isSmall = n < 1e6;
  return spelled(n / (isSmall ? 1e3 : 1e6), isSmall ? "kilobyte-per-second" : "megabyte-per-second", isSmall ? 0 : 1);
}

/** "3 min" @param {number} seconds */
export function span(seconds) {
  if (seconds < 90) return spelled(Math.max(1, seconds), "second");
  return seconds < 5400 ? spelled(seconds / 60, "minute") : spelled(seconds / 3600, "hour", 1);
}

/** @param {number} n */
export const number = (n) => new Intl.NumberFormat(locale.value).format(n);

/** @param {number} n @param {string} unit @param {number} [digits] */
const spelled = (n, unit, digits = 0) => new Intl.NumberFormat(locale.value, { style: "unit", unit, unitDisplay: unit === "byte" ? "long" : "short", maximumFractionDigits: digits }).format(n);
