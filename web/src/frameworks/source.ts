// What a component shows of something that is open only while components show it.

import { inMicrotask } from "../util/event-loop.ts";

export interface Source<S> {
  /** What the server and the first render in the browser show. */
  readonly initial: S;
  readonly subscribe: (listener: () => void) => () => void;
  /** Returns the same object until it changes. */
  readonly getSnapshot: () => S;
}

/**
 * Returns a source that calls `open` when it gets its first listener, and calls the function that
 * `open` returned when it has lost its last one. `show` sets the snapshot. Creating a source has no
 * effect, so a component may do so in a render that is discarded.
 */
export function createSource<S>(
  initial: S,
  open: (show: (snapshot: S) => void) => () => void,
): Source<S> {
  const listeners = new Set<{ onChange(): void }>();
  let snapshot = initial;
  let close: (() => void) | undefined;

  // If a listener throws, the others still run, and the error is an unhandled rejection.
  const show = (next: S) => {
    snapshot = next;
    for (const listener of [...listeners]) {
      try {
        if (listeners.has(listener)) listener.onChange();
      } catch (error) {
        void Promise.reject(error);
      }
    }
  };

  // Not at once: React's StrictMode unsubscribes each component and subscribes it again.
  const closeIfUnused = () => {
    if (listeners.size > 0) return;
    close?.();
    close = undefined;
  };

  return {
    initial,
    getSnapshot: () => snapshot,
    subscribe(onChange) {
      const listener = { onChange };
      listeners.add(listener);
      close ??= open(show);
      return () => {
        listeners.delete(listener);
        inMicrotask(closeIfUnused);
      };
    },
  };
}
