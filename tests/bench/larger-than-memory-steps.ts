// The steps of larger-than-memory.ts. They run in Node and in a page.

import type { OpenOptions, Store, Table } from "../../web/src/types.ts";
import { seededRandom } from "../web/support/random.ts";

type Package = Pick<typeof import("../../web/src/index.ts"), "openStore">;

interface Row {
  partitionKey: string;
  rowKey: string;
  n: number;
  big: bigint;
  text: string;
}

const perTransaction = 100;
const inFlight = 100;
const perPartition = 10_000;
const upsertSeconds = 8;
const reads = 2000;
const text = "x".repeat(380);

export type Step = Exclude<keyof LargeStore, symbol>;

// Where the store runs.
export interface Place {
  run(step: Step): Promise<string>;
  megabytes(): Promise<number>;
  remove(): Promise<void>;
}

// Each step resolves to its rate, or to "" if a rate says nothing.
export class LargeStore {
  readonly #package: Package;
  readonly #options: OpenOptions;
  readonly #entities: number;
  readonly #random = seededRandom(20_261_123);
  #opened: { store: Store; table: Table<Row> } | undefined;

  // REQUIRES: `entities` is a multiple of 100.
  constructor(loaded: Package, options: OpenOptions, entities: number) {
    this.#package = loaded;
    this.#options = { ...options, name: "large", durability: "relaxed" };
    this.#entities = entities;
  }

  async load(): Promise<string> {
    await this.#open();
    const { table } = this.#store;
    await table.createTable();
    return await timed(this.#entities, async () => {
      for (let i = 0; i < this.#entities; i += perTransaction) {
        const rows = Array.from({ length: perTransaction }, (_, k) => entity(i + k, 0));
        await table.submitTransaction(rows.map((row) => ["create", { ...row }]));
      }
    });
  }

  replace = () => this.#upsert("Replace");
  merge = () => this.#upsert("Merge");

  async #upsert(mode: "Replace" | "Merge"): Promise<string> {
    const { table } = this.#store;
    const began = performance.now();
    let count = 0;
    while (performance.now() - began < upsertSeconds * 1000) {
      const rows = Array.from({ length: inFlight }, () => entity(this.#anyRow(), ++count));
      await Promise.all(rows.map((row) => table.upsertEntity(row, mode)));
    }
    return rate(count, performance.now() - began);
  }

  read(): Promise<string> {
    const { table } = this.#store;
    return timed(reads, async () => {
      for (let i = 0; i < reads; ++i) await table.getEntity(...keysOf(this.#anyRow()));
    });
  }

  scan(): Promise<string> {
    const { table } = this.#store;
    return timed(this.#entities, async () => {
      let found = 0;
      const queryOptions = { filter: "n gt 0", select: ["n"] } as const;
      for await (const _ of table.listEntities({ queryOptions })) ++found;
      if (found === 0) throw new Error("no upsert was found");
    });
  }

  async verify(): Promise<string> {
    const { ok } = await this.#store.store.verify();
    if (!ok) throw new Error("the store is damaged");
    return "";
  }

  // The file is in memory as a whole, so it counts towards the memory of this step.
  async snapshot(): Promise<string> {
    const { length } = await this.#store.store.snapshot();
    return `${Math.round(length / 1024 ** 2)} MiB`;
  }

  explain(): Promise<string> {
    const { table } = this.#store;
    return timed(this.#entities, async () => {
      const { rowsRead } = await table.explain({ queryOptions: { filter: "n gt 0" } });
      if (rowsRead !== this.#entities) throw new Error(`${rowsRead} rows`);
    });
  }

  async snapshotStream(): Promise<string> {
    return await timed(this.#entities, async () => {
      for await (const _ of this.#store.store.snapshotStream());
    });
  }

  // Includes taking the snapshot.
  async restoreStream(): Promise<string> {
    const { name = "large", path } = this.#options;
    const copy = { ...this.#options, name: `${name}-copy` };
    if (path !== undefined) copy.path = `${path}-copy`;
    const store = await this.#package.openStore(copy);
    const result = await timed(this.#entities, async () => {
      await store.restore(this.#store.store.snapshotStream());
    });
    const { rows } = await store.stats();
    if (rows !== this.#entities) throw new Error(`${rows} rows`);
    await store.close();
    return result;
  }

  async close(): Promise<string> {
    await this.#store.store.close();
    return "";
  }

  async openAndCount(): Promise<string> {
    await this.#open();
    const { rows } = await this.#store.store.stats();
    if (rows !== this.#entities) throw new Error(`${rows} rows`);
    return await this.close();
  }

  async #open(): Promise<void> {
    const store = await this.#package.openStore(this.#options);
    this.#opened = { store, table: store.table<Row>("rows") };
  }

  get #store(): { store: Store; table: Table<Row> } {
    if (this.#opened === undefined) throw new Error("not open");
    return this.#opened;
  }

  #anyRow(): number {
    return this.#random.below(this.#entities);
  }
}

function keysOf(i: number): [string, string] {
  const partition = String(Math.floor(i / perPartition)).padStart(6, "0");
  return [`p${partition}`, String(i % perPartition).padStart(6, "0")];
}

function entity(i: number, n: number): Row {
  const [partitionKey, rowKey] = keysOf(i);
  return { partitionKey, rowKey, n, big: BigInt(i), text };
}

async function timed(count: number, work: () => Promise<void>): Promise<string> {
  const began = performance.now();
  await work();
  return rate(count, performance.now() - began);
}

const rate = (count: number, milliseconds: number) =>
  `${Math.round(count / (milliseconds / 1000)).toLocaleString("en")} a second`;
