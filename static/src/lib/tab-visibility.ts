// The moment when the user returns to a tab. What it shows may be out of date.

/**
 * Calls `act` whenever the tab becomes visible or gets the focus.
 * @returns a function that stops it
 */
export function onTabVisible(act: () => void): () => void {
  const hear = () => document.visibilityState === "visible" && act();
  addEventListener("focus", hear);
  document.addEventListener("visibilitychange", hear);
  return () => {
    removeEventListener("focus", hear);
    document.removeEventListener("visibilitychange", hear);
  };
}
