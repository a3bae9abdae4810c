// Point reads that are asked for in one turn of the event loop's tasks and microtasks cross together: `Promise.all` over a
// hundred `getEntity` is two calls of the store, in a worker two messages, and each read costs half.
//
// The first one of a turn is made at once, since most come alone. Those that follow it wait until the turn is over, or
// until something is written through the same transport, so that each sees what it would have seen when it was called.

import type { Transport } from "../transport.ts";
import { decodeEntity, decodePage, type EntityKey, encodeGet, encodeGetEach } from "./block.ts";

type Row = Record<string, unknown>;

interface Waiting extends EntityKey {
  table: string;
  resolve: (row: Row) => void;
  reject: (error: unknown) => void;
}

const togetherMax = 1000;
const now = Promise.resolve();

export class PointReads {
  readonly #transport: Transport;
  #inTurn = false;
  #waiting: Waiting[] = [];

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  // Undefined: it is the first one of its turn, and for the caller to make.
  join(table: string, partitionKey: string, rowKey: string): Promise<Row> | undefined {
    if (!this.#inTurn) {
      this.#inTurn = true;
      void now.then(this.#endTurn);
      return undefined;
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ table, partitionKey, rowKey, resolve, reject });
    });
  }

  // Makes those that wait.
  flush(): void {
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
  }

  readonly #endTurn = () => {
    this.#inTurn = false;
    this.flush();
  };

  #make(table: string, reads: Waiting[]): void {
    const [only, second] = reads;
    if (second === undefined) this.#makeAlone(only as Waiting);
    else this.#ask(encodeGetEach(table, reads), reads, (reply) => this.#take(reply, reads));
  }

  // The first so many rows. Of the rest each says for itself what the matter is.
  #take(reply: Uint8Array, reads: Waiting[]): void {
    const { rows } = decodePage(reply);
    for (const [i, read] of reads.entries()) {
      const row = rows[i];
      if (row === undefined) this.#makeAlone(read);
      else read.resolve(row);
    }
  }

  #makeAlone(read: Waiting): void {
    const block = encodeGet(read.table, read.partitionKey, read.rowKey);
    this.#ask(block, [read], (reply) => read.resolve(decodeEntity(reply)));
  }

  #ask(block: Uint8Array, reads: Waiting[], take: (reply: Uint8Array) => void): void {
    const reject = (error: unknown) => {
      for (const read of reads) read.reject(error);
    };
    try {
      const reply = this.#transport.read(block);
      if (reply instanceof Promise) reply.then(take).catch(reject);
      else take(reply);
    } catch (error) {
      reject(error);
    }
  }
}

const readsOf = new WeakMap<Transport, PointReads>();

// One for all handles of a store; none for a store where every read is on its own.
export function pointReads(transport: Transport): PointReads | undefined {
  if (transport.joinsReads !== true) return undefined;
  let reads = readsOf.get(transport);
  if (reads === undefined) {
    reads = new PointReads(transport);
    readsOf.set(transport, reads);
  }
  return reads;
}
