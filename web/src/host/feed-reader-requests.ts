// Requests about durable readers of the change feed (core/rpc/LAYOUT.md). A checkpoint stores the
// readers, so one is written before the response if they have changed: a crash then cannot lose the
// change. Otherwise the host makes sure that it still is the owner of the log: another owner, of
// which it does not know yet, may have stored an acknowledgement.

import type { LogStorage } from "../storage/log-storage.ts";
import type { Engine, PartsNeeded } from "../wasm/engine.ts";
import type { PartLoader } from "./part-loader.ts";
import type { FeedRequestEnvironment } from "./past-changes.ts";

export interface FeedReaderRequestOptions {
  environment: FeedRequestEnvironment;
  parts: Pick<PartLoader, "loadAndRetry">; // loads the deferred module
  listen(request: Uint8Array): Uint8Array | PartsNeeded;
  storeReaders(): Promise<void>; // writes a checkpoint
  isCurrent(): boolean; // whether the client still waits for a response
  engine: Pick<Engine, "stats">;
  storage: Pick<LogStorage, "readSegments"> | undefined; // undefined: stored segments are not kept
}

const isStoredAt = 20; // where a response says whether the readers are stored

interface Storing {
  running?: Promise<void>;
  waiting?: Promise<void>; // begins when `running` has ended
}
const storings = new WeakMap<object, Storing>(); // by engine

// One checkpoint serves all requests that came before it began.
function storeOnceForAll({ engine, storeReaders }: FeedReaderRequestOptions): Promise<void> {
  const storing = storings.get(engine) ?? {};
  storings.set(engine, storing);
  storing.waiting ??= (async () => {
    await storing.running?.catch(() => {});
    const { waiting } = storing;
    if (waiting !== undefined) storing.running = waiting;
    delete storing.waiting;
    await storeReaders();
  })();
  return storing.waiting;
}

// Calls `respond` with the engine's response, unless the client waits no more.
export async function answerFeedReader(
  request: Uint8Array,
  options: FeedReaderRequestOptions,
  respond: (response: Uint8Array) => void,
): Promise<void> {
  const { environment, parts, listen, engine, storage, isCurrent } = options;
  if (!isCurrent()) return;
  const { PartsNeeded, responseKind } = environment;
  const call = () => {
    const response = listen(request);
    return response instanceof PartsNeeded ? response : response.slice();
  };
  const first = call();
  const response = first instanceof PartsNeeded ? await parts.loadAndRetry(first, call) : first;
  const isChanged = response[0] === responseKind.feedReader && response[isStoredAt] === 0;
  if (isChanged) await storeOnceForAll(options);
  // Fails if another owner has stored a manifest.
  else await storage?.readSegments(engine.stats().nextSequence, () => false);
  if (isCurrent()) respond(response);
}
