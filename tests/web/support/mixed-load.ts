// Random reads and writes on a table of constant size, checked against a model that knows the
// version of every row. Runs in Node and in pages.

import type { Store, Table, TableAction } from "../../../web/src/types.ts";
import { type Random, seededRandom } from "./random.ts";

export interface MixedLoadOptions {
  rows: number; // a multiple of rowsPerPartition
  seed: number;
}

interface Row {
  partitionKey: string;
  rowKey: string;
  n: number; // the version: which write wrote the row
  text: string;
}

type Step = (table: Table<Row>) => Promise<void>;

export const rowsPerPartition = 1000;
const inFlight = 100; // operations; also the number of rows of a transaction
const textBytes = 400;
const absent = 0;

export class MixedLoad {
  readonly #random: Random;
  readonly #versions: Uint32Array; // the version that each row must have
  #written = 0;
  #operations = 0;

  constructor({ rows, seed }: MixedLoadOptions) {
    this.#random = seededRandom(seed);
    this.#versions = new Uint32Array(rows);
  }

  // The number of rows that were read or written until now.
  get operations(): number {
    return this.#operations;
  }

  // Writes all rows into a new table.
  async fill(store: Store): Promise<void> {
    const table = tableOf(store, "relaxed");
    await table.createTable();
    const { length } = this.#versions;
    for (let i = 0; i < length; i += inFlight) await this.#writeRange(table, i);
  }

  // Runs rounds of operations for this time. Throws if a row is not as it was written.
  async run(store: Store, seconds: number): Promise<void> {
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) await this.#round(store);
  }

  // Reads the whole table. Throws if it differs from the model.
  async check(store: Store): Promise<void> {
    let next = 0;
    for await (const row of tableOf(store, "relaxed").listEntities()) {
      const at = indexOf(row);
      while (next < at) this.#checkAbsent(next++);
      this.#checkRow(at, row);
      next = at + 1;
    }
    while (next < this.#versions.length) this.#checkAbsent(next++);
  }

  async #round(store: Store): Promise<void> {
    const kind = this.#random.below(20);
    const durability = kind < 15 ? "relaxed" : kind < 19 ? "deferred" : "strict";
    const table = tableOf(store, durability);
    const choice = this.#random.below(10);
    if (choice === 0) await this.#listPartition(table);
    else if (choice <= 2) await this.#writeRange(table, this.#anyRow());
    else await Promise.all(this.#distinctRows().map((i) => this.#operation(i)(table)));
    if (this.#random.below(2000) === 0) await store.compact();
  }

  // Returns different rows, so that the order of the operations in flight does not matter.
  #distinctRows(): number[] {
    return [...new Set(Array.from({ length: inFlight }, () => this.#anyRow()))];
  }

  #anyRow(): number {
    return this.#random.below(this.#versions.length);
  }

  #operation(i: number): Step {
    this.#operations += 1;
    const choice = this.#random.below(100);
    if (choice < 40) return (table) => this.#read(table, i);
    if (choice < 45) return (table) => this.#delete(table, i);
    const row = this.#newVersion(i);
    const mode = choice < 75 ? "Replace" : "Merge";
    return async (table) => void (await table.upsertEntity(row, mode));
  }

  #newVersion(i: number): Row {
    this.#versions[i] = ++this.#written;
    return rowOf(i, this.#written);
  }

  async #read(table: Table<Row>, i: number): Promise<void> {
    const row = await table.getEntity(...keysOf(i)).catch(noRow);
    if (row === undefined) this.#checkAbsent(i);
    else this.#checkRow(i, row as Row);
  }

  async #delete(table: Table<Row>, i: number): Promise<void> {
    const wasThere = this.#versions[i] !== absent;
    this.#versions[i] = absent;
    const deleted = await table.deleteEntity(...keysOf(i)).then(() => true, noRow);
    if ((deleted === true) !== wasThere) throw new Error(`row ${i}: deleted ${deleted}`);
  }

  // Writes the rows from `first`, up to the end of their partition, in a transaction.
  async #writeRange(table: Table<Row>, first: number): Promise<void> {
    const partitionEnd = (Math.floor(first / rowsPerPartition) + 1) * rowsPerPartition;
    const count = Math.min(inFlight, partitionEnd - first);
    this.#operations += count;
    const rows = Array.from({ length: count }, (_, k) => this.#newVersion(first + k));
    const actions = rows.map((row): TableAction<Row> => ["upsert", { ...row }, "Replace"]);
    await table.submitTransaction(actions);
  }

  async #listPartition(table: Table<Row>): Promise<void> {
    const partition = this.#random.below(this.#versions.length / rowsPerPartition);
    const begin = partition * rowsPerPartition;
    const [partitionKey] = keysOf(begin);
    let next = begin;
    const queryOptions = { filter: `PartitionKey eq '${partitionKey}'` };
    for await (const row of table.listEntities({ queryOptions })) {
      const at = indexOf(row);
      while (next < at) this.#checkAbsent(next++);
      this.#checkRow(at, row as Row);
      next = at + 1;
    }
    while (next < begin + rowsPerPartition) this.#checkAbsent(next++);
    this.#operations += rowsPerPartition;
  }

  #checkAbsent(i: number): void {
    if (this.#versions[i] !== absent) throw new Error(`row ${i} is missing`);
  }

  #checkRow(i: number, row: Row): void {
    const version = this.#versions[i] as number;
    if (row.n !== version || row.text !== textOf(i, version)) {
      throw new Error(`row ${i} has version ${row.n} instead of ${version}`);
    }
  }
}

const tableOf = (store: Store, durability: "deferred" | "relaxed" | "strict") =>
  store.table<Row>("rows", { durability });

const keysOf = (i: number): [string, string] => [
  `p${String(Math.floor(i / rowsPerPartition)).padStart(6, "0")}`,
  String(i % rowsPerPartition).padStart(4, "0"),
];

function rowOf(i: number, n: number): Row {
  const [partitionKey, rowKey] = keysOf(i);
  return { partitionKey, rowKey, n, text: textOf(i, n) };
}

// Each version has another size, so that the space of deleted rows is not simply used again.
const textOf = (i: number, n: number) => `${i} ${n} `.padEnd(textBytes + ((i + n) % 100), "x");

const indexOf = ({ partitionKey, rowKey }: { partitionKey: string; rowKey: string }) =>
  Number(partitionKey.slice(1)) * rowsPerPartition + Number(rowKey);

function noRow(error: unknown): undefined {
  if ((error as { statusCode?: number }).statusCode !== 404) throw error;
  return undefined;
}
