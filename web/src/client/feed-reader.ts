// A durable reader of the change feed. The store keeps its position, and the log after it. At most
// one tab has the reader at a time: the one that holds its lock. Loaded with the first reader.

import type { StoreError } from "../errors.ts";
import type { Transport } from "../transport.ts";
import type { ChangeBatch, ChangesOptions, FeedReader, FeedReaderOptions } from "../types.ts";
import type { LiveConnection } from "./live-connection.ts";
import { checkFeedOptions, type OpenFeed, putLong } from "./live-feed.ts";

type Result = IteratorResult<ChangeBatch, undefined>;
type State = { code: number; acknowledged: bigint };

const open = 0; // operations, and states of responses (core/rpc/LAYOUT.md)
const acknowledge = 1;
const remove = 2;
const missing = 0;
const refused = 2;
const presentPosition = 2n ** 63n - 1n;
const nameBytesMax = 255; // core/log/manifest_codec.h
const done: Result = { done: true, value: undefined };

// Waits for the reader's lock. Rejects with AbortError, StoreClosed or ValidationFailed.
export async function openFeedReader(
  transport: Transport,
  connection: LiveConnection,
  name: string,
  options: FeedReaderOptions,
): Promise<FeedReader> {
  checkFeedOptions(options, connection.environment);
  const requests = new ReaderRequests(connection, name);
  const release = await lockReader(transport, name, connection, options.signal);
  const requireWanted = () => {
    if (options.signal?.aborted) throw new connection.environment.AbortError();
  };
  try {
    requireWanted();
    const { code, acknowledged } = await requests.send(open, options.since ?? presentPosition);
    requireWanted();
    if (code === refused)
      throw requests.invalid(
        "The reader cannot be added: the store has not reached its position, or has 256 readers.",
      );
    const reader = new Reader(connection, requests, options, acknowledged, release);
    reader.renew();
    await reader.open();
    requireWanted(); // otherwise the reader has closed itself
    return reader;
  } catch (error) {
    release();
    throw error;
  }
}

class ReaderRequests {
  readonly name: string;
  readonly #connection: LiveConnection;

  constructor(connection: LiveConnection, name: string) {
    this.#connection = connection;
    this.name = name;
    const isValid = typeof name === "string" && name !== "" && !name.includes("\0");
    if (!isValid || new TextEncoder().encode(name).length > nameBytesMax)
      throw this.invalid(`The name of a reader is a text of 1 to ${nameBytesMax} bytes.`);
  }

  async send(operation: number, sequence: bigint): Promise<State> {
    const { requestKind, responseKind, decoder, transport } = this.#connection.environment;
    if (typeof sequence !== "bigint" || sequence < 0n || sequence > presentPosition)
      throw this.invalid("sequence must be the sequence of a batch.");
    return await this.#connection.request(
      requestKind.feedReader,
      (writer) => {
        writer.putWord(operation);
        writer.putText(this.name);
        putLong(writer, sequence);
        putLong(writer, new BigInt64Array(Float64Array.of(transport.now()).buffer)[0] as bigint);
      },
      (response) =>
        decoder.message(response, responseKind.feedReader, (reader) => {
          const code = reader.readWord();
          reader.readWord();
          return { code, acknowledged: reader.readLong() };
        }),
    );
  }

  invalid(message: string): StoreError {
    return new this.#connection.environment.StoreError("ValidationFailed", message);
  }
}

class Reader implements FeedReader {
  readonly #connection: LiveConnection;
  readonly #requests: ReaderRequests;
  readonly #options: ChangesOptions;
  readonly #release: () => void;
  #acknowledged: bigint;
  #feed: OpenFeed | undefined; // undefined: not open yet, or it has ended with an error
  #isClosed = false;
  readonly #pendingAcks = new Set<Promise<State>>();
  readonly #onAbort = () => void this.close();

  constructor(
    connection: LiveConnection,
    requests: ReaderRequests,
    options: ChangesOptions,
    acknowledged: bigint,
    release: () => void,
  ) {
    this.#connection = connection;
    this.#requests = requests;
    this.#options = options;
    this.#acknowledged = acknowledged;
    this.#release = release;
    options.signal?.addEventListener("abort", this.#onAbort);
  }

  get name(): string {
    return this.#requests.name;
  }

  get acknowledged(): bigint {
    return this.#acknowledged;
  }

  // Resolves when all later commits are in the feed, or next() will reject. So a reader has them
  // even if the store keeps no log.
  async open(): Promise<void> {
    await this.#openFeed().ready.catch(() => {});
  }

  #openFeed(): OpenFeed {
    const options = { ...this.#options, signal: undefined, since: this.#acknowledged };
    this.#feed = this.#connection.openFeed(options);
    return this.#feed;
  }

  // After an error, the next call opens the feed again. A feed throws its error once, so that other
  // calls that wait for it open the next one.
  async next(): Promise<Result> {
    if (this.#isClosed) return done;
    const feed = this.#feed ?? this.#openFeed();
    try {
      const result = await feed.next();
      if (!result.done) return result;
    } catch (error) {
      if (this.#feed === feed) this.#feed = undefined;
      throw error;
    }
    if (this.#feed !== feed) return await this.next();
    this.#end();
    return done;
  }

  async ack(sequence: bigint): Promise<void> {
    if (this.#isClosed) throw this.#closedError();
    const sending = this.#requests.send(acknowledge, sequence);
    this.#pendingAcks.add(sending);
    const { code, acknowledged } = await sending.finally(() => this.#pendingAcks.delete(sending));
    if (code === missing)
      throw this.#requests.invalid(`There is no reader "${this.name}" any more.`);
    if (code === refused) throw this.#requests.invalid("The store has not reached the sequence.");
    this.#acknowledged = acknowledged;
  }

  // Tells the store that the reader is in use, so that it keeps the log for it. Whether this can be
  // stored does not matter to the reader.
  renew(): void {
    const sending = this.#requests.send(acknowledge, this.#acknowledged);
    this.#pendingAcks.add(sending);
    sending.catch(() => {}).finally(() => this.#pendingAcks.delete(sending));
  }

  async remove(): Promise<void> {
    if (this.#isClosed) throw this.#closedError();
    await this.#requests.send(remove, 0n);
    await this.close();
  }

  // The next reader of this name must begin after what this one has acknowledged.
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#feed?.return();
    await Promise.allSettled(this.#pendingAcks);
    this.#end();
  }

  async return(): Promise<Result> {
    await this.close();
    return done;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #end(): void {
    this.#isClosed = true;
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    this.#release();
  }

  #closedError(): StoreError {
    const { StoreError } = this.#connection.environment;
    return new StoreError("StoreClosed", `The reader "${this.name}" is closed.`);
  }
}

// ---- Locks --------------------------------------------------------------------------------------

// Of stores that only this thread uses, by the name of the reader: resolves when it is released.
const lastHolders = new WeakMap<Transport, Map<string, Promise<void>>>();

// Resolves to a function that releases the lock. It is also released when the store closes.
async function lockReader(
  transport: Transport,
  name: string,
  connection: LiveConnection,
  signal: ChangesOptions["signal"],
): Promise<() => void> {
  const { AbortError } = connection.environment;
  if (signal?.aborted) throw new AbortError();
  const waiting = new AbortController();
  const onAbort = () => waiting.abort();
  signal?.addEventListener("abort", onAbort);
  let unlock: (() => void) | undefined;
  let closedBy: Error | undefined;
  const stopUsing = connection.use({
    onClosed(error) {
      closedBy = error;
      waiting.abort();
      unlock?.();
    },
  });
  try {
    unlock = await (transport.readerLocks === undefined
      ? lockHere(transport, AbortError, name, waiting.signal)
      : lockInAllTabs(transport.readerLocks, AbortError, name, waiting.signal));
  } catch (error) {
    stopUsing();
    throw closedBy ?? error;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
  return () => {
    stopUsing();
    unlock?.();
  };
}

function lockInAllTabs(
  { locks, store }: NonNullable<Transport["readerLocks"]>,
  AbortError: LiveConnection["environment"]["AbortError"],
  name: string,
  signal: AbortSignal,
): Promise<() => void> {
  return new Promise((resolve, reject) => {
    // The lock is held until the returned promise resolves.
    const onGranted = () => new Promise<void>((release) => resolve(() => release()));
    locks
      .request(`entitable/${store}/reader/${name}`, { signal }, onGranted)
      .catch((error: unknown) => reject(signal.aborted ? new AbortError() : error));
  });
}

async function lockHere(
  transport: Transport,
  AbortError: LiveConnection["environment"]["AbortError"],
  name: string,
  signal: AbortSignal,
): Promise<() => void> {
  const holders = lastHolders.get(transport) ?? new Map<string, Promise<void>>();
  lastHolders.set(transport, holders);
  const before = holders.get(name);
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  holders.set(
    name,
    Promise.all([before, released]).then(() => {}),
  );
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new AbortError()));
  });
  aborted.catch(() => {});
  try {
    await Promise.race([before, aborted]);
  } catch (error) {
    release();
    throw error;
  }
  return release;
}
