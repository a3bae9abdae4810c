// Batches the point reads of one turn of the event loop into a single engine call, for stores that
// answer synchronously. A `Promise.all` over a hundred `getEntity` calls then makes two calls of
// the engine: one for the first read, one for all others. Reads that are sent to a worker or
// another tab are not batched here, because they already share a message.
//
// The first read of a turn runs immediately, since most reads come alone. Later reads of the turn
// wait until the turn ends, or until the engine gets any other call. Each read therefore sees the
// state at the time of its call.

import { rejectWithHint } from "../hints/add-hint.ts";
import { mapResponse, type Transport } from "../transport.ts";
import { type EntityKey, RequestEncoder, type ResponseDecoder } from "./rpc-codec.ts";
import { storeCodec } from "./store-codec.ts";

type Row = Record<string, unknown>;

interface PendingRead extends EntityKey {
  table: string;
  resolve: (row: Row) => void;
  reject: (error: unknown) => void;
}

const batchMax = 1000; // the most keys in one message (core/rpc/LAYOUT.md)
const minRowsToBatchAgain = 16; // a batch that found fewer rows is not followed by another
const resolvedPromise = Promise.resolve();

export class PointReadBatcher {
  readonly #transport: Transport;
  // A separate encoder, because a batch may be sent while the shared encoder is in use.
  readonly #encoder = new RequestEncoder();
  readonly #decoder: ResponseDecoder;
  #isTurnOpen = false;
  #pending: PendingRead[] = [];

  constructor(transport: Transport) {
    this.#transport = transport;
    this.#decoder = storeCodec(transport).decoder;
  }

  // Queues the read and returns a promise of its row. Returns undefined if the read was not queued:
  // the caller must then read the row itself, immediately.
  tryEnqueue(table: string, partitionKey: string, rowKey: string): Promise<Row> | undefined {
    if (!this.#isTurnOpen) {
      this.#isTurnOpen = true;
      void resolvedPromise.then(this.#endTurn);
      return undefined;
    }
    if (this.#transport.allowsReadBatching !== true) return undefined;
    if (this.#pending.length === 0) this.#transport.runBeforeNextChange?.(this.#flush);
    return new Promise((resolve, reject) => {
      this.#pending.push({ table, partitionKey, rowKey, resolve, reject });
    });
  }

  readonly #endTurn = () => {
    this.#isTurnOpen = false;
    this.#flush();
  };

  readonly #decode = (response: Uint8Array) => this.#decoder.entity(response);

  readonly #read = (request: Uint8Array) => this.#transport.read(request);

  // Reads all queued rows, in the order of the calls.
  readonly #flush = () => {
    if (this.#pending.length === 0) return;
    const pending = this.#pending;
    this.#pending = [];
    for (let from = 0; from < pending.length; ) {
      const table = pending[from]?.table as string;
      let to = from + 1;
      while (to < pending.length && pending[to]?.table === table && to - from < batchMax) ++to;
      this.#readBatch(table, pending.slice(from, to));
      from = to;
    }
  };

  #readBatch(table: string, reads: PendingRead[]): void {
    const remaining = reads;
    while (remaining.length > 1) {
      const rows = this.#tryMultiGet(table, remaining);
      if (rows === undefined) break;
      for (const [i, row] of rows.entries()) remaining[i]?.resolve(row);
      // The missing row is read alone, to get its error. If few rows were found before it, many
      // others are probably missing too, and all are read one by one.
      const [missing] = remaining.splice(0, rows.length + 1).slice(rows.length);
      if (missing !== undefined) this.#readOne(missing);
      if (rows.length < minRowsToBatchAgain) break;
    }
    for (const read of remaining) this.#readOne(read);
  }

  // Reads the rows with one call. Returns the rows found before the first missing one. Returns
  // undefined if the call failed.
  #tryMultiGet(table: string, reads: readonly EntityKey[]): Row[] | undefined {
    if (this.#transport.allowsReadBatching !== true) return undefined;
    try {
      const response = this.#encoder.multiGet(table, reads, this.#read);
      if (!(response instanceof Promise))
        return this.#decoder.page(response, { copyBinaries: true }).rows;
      response.catch(() => {});
      return undefined;
    } catch {
      return undefined; // the single reads that follow report the error
    }
  }

  #readOne({ table, partitionKey, rowKey, resolve, reject: fail }: PendingRead): void {
    const reject = (error: unknown) =>
      void rejectWithHint(error, { table, partitionKey, rowKey }).catch(fail);
    try {
      const response = this.#encoder.get(table, partitionKey, rowKey, undefined, this.#read);
      const row = mapResponse(response, this.#decode);
      if (row instanceof Promise) row.then(resolve, reject);
      else resolve(row);
    } catch (error) {
      reject(error);
    }
  }
}

const batchers = new WeakMap<Transport, PointReadBatcher>();

// Returns the batcher that all handles of a store share; undefined if the store does not batch
// reads.
export function pointReadBatcher(transport: Transport): PointReadBatcher | undefined {
  if (transport.runBeforeNextChange === undefined) return undefined;
  let reads = batchers.get(transport);
  if (reads === undefined) {
    reads = new PointReadBatcher(transport);
    batchers.set(transport, reads);
  }
  return reads;
}
