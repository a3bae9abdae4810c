// Point reads that are asked for in one turn of the event loop's tasks and microtasks cross together, where the store answers at
// once: `Promise.all` over a hundred `getEntity` is two calls of the engine, and each read costs a third. (To a worker or another
// tab they travel in one message anyway.)
//
// The first one of a turn is made at once, since most come alone. Those that follow it wait until the turn is over, or
// until anything else is asked of the engine: so each sees what it would have seen when it was called.

import type { Transport } from "../transport.ts";
import {
  besides,
  decodeEntity,
  decodePage,
  type EntityKey,
  encodeGet,
  encodeGetEach,
} from "./block.ts";

type Row = Record<string, unknown>;

interface Waiting extends EntityKey {
  table: string;
  resolve: (row: Row) => void;
  reject: (error: unknown) => void;
}

const togetherMax = 1000; // of the block's layout
const worthWhile = 16; // so many rows, to ask for others together once more
const now = Promise.resolve();

export class PointReads {
  readonly #transport: Transport;
  #inTurn = false;
  #waiting: Waiting[] = [];

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  // Undefined: it is for the caller to make, now.
  join(table: string, partitionKey: string, rowKey: string): Promise<Row> | undefined {
    if (!this.#inTurn) {
      this.#inTurn = true;
      void now.then(this.#endTurn);
      return undefined;
    }
    if (this.#transport.joinsReads !== true) return undefined;
    if (this.#waiting.length === 0) this.#transport.beforeOthers?.(this.#flushBefore);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ table, partitionKey, rowKey, resolve, reject });
    });
  }

  readonly #endTurn = () => {
    this.#inTurn = false;
    this.#flush();
  };

  // The engine is about to do something else, whose block is in use.
  readonly #flushBefore = () => besides(this.#flush);

  // Makes those that wait, in their order.
  readonly #flush = () => {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < waiting.length; ) {
      const table = waiting[from]?.table as string;
      let to = from + 1;
      while (to < waiting.length && waiting[to]?.table === table && to - from < togetherMax) ++to;
      this.#make(table, waiting.slice(from, to));
      from = to;
    }
  };

  #make(table: string, reads: Waiting[]): void {
    const rest = reads;
    while (rest.length > 1) {
      const rows = this.#ask(table, rest);
      if (rows === undefined) break;
      for (const [i, row] of rows.entries()) rest[i]?.resolve(row);
      // The next one says for itself what the matter is. Where many are missing, the others do so too.
      const [missing] = rest.splice(0, rows.length + 1).slice(rows.length);
      if (missing !== undefined) this.#makeAlone(missing);
      if (rows.length < worthWhile) break;
    }
    for (const read of rest) this.#makeAlone(read);
  }

  // The first so many rows; undefined if they can't be had together.
  #ask(table: string, reads: readonly EntityKey[]): Row[] | undefined {
    if (this.#transport.joinsReads !== true) return undefined;
    try {
      const reply = this.#transport.read(encodeGetEach(table, reads));
      if (!(reply instanceof Promise)) return decodePage(reply, { apart: true }).rows;
      reply.catch(() => {});
      return undefined;
    } catch {
      return undefined; // which each one's own call says
    }
  }

  #makeAlone({ table, partitionKey, rowKey, resolve, reject }: Waiting): void {
    try {
      const reply = this.#transport.read(encodeGet(table, partitionKey, rowKey));
      if (reply instanceof Promise) reply.then(decodeEntity).then(resolve, reject);
      else resolve(decodeEntity(reply));
    } catch (error) {
      reject(error);
    }
  }
}

const readsOf = new WeakMap<Transport, PointReads>();

// One for all handles of a store; none for a store where every read is on its own.
export function pointReads(transport: Transport): PointReads | undefined {
  if (transport.beforeOthers === undefined) return undefined;
  let reads = readsOf.get(transport);
  if (reads === undefined) {
    reads = new PointReads(transport);
    readsOf.set(transport, reads);
  }
  return reads;
}
