// Movement that explains where something comes from. Who wants less of it gets none.

const still = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Lets what has come slide into its place.
 * @param side from the left or from the right
 */
export function slideIn(elements: Element[], side: -1 | 1) {
  if (still.matches) return;
  const from = { opacity: 0, transform: `translateX(${side * 1.5}rem)` };
  for (const element of elements)
    element.animate([from, { opacity: 1, transform: "none" }], {
      duration: 220,
      easing: "cubic-bezier(0.2, 0.7, 0.2, 1)",
    });
}
