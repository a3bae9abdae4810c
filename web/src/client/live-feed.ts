// A reader of the change feed: the batches that wait to be read.

import type { Change, ChangeBatch, ChangesOptions, TableEntityResult } from "../types.ts";
import type { FeedBatch, RowChange } from "./changes-decoder.ts";
import type { LiveEnvironment } from "./live-connection.ts";
import type { MessageWriter } from "./message-writer.ts";

type Result = IteratorResult<ChangeBatch, undefined>;

const batchesMax = 1000;
const beforeFlag = 1;
const restoreOrigin = 3; // CommitOrigin::restore
const ops = ["insert", "update", "delete"] as const;
const done: Result = { done: true, value: undefined };

export class OpenFeed {
  readonly ready: Promise<void>;
  readonly #options: ChangesOptions;
  readonly #environment: Pick<LiveEnvironment, "AbortError" | "StoreError">;
  readonly #onClose: () => void;
  readonly #stopListening: () => void;
  id = 0; // 0: it is not open
  #batches: ChangeBatch[] = [];
  #waiting: { resolve(result: Result): void; reject(error: Error): void }[] = [];
  #hasEnded = false;
  #error: Error | undefined; // why it has ended; thrown once
  #resolveReady: () => void = () => {};
  #rejectReady: (error: unknown) => void = () => {};

  // Throws StoreError ValidationFailed.
  constructor(
    options: ChangesOptions,
    environment: Pick<LiveEnvironment, "AbortError" | "StoreError">,
    onClose: () => void,
  ) {
    const { message, hint } = mistakeIn(options) ?? {};
    if (message !== undefined)
      throw new environment.StoreError("ValidationFailed", message, {
        hint: `For example: ${hint}.`,
      });
    this.#options = options;
    this.#environment = environment;
    this.#onClose = onClose;
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

  // Writes the request that opens the feed (core/rpc/LAYOUT.md).
  put(writer: MessageWriter): void {
    const { tables = [], filter, before = false, partitionKey, rowKey } = this.#options;
    writer.putWord(before ? beforeFlag : 0);
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

  onOpen(id: number): void {
    this.id = id;
    this.#resolveReady();
  }

  add(batch: FeedBatch): void {
    if (this.#hasEnded) return;
    if (batch.isUnknown) {
      this.#truncate(
        "the changes are unknown: after a rollback, after a restore that replaced the content, or " +
          "because one group of writes replaced too many large rows",
      );
      return;
    }
    const item = publicBatch(batch);
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) waiting.resolve({ done: false, value: item });
    else if (this.#batches.length < batchesMax) this.#batches.push(item);
    else this.#truncate(`${batchesMax} batches were not read`);
  }

  // The store has closed the feed.
  onReset(): void {
    this.id = 0;
    this.#truncate(
      "the store has another owner or has run out of memory, or too many changes waited for this tab",
    );
  }

  abort(): void {
    this.#close(new this.#environment.AbortError());
  }

  #truncate(why: string): void {
    const { StoreError } = this.#environment;
    this.#batches = [];
    this.#close(new StoreError("FeedTruncated", `The change feed has a gap: ${why}.`));
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
    if (batch !== undefined) return Promise.resolve({ done: false, value: batch });
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

function mistakeIn(options: ChangesOptions): { message: string; hint: string } | undefined {
  const { tables, partitionKey, rowKey, filter } = options;
  const isText = (value: unknown) => value === undefined || typeof value === "string";
  if (
    tables !== undefined &&
    !(Array.isArray(tables) && tables.every((t) => typeof t === "string"))
  )
    return { message: "tables must be a list of names.", hint: 'tables: ["lamps"]' };
  if (!isText(filter)) return { message: "filter must be a text.", hint: 'filter: "stock gt 5"' };
  if (!isText(partitionKey))
    return { message: "partitionKey must be a text.", hint: 'partitionKey: "desk"' };
  if (rowKey === undefined) return undefined;
  const hint = 'partitionKey: "desk", rowKey: { from: "1", to: "5" }';
  if (partitionKey === undefined) return { message: "rowKey needs a partitionKey.", hint };
  const isRange = typeof rowKey === "object" && isText(rowKey?.from) && isText(rowKey?.to);
  return rowKey !== null && isRange ? undefined : { message: "rowKey must be a range.", hint };
}

function publicBatch({ sequence, at, origin, rows, tables }: FeedBatch): ChangeBatch {
  const batch: ChangeBatch = {
    sequence,
    at,
    origin: origin === restoreOrigin ? "restore" : "local",
    changes: rows.map(publicChange),
  };
  if (tables.length === 0) return batch;
  const tableChanges = tables.map(
    ({ table, isCreated }) => ({ table, op: isCreated ? "create" : "delete" }) as const,
  );
  return { ...batch, tables: tableChanges };
}

function publicChange({ table, op, key, after, before }: RowChange): Change {
  const { partitionKey, rowKey } = key;
  const change = { table, partitionKey, rowKey, op: ops[op] as Change["op"] };
  type Entity = TableEntityResult<Record<string, unknown>>;
  return {
    ...change,
    ...(after === undefined ? {} : { after: after as unknown as Entity }),
    ...(before === undefined ? {} : { before: before as unknown as Entity }),
  };
}
