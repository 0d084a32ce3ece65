// Work that is requested more often than it must run.

/**
 * Runs work in rounds, one after the other. Each request gets a round that begins after it. All requests before that
 * start share the round. Only the round that has not begun is remembered, so no request can get a round that already
 * runs.
 */
export function coalesce(work: () => Promise<void>) {
  /** The end of the round that began last. */
  let started = Promise.resolve();
  let next: Promise<void> | null = null;
  const begin = () => {
    next = null;
    return (started = work());
  };
  return {
    request: () => (next ??= started.then(begin, begin)),
    /** Waits until all requested work is done. */
    whenDone: () => next ?? started,
  };
}
