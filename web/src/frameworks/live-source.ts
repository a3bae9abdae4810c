// The live query of a component.

import type { LiveQuery, LiveSnapshot } from "../types.ts";
import { createSource, type Source } from "./source.ts";

/**
 * A live query, or a function that opens one. A query that the function opens is closed when it is
 * no longer shown; a query that is passed stays open. Without a query, for example until a store is
 * open, the status stays "loading".
 */
export type LiveInput<R> = LiveQuery<R> | OpenLive<R>;
export type OpenLive<R> = () => LiveQuery<R> | null | undefined;

/** A table, or undefined: until a store is open. */
export type EntityTable<R> =
  | { liveEntity(partitionKey: string, rowKey: string): LiveQuery<R> }
  | null
  | undefined;

export const loading: LiveSnapshot<never> = { data: undefined, status: "loading", sequence: 0n };

export function liveSource<R>(input: LiveInput<R>): Source<LiveSnapshot<R>> {
  if (typeof input === "function") return openedSource(input);
  return {
    initial: loading,
    subscribe: (listener) => input.subscribe(listener),
    getSnapshot: () => input.getSnapshot(),
  };
}

/** `onClose` is called after the query was closed. */
export function openedSource<R>(open: OpenLive<R>, onClose = () => {}): Source<LiveSnapshot<R>> {
  return createSource<LiveSnapshot<R>>(loading, (show) => {
    let live: LiveQuery<R> | null | undefined;
    let stop: (() => void) | undefined;
    // A source that is opened again shows its last result until it has a new one.
    const update = () => {
      const snapshot = live?.getSnapshot() ?? loading;
      if (snapshot.status !== "loading") show(snapshot);
    };
    try {
      live = open();
      stop = live?.subscribe(update);
      update();
    } catch (error) {
      show({ ...loading, status: "error", error: error as Error });
    }
    return () => {
      stop?.(); // it would show that the query was closed
      live?.close();
      onClose();
    };
  });
}
