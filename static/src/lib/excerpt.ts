// The beginnings of texts.

/**
 * How a text begins, with a sign where it goes on. The server's own excerpts are longer than `most`, so none ends
 * without one.
 */
export function excerpt(text: string, most = 120) {
  const letters = [...text.trim()];
  if (letters.length <= most) return letters.join("");
  // Half a word at the end is left out, where words are told apart at all.
  return `${letters
    .slice(0, most)
    .join("")
    .replace(/\s+\S{0,24}$/, "")}…`;
}
