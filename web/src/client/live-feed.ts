// A reader of the change feed: the batches that wait to be read.

import type { ChangeBatch, ChangesOptions } from "../types.ts";
import type { Changes, FeedBatch, PastChanges } from "./changes-decoder.ts";
import type { LiveEnvironment } from "./live-connection.ts";
import type { MessageWriter } from "./message-writer.ts";

type Result = IteratorResult<ChangeBatch, undefined>;

const batchesMax = 1000;
const pastMax = 500; // of one response (core/rpc/past_changes_reader.h)
const laterMax = 250; // that wait for those that are read from the log
const sequenceMax = 2n ** 63n - 1n;
const beforeFlag = 1;
const done: Result = { done: true, value: undefined };

// What the feed needs from the store next: to be opened there, or changes from before.
export type FeedRequest = "open" | "past";

let lastNumber = 0;

// A feed is open in the store as long as its reader keeps up. Otherwise it reads the changes from
// the log when there is room for them, and is opened again when nothing is left there. Changes that
// are published after that wait until those before have been read from the log, too.
export class OpenFeed {
  readonly ready: Promise<void>;
  readonly #options: ChangesOptions;
  readonly #environment: Pick<LiveEnvironment, "AbortError" | "StoreError">;
  readonly #onClose: () => void;
  readonly #onRoom: () => void;
  readonly #stopListening: () => void;
  readonly number = ++lastNumber; // by which the store keeps the log for the feed
  id = 0; // in the store; 0: it is not open
  staleId = 0; // an id to be closed; 0: there is none
  wantsLog = false; // the store does not know yet that the feed will read the log
  isWaiting = false; // for the response to a request
  #position: bigint | undefined; // all batches up to this sequence are known
  #openedAt = 0n; // the store passes all later batches to the feed
  #nextSegment = 0n; // where the log continues after #position; 0: that is not known
  #isLogRead = false; // nothing was left in the log when it was read last
  #later: ChangeBatch[] = []; // to be read after those that are read from the log
  #batches: ChangeBatch[] = [];
  #waiting: { resolve(result: Result): void; reject(error: Error): void }[] = [];
  #hasEnded = false;
  #error: Error | undefined; // why it has ended; thrown once
  #resolveReady: () => void = () => {};
  #rejectReady: (error: unknown) => void = () => {};

  // `onRoom`: called when the feed needs more. Throws StoreError ValidationFailed.
  constructor(
    options: ChangesOptions,
    environment: Pick<LiveEnvironment, "AbortError" | "StoreError">,
    onClose: () => void,
    onRoom: () => void,
  ) {
    checkFeedOptions(options, environment);
    this.#options = options;
    this.#position = options.since;
    this.#environment = environment;
    this.#onClose = onClose;
    this.#onRoom = onRoom;
    this.ready = new Promise((resolve, reject) => {
      this.#resolveReady = resolve;
      this.#rejectReady = reject;
    });
    this.ready.catch(() => {}); // next() rejects, too
    const { signal } = options;
    const onAbort = () => this.abort();
    signal?.addEventListener("abort", onAbort);
    this.#stopListening = () => signal?.removeEventListener("abort", onAbort);
  }

  // Whether the feed wants the text and the type of each property.
  get isTyped(): boolean {
    return this.#options.disableTypeConversion === true;
  }

  // A feed since this sequence has what this feed has not returned yet. undefined: not known yet.
  get position(): bigint | undefined {
    const [next] = this.#batches;
    return next === undefined ? this.#position : next.sequence - 1n;
  }

  get nextRequest(): FeedRequest | undefined {
    if (this.#hasEnded || this.isWaiting) return undefined;
    const position = this.#position;
    if (this.id === 0 && (position === undefined || this.#isLogRead)) return "open";
    const isLive = this.id !== 0 && !this.#isCatchingUp;
    const hasRoom = this.#batches.length <= batchesMax - pastMax - laterMax;
    return isLive || !hasRoom ? undefined : "past";
  }

  // Writes the words of the next request (core/rpc/LAYOUT.md).
  put(request: FeedRequest, writer: MessageWriter): void {
    if (request === "past") {
      putLong(writer, this.#position as bigint);
      putLong(writer, this.#nextSegment);
    }
    const { tables = [], filter, before = false, partitionKey, rowKey } = this.#options;
    writer.putWord(before && request === "open" ? beforeFlag : 0);
    writer.putWord(this.number);
    writer.putWord(tables.length);
    for (const table of tables) writer.putText(table);
    writer.putOptionalText(filter);
    writer.putText(partitionKey ?? "");
    writer.putText(rowKey?.from ?? "");
    // Without an end, the range ends before the next partition key.
    const to = rowKey?.to;
    writer.putOptionalText(
      to === undefined && partitionKey !== undefined ? `${partitionKey}\0` : partitionKey,
    );
    writer.putOptionalText(partitionKey === undefined ? undefined : (to ?? ""));
  }

  // Writes the words of a request to close the feed `id`.
  putClose(id: number, writer: MessageWriter): void {
    writer.putWord(id);
    writer.putWord(this.number);
    putLong(writer, this.#hasEnded ? sequenceMax : (this.#position ?? sequenceMax));
  }

  // `openedAt`: the store passes all batches after this sequence.
  onOpen(id: number, openedAt: bigint): void {
    this.id = id;
    this.#openedAt = openedAt;
    this.#position ??= openedAt;
    this.#resolveReady();
  }

  onPast({ isEnd, isTruncated, number }: PastChanges, past: Changes | undefined): void {
    if (isTruncated || past === undefined) {
      this.#truncate(`the log does not have the changes after ${this.#position}`, number);
      return;
    }
    this.#nextSegment = number;
    this.#isLogRead = isEnd;
    this.#position = past.sequence;
    this.#resolveReady();
    for (const { batch } of past.batches) if (batch !== undefined) this.#queue(batch);
    if (this.id === 0) return;
    // If no commit follows, the store's position may nevertheless be later: of a new owner.
    if (isEnd && past.sequence < this.#openedAt) this.#position = this.#openedAt;
    if (!isEnd && past.sequence < this.#openedAt) return;
    for (const batch of this.#later.splice(0))
      if (batch.sequence > past.sequence) this.#addLive(batch);
  }

  add({ batch }: FeedBatch): void {
    if (this.#hasEnded) return;
    if (batch === undefined) this.#leave();
    else this.#addLive(batch);
  }

  // The store has passed all batches up to this sequence, and a crash does not lose them. A feed
  // without batches must know that, too: the log has only what the last checkpoint does not cover.
  onStored(sequence: bigint): void {
    if (this.id === 0 || this.#isCatchingUp) return;
    if (sequence > (this.#position as bigint)) this.#position = sequence;
  }

  get #isCatchingUp(): boolean {
    return (this.#position as bigint) < this.#openedAt;
  }

  #addLive(batch: ChangeBatch): void {
    if (this.id === 0) return;
    if (this.#isCatchingUp) {
      if (this.#later.length >= laterMax) this.#leave();
      else this.#later.push(batch);
    } else if (this.#batches.length >= batchesMax) {
      this.#leave();
    } else {
      this.#position = batch.sequence;
      this.#queue(batch);
    }
  }

  #queue(batch: ChangeBatch): void {
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) waiting.resolve({ done: false, value: batch });
    else this.#batches.push(batch);
  }

  // The store passes no more batches to the feed, or does not know them. Reads them from the log.
  #leave(): void {
    this.staleId = this.id;
    this.#forgetListener();
    this.#onRoom();
  }

  #forgetListener(): void {
    this.id = 0;
    this.wantsLog = true;
    this.#isLogRead = false;
    this.#later = [];
  }

  // The store has closed the feed, and answers no earlier request.
  onReset(): void {
    this.staleId = 0;
    this.isWaiting = false;
    this.#forgetListener();
  }

  abort(): void {
    this.#close(new this.#environment.AbortError());
  }

  #truncate(why: string, firstSequence: bigint): void {
    const { StoreError } = this.#environment;
    const hint =
      "Open a feed first, then read the tables again. What the log still has comes from a feed " +
      "since the error's firstSequence - 1n.";
    const error = new StoreError("FeedTruncated", `The change feed has a gap: ${why}.`, { hint });
    this.#close(Object.assign(error, { firstSequence }));
  }

  // Ends the feed, with an error if one is given. Batches that wait are still read.
  end(error: Error | undefined): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#error = error;
    this.#stopListening();
    const reason = error ?? new this.#environment.AbortError("The change feed was closed.");
    this.#rejectReady(reason);
    for (const { resolve, reject } of this.#waiting.splice(0)) {
      if (this.#error === undefined) resolve(done);
      else reject(this.#error);
      this.#error = undefined;
    }
  }

  next(): Promise<Result> {
    const batch = this.#batches.shift();
    if (batch !== undefined) {
      if (this.nextRequest !== undefined) this.#onRoom();
      return Promise.resolve({ done: false, value: batch });
    }
    if (this.#hasEnded) {
      const error = this.#error;
      this.#error = undefined;
      return error === undefined ? Promise.resolve(done) : Promise.reject(error);
    }
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  return(): Promise<Result> {
    this.#batches = [];
    this.#close(undefined);
    this.#error = undefined;
    return Promise.resolve(done);
  }

  #close(error: Error | undefined): void {
    this.end(error);
    this.#onClose();
  }
}

// Writes a value of two words.
export function putLong(writer: MessageWriter, value: bigint): void {
  writer.putWord(Number(BigInt.asIntN(32, value)));
  writer.putWord(Number(BigInt.asIntN(32, value >> 32n)));
}

// Throws StoreError ValidationFailed.
export function checkFeedOptions(
  options: ChangesOptions,
  { StoreError }: Pick<LiveEnvironment, "StoreError">,
): void {
  const { message, hint } = mistakeIn(options) ?? {};
  if (message !== undefined)
    throw new StoreError("ValidationFailed", message, { hint: `For example: ${hint}.` });
}

function mistakeIn(options: ChangesOptions): { message: string; hint: string } | undefined {
  const { tables, partitionKey, rowKey, filter, since } = options;
  const isText = (value: unknown) => value === undefined || typeof value === "string";
  if (
    tables !== undefined &&
    !(Array.isArray(tables) && tables.every((t) => typeof t === "string"))
  )
    return { message: "tables must be a list of names.", hint: 'tables: ["lamps"]' };
  if (since !== undefined && (typeof since !== "bigint" || since < 0n || since > sequenceMax))
    return { message: "since must be the sequence of a batch.", hint: "since: batch.sequence" };
  if (!isText(filter)) return { message: "filter must be a text.", hint: 'filter: "stock gt 5"' };
  if (!isText(partitionKey))
    return { message: "partitionKey must be a text.", hint: 'partitionKey: "desk"' };
  if (rowKey === undefined) return undefined;
  const hint = 'partitionKey: "desk", rowKey: { from: "1", to: "5" }';
  if (partitionKey === undefined) return { message: "rowKey needs a partitionKey.", hint };
  const isRange = typeof rowKey === "object" && isText(rowKey?.from) && isText(rowKey?.to);
  return rowKey !== null && isRange ? undefined : { message: "rowKey must be a range.", hint };
}
