// Steps on a live query of many rows: an update of one of them, identity, and opening.

import { promoteToOldSpace, timed, timedInterleaved } from "../peers/timing.ts";
import { groupRows, keyOf, partitionRows, random } from "../peers/workload.ts";
import { Callbacks } from "./callbacks.ts";
import type { LiveDatabase, OpenLive } from "./live-adapter.ts";
import {
  digestOf,
  firstRows,
  idOf,
  type LiveRow,
  type Query,
  randomBelow,
  rowAt,
} from "./workload.ts";

export type Values = Record<string, number>;

// Inserts the first rows. Yields to the event loop, as a page must.
export async function load(db: LiveDatabase, rows: number): Promise<void> {
  for (let first = 0; first < rows; first += groupRows) {
    await db.insertGroup(Array.from({ length: groupRows }, (_, k) => rowAt(first + k)));
    if (first % 10_000 === 0) await new Promise((resolve) => setTimeout(resolve));
  }
}

// A live query of the first rows, and updates of them.
export class WatchedRows {
  readonly #db: LiveDatabase;
  readonly #rows: number;
  readonly #callbacks = new Callbacks();
  #reads = false; // whether the callback reads the result
  #live: OpenLive | undefined;
  #updates = 0;

  constructor(db: LiveDatabase, rows: number) {
    this.#db = db;
    this.#rows = rows;
  }

  async open(): Promise<void> {
    this.#live = await this.#db.live(firstRows(this.#rows), () => {
      if (this.#reads) this.read();
      this.#callbacks.note();
    });
  }

  async close(): Promise<void> {
    await this.#live?.close();
  }

  read(): readonly LiveRow[] {
    return this.#live?.read() ?? [];
  }

  // Updates a random row, and waits until the query has shown it.
  readonly update = async (): Promise<number> => {
    const i = randomBelow(++this.#updates, 5, this.#rows);
    const { count } = this.#callbacks;
    const write = this.#db.update(keyOf(i), 1000 + this.#updates);
    await this.#callbacks.reach(count + 1);
    await write;
    return i;
  };

  // Throws unless the live query shows the rows that listing returns.
  async check(): Promise<void> {
    const listed = digestOf(await this.#db.list(firstRows(this.#rows)));
    const shown = digestOf(this.read());
    if (listed.count !== this.#rows || shown.count !== listed.count || shown.sum !== listed.sum)
      throw new Error(
        `wrong result: ${shown.count} rows are shown, and ${listed.count} listed of ${this.#rows}`,
      );
  }

  // Microseconds from the call to the callback.
  async callbackTime(): Promise<number> {
    return (await timed(this.update)) * 1000;
  }

  // Microseconds from the call until the callback has read the result.
  async resultTime(): Promise<number> {
    this.#reads = true;
    const ms = await timed(this.update);
    this.#reads = false;
    return ms * 1000;
  }
}

// Updates and identity with a live query of all rows. Checks the results first.
export async function updates(db: LiveDatabase, rows: number): Promise<Values> {
  const watched = new WatchedRows(db, rows);
  await watched.open();
  await watched.check();
  for (let i = 0; i < 3; ++i) await watched.update();
  await watched.check();
  const before = new Map(watched.read().map((row) => [idOf(row), row]));
  await watched.update();
  const same = watched.read().filter((row) => before.get(idOf(row)) === row).length;
  before.clear();
  promoteToOldSpace(before);
  const values = {
    identity: same,
    "update-callback": await watched.callbackTime(),
    "update-result": await watched.resultTime(),
  };
  await watched.check();
  await watched.close();
  return values;
}

// Opening a live query of a thousand rows, and listing them.
export async function opening(db: LiveDatabase, rows: number): Promise<Values> {
  const partition = (i: number): Query => {
    const first = random(i, 11) % (rows / partitionRows);
    const { partitionKey } = keyOf(first * partitionRows);
    return { kind: "partitions", from: partitionKey, to: `${partitionKey}~` };
  };
  const read = (found: readonly LiveRow[]) => {
    if (found.length !== partitionRows) throw new Error(`wrong result: ${found.length} rows`);
  };
  let closing: OpenLive[] = [];
  const open = async (i: number) => {
    const live = await db.live(partition(i), () => {});
    read(live.read());
    closing.push(live);
  };
  const list = async (i: number) => read(await db.list(partition(i)));
  const closeAll = async () => {
    for (const live of closing) await live.close();
    closing = [];
  };
  const [opened, listed] = await timedInterleaved([open, list, closeAll], 2000);
  await closeAll();
  if (opened === undefined || listed === undefined) throw new Error("nothing was timed");
  return { "open-1000": opened.ms, "list-1000": listed.ms, "open-ratio": listed.ratio };
}

// A live query of some rows in a table of many more. Returns microseconds.
export async function inLargeTable(db: LiveDatabase, rows: number, total: number): Promise<Values> {
  await load(db, total);
  const watched = new WatchedRows(db, rows);
  await watched.open();
  await watched.check();
  const values = {
    "million-callback": await watched.callbackTime(),
    "million-result": await watched.resultTime(),
  };
  await watched.check();
  await watched.close();
  return values;
}
