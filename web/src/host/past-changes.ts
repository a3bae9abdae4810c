// Reads changes that were published before from the log, for readers of the change feed. The engine
// decodes them (core/rpc/past_changes_reader.h). It says which segments it needs; this code reads
// them from the storage.

import type { LogStorage } from "../storage/log-storage.ts";
import type { requestKind, responseKind } from "../util/engine-message-kinds.ts";
import type { Engine, EngineStats, PartsNeeded } from "../wasm/engine.ts";
import type { PartLoader } from "./part-loader.ts";

// What a page has loaded anyway (StoreHandle.import() explains why it is passed).
export interface FeedRequestEnvironment {
  readonly PartsNeeded: typeof PartsNeeded;
  readonly requestKind: typeof requestKind;
  readonly responseKind: typeof responseKind;
  nextRetryMs(previousMs: number): number;
  mayRetry(error: unknown): boolean; // whether a read that failed with this error may be repeated
}

export interface PastChangesOptions {
  environment: FeedRequestEnvironment;
  engine: Pick<Engine, "stats">;
  storage: Pick<LogStorage, "readSegments"> | undefined; // undefined: stored segments are not kept
  parts: Pick<PartLoader, "loadAndRetry">; // loads the deferred module
  listen(request: Uint8Array): Uint8Array | PartsNeeded;
  clientId: readonly number[]; // as words
  isCurrent(): boolean; // whether the client still waits for a response
}

interface Segment {
  readonly sequence: number;
  readonly bytes: Uint8Array;
}

const headerBytes = 16;
const flagsAt = headerBytes + 16; // in a request
const forgetFlag = 2; // (core/rpc/LAYOUT.md)
const segmentsNeeded = 2; // a state of past changes (core/rpc/LAYOUT.md)
const isTruncated = 3; // the same
const commitBits = 40n; // core/model/feed_position.h
// Of the segments of one request, unless a single one is larger. IndexedDB may read more at once
// (idbfs-log-reader.ts), in vain.
const bytesMax = 768 * 1024;
// The same, if another feed reads the log elsewhere. The engine keeps the segments of one of them,
// so most of what a response does not use is read again.
const sharedBytesMax = 256 * 1024;
const attemptsMax = 3; // to get a segment that the storage does not have, it says
const readsMax = 8; // of one segment, while the storage fails; they take about two minutes
const keptMs = 10_000; // how long segments are kept that were read ahead, or in part

// What each engine is likely to need next. It is read while the engine decodes the segments before,
// and not again for a feed that reads the log elsewhere.
const segmentsAhead = new WeakMap<object, { first: number; reading: Promise<Segment[]> }>();

// A timer for each engine that keeps segments.
const keptTimers = new WeakMap<object, ReturnType<typeof setTimeout>>();

// Calls `respond` with the engine's response, a view, unless the client waits no more. Rejects with
// the error of the storage.
export async function readPastChanges(
  request: Uint8Array,
  options: PastChangesOptions,
  respond: (response: Uint8Array) => void,
): Promise<void> {
  const { engine, storage, parts, listen, clientId, isCurrent, environment } = options;
  const { PartsNeeded, responseKind } = environment;
  // Returns the first segment that the engine needs; 0: it has answered.
  const segmentNeeded = (response: Uint8Array): number => {
    const view = new DataView(response.buffer, response.byteOffset);
    const isNeeded =
      response[0] === responseKind.pastChanges &&
      view.getUint32(headerBytes, true) === segmentsNeeded;
    return isNeeded ? Number(view.getBigUint64(headerBytes + 8, true)) : 0;
  };
  let segments: Segment[] = [];
  let first = 0; // the segment at which reading began last
  let needed = 0;
  const answer = (): PartsNeeded | undefined => {
    needed = 0;
    if (!isCurrent()) return undefined;
    const response = listen(withSegments(request, segments, clientId));
    if (response instanceof PartsNeeded) return response;
    needed = segmentNeeded(response);
    if (needed !== 0 || !isCurrent()) return undefined;
    forgetLater(request, options);
    respond(response);
    return undefined;
  };
  let waitMs = 0;
  for (let attempts = 0; attempts < attemptsMax; ) {
    const missing = answer();
    if (missing !== undefined) await parts.loadAndRetry<undefined>(missing, answer);
    if (needed === 0) return;
    if (storage === undefined) {
      if (isCurrent()) respond(truncated(engine.stats(), responseKind.pastChanges));
      return;
    }
    // A checkpoint may have removed the segment while the read waited. The engine knows that now.
    if (needed <= first) {
      attempts += 1;
      waitMs = environment.nextRetryMs(waitMs);
      await pause(waitMs);
    }
    first = needed;
    segments = await nextSegments(first, storage, options);
  }
  // The segments are missing, so no reader can have what follows. If the store is opened only to be
  // read, another process may have removed them.
  if (isCurrent()) respond(truncated(engine.stats(), responseKind.pastChanges));
}

// Makes the engine forget the segments that it keeps, if no other request follows soon.
function forgetLater(request: Uint8Array, options: PastChangesOptions): void {
  const { engine, listen, clientId, isCurrent } = options;
  clearTimeout(keptTimers.get(engine));
  const timer = setTimeout(() => {
    const message = withSegments(request, [], clientId);
    new DataView(message.buffer).setUint32(flagsAt, forgetFlag, true);
    try {
      if (isCurrent()) listen(message);
    } catch {
      // the engine broke
    }
  }, keptMs);
  (timer as { unref?(): void }).unref?.(); // it must not keep a Node process alive
  keptTimers.set(engine, timer);
}

// Resolves to segments from `first` on, and begins to read those after them, if there may be any.
async function nextSegments(
  first: number,
  storage: Pick<LogStorage, "readSegments">,
  { engine, environment, isCurrent }: PastChangesOptions,
): Promise<Segment[]> {
  const ahead = segmentsAhead.get(engine);
  if (ahead !== undefined && ahead.first !== first)
    return readSegmentsWithRetries(storage, first, sharedBytesMax, environment, isCurrent);
  segmentsAhead.delete(engine);
  let segments = (await ahead?.reading) ?? [];
  if (segments.length === 0)
    segments = await readSegmentsWithRetries(storage, first, bytesMax, environment, isCurrent);
  const last = segments.at(-1);
  if (last !== undefined && sizeOf(segments) >= bytesMax)
    readAhead(engine, storage, last.sequence + 1);
  return segments;
}

function readAhead(engine: object, storage: Pick<LogStorage, "readSegments">, first: number): void {
  const reading = readSegments(storage, first, bytesMax).catch(() => []); // repeated when needed
  segmentsAhead.set(engine, { first, reading });
  // The client may have gone. The timer does not refer to the segments: they may be used earlier.
  void pause(keptMs).then(() => {
    if (segmentsAhead.get(engine)?.first === first) segmentsAhead.delete(engine);
  });
}

// Repeats the read if the storage fails for a while, as a broken connection does.
async function readSegmentsWithRetries(
  storage: Pick<LogStorage, "readSegments">,
  first: number,
  bytesWanted: number,
  { nextRetryMs, mayRetry }: FeedRequestEnvironment,
  isCurrent: () => boolean,
): Promise<Segment[]> {
  let waitMs = 0;
  for (let reads = 1; ; ++reads) {
    try {
      return await readSegments(storage, first, bytesWanted);
    } catch (error) {
      if (reads >= readsMax || !mayRetry(error) || !isCurrent()) throw error;
    }
    waitMs = nextRetryMs(waitMs);
    await pause(waitMs);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    (timer as { unref?(): void }).unref?.(); // it must not keep a Node process alive
  });
}

async function readSegments(
  storage: Pick<LogStorage, "readSegments">,
  first: number,
  bytesWanted: number,
): Promise<Segment[]> {
  const segments: Segment[] = [];
  let size = 0;
  await storage.readSegments(first, (sequence, bytes) => {
    if (bytes === undefined) return false;
    segments.push({ sequence, bytes });
    size += bytes.length;
    return size < bytesWanted;
  });
  return segments;
}

const sizeOf = (segments: readonly Segment[]) =>
  segments.reduce((size, { bytes }) => size + bytes.length, 0);

// Returns the request with the words and the content that the host adds (core/rpc/LAYOUT.md).
function withSegments(
  request: Uint8Array,
  segments: readonly Segment[],
  clientId: readonly number[],
): Uint8Array {
  const [kind = 0, textAt = 0, textBytes = 0] = new Uint32Array(
    request.slice(0, headerBytes).buffer,
  );
  const words = [...new Uint32Array(request.slice(headerBytes, textAt).buffer)];
  words.push(segments.length, ...clientId);
  for (const { sequence, bytes } of segments) {
    if (words.length % 2 !== 0) words.push(0); // the header takes a multiple of 8
    words.push(sequence % 2 ** 32, Math.floor(sequence / 2 ** 32), bytes.length);
  }
  const text = request.subarray(textAt, textAt + textBytes);
  const contents = sizeOf(segments);
  const end = headerBytes + 4 * words.length;
  const message = new Uint8Array(end + text.length + contents);
  const header = Uint32Array.of(kind, end, textBytes, contents);
  message.set(new Uint8Array(Uint32Array.of(...header, ...words).buffer));
  message.set(text, end);
  let at = end + text.length;
  for (const { bytes } of segments) {
    message.set(bytes, at);
    at += bytes.length;
  }
  return message;
}

// Returns the engine's response for changes that are not there, nor those before the next commit.
function truncated(
  { epoch, lastCommit }: Pick<EngineStats, "epoch" | "lastCommit">,
  kind: number,
): Uint8Array {
  const response = new Uint8Array(headerBytes + 5 * 4);
  const view = new DataView(response.buffer);
  view.setUint32(0, kind | (1 << 8), true);
  view.setUint32(4, response.length, true);
  view.setUint32(headerBytes, isTruncated, true);
  const sequence = (BigInt(epoch) << commitBits) | BigInt(lastCommit + 1);
  view.setBigUint64(headerBytes + 8, sequence, true);
  return response;
}
