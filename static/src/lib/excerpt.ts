// Excerpts of texts.

/**
 * Returns the start of a text, with an ellipsis if it goes on. The server's excerpts are longer than `most`, so a cut
 * text always gets its ellipsis.
 */
export function excerpt(text: string, most = 120) {
  const letters = [...text.trim()];
  if (letters.length <= most) return letters.join("");
  // A word that is cut off is removed, in scripts with spaces between words.
  return `${letters
    .slice(0, most)
    .join("")
    .replace(/\s+\S{0,24}$/, "")}…`;
}
