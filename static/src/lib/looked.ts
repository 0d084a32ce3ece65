// The moment in which a tab is looked at again: what it shows may be old by then.

/** @returns ends it */
export function whenLookedAt(act: () => void): () => void {
  const hear = () => document.visibilityState === "visible" && act();
  addEventListener("focus", hear);
  document.addEventListener("visibilitychange", hear);
  return () => {
    removeEventListener("focus", hear);
    document.removeEventListener("visibilitychange", hear);
  };
}
