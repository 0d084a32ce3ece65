// The moment when the user returns to a tab. What it shows may be out of date.

/**
 * Calls `act` whenever the tab becomes visible or gets the focus.
 * @returns a function that stops it
 */
export function onTabVisible(act: () => void): () => void {
  const listener = () => document.visibilityState === "visible" && act();
  addEventListener("focus", listener);
  document.addEventListener("visibilitychange", listener);
  return () => {
    removeEventListener("focus", listener);
    document.removeEventListener("visibilitychange", listener);
  };
}
