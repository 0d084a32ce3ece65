// Work that is asked for more often than it has to be done.

/**
 * Does some work in rounds, one after the other. Whoever asks gets a round that begins after they asked; all who ask
 * before it begins share it. The one thing that is remembered is the round that has not begun: there is no moment at
 * which an asking could be taken for one that is served already.
 */
export function inRounds(work: () => Promise<void>) {
  /** The end of the round that began last. */
  let begun = Promise.resolve();
  let next: Promise<void> | null = null;
  const begin = () => {
    next = null;
    return (begun = work());
  };
  return {
    ask: () => (next ??= begun.then(begin, begin)),
    /** Waits until all that was asked for is done. */
    ends: () => next ?? begun,
  };
}
