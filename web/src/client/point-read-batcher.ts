// Point reads that are asked for in one turn of the event loop's tasks and microtasks cross together, where the store answers at
// once: `Promise.all` over a hundred `getEntity` is two calls of the engine, and each read costs a third. (To a worker or another
// tab they travel in one message anyway.)
//
// The first one of a turn is made at once, since most come alone. Those that follow it wait until the turn is over, or
// until anything else is asked of the engine: so each sees what it would have seen when it was called.

import type { Transport } from "../transport.ts";
import {
  decodeEntity,
  decodePage,
  type EntityKey,
  encodeGet,
  encodeMultiGet,
  withScratchBuffer,
} from "./rpc-messages.ts";

type Row = Record<string, unknown>;

interface PendingRead extends EntityKey {
  table: string;
  resolve: (row: Row) => void;
  reject: (error: unknown) => void;
}

const batchMax = 1000; // of the block's layout
const minRowsToBatchAgain = 16; // so many rows, to ask for others together once more
const resolvedPromise = Promise.resolve();

export class PointReadBatcher {
  readonly #transport: Transport;
  #isTurnOpen = false;
  #pending: PendingRead[] = [];

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  // Undefined: it is for the caller to make, now.
  enqueue(table: string, partitionKey: string, rowKey: string): Promise<Row> | undefined {
    if (!this.#isTurnOpen) {
      this.#isTurnOpen = true;
      void resolvedPromise.then(this.#endTurn);
      return undefined;
    }
    if (this.#transport.batchesReads !== true) return undefined;
    if (this.#pending.length === 0) this.#transport.deferReads?.(this.#flushBeforeOtherCall);
    return new Promise((resolve, reject) => {
      this.#pending.push({ table, partitionKey, rowKey, resolve, reject });
    });
  }

  readonly #endTurn = () => {
    this.#isTurnOpen = false;
    this.#flush();
  };

  // The engine is about to do something else, whose block is in use.
  readonly #flushBeforeOtherCall = () => withScratchBuffer(this.#flush);

  // Makes those that wait, in their order.
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
      // The next one says for itself what the matter is. Where many are missing, the others do so too.
      const [missing] = remaining.splice(0, rows.length + 1).slice(rows.length);
      if (missing !== undefined) this.#readOne(missing);
      if (rows.length < minRowsToBatchAgain) break;
    }
    for (const read of remaining) this.#readOne(read);
  }

  // The first so many rows; undefined if they can't be had together.
  #tryMultiGet(table: string, reads: readonly EntityKey[]): Row[] | undefined {
    if (this.#transport.batchesReads !== true) return undefined;
    try {
      const response = this.#transport.read(encodeMultiGet(table, reads));
      if (!(response instanceof Promise)) return decodePage(response, { copyBinaries: true }).rows;
      response.catch(() => {});
      return undefined;
    } catch {
      return undefined; // which each one's own call says
    }
  }

  #readOne({ table, partitionKey, rowKey, resolve, reject }: PendingRead): void {
    try {
      const response = this.#transport.read(encodeGet(table, partitionKey, rowKey));
      if (response instanceof Promise) response.then(decodeEntity).then(resolve, reject);
      else resolve(decodeEntity(response));
    } catch (error) {
      reject(error);
    }
  }
}

const batchers = new WeakMap<Transport, PointReadBatcher>();

// One for all handles of a store; none for a store where every read is on its own.
export function pointReadBatcher(transport: Transport): PointReadBatcher | undefined {
  if (transport.deferReads === undefined) return undefined;
  let reads = batchers.get(transport);
  if (reads === undefined) {
    reads = new PointReadBatcher(transport);
    batchers.set(transport, reads);
  }
  return reads;
}
