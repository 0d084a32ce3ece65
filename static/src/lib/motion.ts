// Animations that show where something comes from. There are none if the user prefers reduced motion.

const still = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Slides new elements into their place.
 * @param side -1 = from the left, 1 = from the right
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
