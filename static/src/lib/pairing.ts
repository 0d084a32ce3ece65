// Pure helpers for pairing a device: codes, links and QR codes.

/** Returns the code in a typed or pasted text: a whole link, or the code alone. */
export const codeOf = (typed: string) => typed.slice(typed.lastIndexOf("#") + 1).replaceAll(/[\s-]/g, "");

/** Returns a code for typing, in groups of four. */
export const groupedCode = (code: string) => code.toUpperCase().replaceAll(/(.{4})(?=.)/g, "$1-");

/** Returns the part of a link before its path, which users have to type. */
export const siteOf = (address: string) => new URL(address).origin;

/** Width of the quiet zone around a QR code, in modules. */
export const QUIET_ZONE = 4;

/**
 * Returns the dark modules of a QR code as one SVG path: a rectangle for each run in a row.
 * @param modules its rows, 1 for a dark module
 */
export const darkPath = (modules: string[]) =>
  modules
    .map((row, y) =>
      [...row.matchAll(/1+/g)]
        .map(({ index, 0: run }) => `M${index + QUIET_ZONE} ${y + QUIET_ZONE}h${run.length}v1h-${run.length}z`)
        .join(""),
    )
    .join("");

/** Formats seconds as minutes and seconds. */
export const minutes = (s: number) => `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
