// How a device is paired, as far as that is reading: what somebody typed, and squares that a camera reads.

/** The code in what somebody typed or pasted: a whole link, or the code alone. */
export const codeOf = (typed: string) => typed.slice(typed.lastIndexOf("#") + 1).replaceAll(/[\s-]/g, "");

/** A code that people type, in groups. */
export const spelledCode = (code: string) => code.toUpperCase().replaceAll(/(.{4})(?=.)/g, "$1-");

/** What is typed of a link: all before its path. */
export const siteOf = (address: string) => new URL(address).origin;

/** Light squares that every camera needs around a code. */
export const QUIET = 4;

/**
 * The dark squares of a QR code as one path: a rectangle for each run in a row.
 * @param modules its rows, 1 for a dark square
 */
export const darkPath = (modules: string[]) =>
  modules
    .map((row, y) =>
      [...row.matchAll(/1+/g)]
        .map(({ index, 0: run }) => `M${index + QUIET} ${y + QUIET}h${run.length}v1h-${run.length}z`)
        .join(""),
    )
    .join("");

/** Minutes and seconds. */
export const minutes = (s: number) => `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
