// The live query of a component that suspends. React forgets what a component has created before it
// was mounted, so these queries are kept by their keys.

import type { LiveSnapshot } from "../types.ts";
import { type LiveInput, liveSource, type OpenLive, openedSource } from "./live-source.ts";
import type { Source } from "./source.ts";

interface SuspenseSource<R> extends Source<LiveSnapshot<R>> {
  readonly ready: Promise<unknown>; // resolves when the status is no longer "loading"
}

// How long a query that has a result waits for its first component, which may have been discarded.
const unusedMs = 5000;

const sources = new Map<string, SuspenseSource<unknown>>();
const ids = new WeakMap<object, number>();
let lastId = 0;

export function suspenseSource<R>(input: LiveInput<R>, key: readonly unknown[]): SuspenseSource<R> {
  if (typeof input !== "function")
    return { ...liveSource(input), ready: input.ready.catch(() => {}) };
  const text = JSON.stringify(key.map(textOf));
  const known = sources.get(text) as SuspenseSource<R> | undefined;
  if (known !== undefined) return known;
  const source = openSource(input, () => {
    if (sources.get(text) === source) sources.delete(text);
  });
  sources.set(text, source);
  return source;
}

function openSource<R>(open: OpenLive<R>, onClose: () => void): SuspenseSource<R> {
  const source = openedSource(open, onClose);
  let release = () => {};
  const ready = new Promise<void>((resolve) => {
    release = source.subscribe(resolve);
  });
  void ready.then(() => setTimeout(release, unusedMs));
  return {
    ...source,
    ready,
    subscribe(listener) {
      const unsubscribe = source.subscribe(listener);
      release();
      return unsubscribe;
    },
  };
}

function textOf(part: unknown): string {
  if (Object(part) !== part) return `${typeof part} ${String(part)}`;
  const id = ids.get(part as object) ?? ++lastId;
  ids.set(part as object, id);
  return `#${id}`;
}
