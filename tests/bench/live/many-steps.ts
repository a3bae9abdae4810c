// Steps on many live queries: what they add to a commit, and their memory.

import { now, yieldToEventLoop } from "../peers/timing.ts";
import { type Key, keyOf, partitionRows } from "../peers/workload.ts";
import { load, type Values } from "./list-steps.ts";
import type { LiveDatabase } from "./live-adapter.ts";
import { timedTurns } from "./turns.ts";
import { leastCount, mixture, type Query, rowAt, selects } from "./workload.ts";

const turnMs = 3; // about how long a turn of updates takes
const turnsMax = 200;
const enoughMs = 2500;
const openedTogether = 100;

export class ManyQueries {
  readonly #with: LiveDatabase;
  readonly #without: LiveDatabase;
  readonly #queries: number;
  readonly #mixture: readonly Query[];
  readonly #selectingRow = new Map<number, readonly number[]>(); // queries by row
  readonly #isAwaited: Uint8Array; // by query: its callback is awaited
  #left = 0; // how many callbacks are awaited
  #onLast = () => {};
  #updates = 0;

  // The queries are on the first database.
  constructor(databases: readonly [LiveDatabase, LiveDatabase], queries: number) {
    [this.#with, this.#without] = databases;
    this.#queries = queries;
    this.#mixture = mixture(queries);
    this.#isAwaited = new Uint8Array(queries);
  }

  // Inserts rows into both databases, with a partition that no query reads.
  async load(): Promise<void> {
    for (const db of new Set([this.#with, this.#without]))
      await load(db, this.#watchedRows + partitionRows);
  }

  // Opens all queries, a hundred at a time. Returns the microseconds for each. `counts`: opens only
  // live counts.
  async open(counts: boolean): Promise<Values> {
    const db = this.#with;
    const open = (query: Query, q: number) =>
      counts ? db.liveCount?.(query) : db.live(query, () => this.#onChange(q));
    const began = now();
    for (let first = 0; first < this.#queries; first += openedTogether) {
      const some = this.#mixture.slice(first, first + openedTogether);
      await Promise.all(some.map((query, i) => open(query, first + i)));
      await yieldToEventLoop();
    }
    return { "many-open": ((now() - began) * 1000) / this.#queries };
  }

  // Waits until an update has called back each query that selects its row.
  async check(): Promise<void> {
    for (let i = 0; i < this.#watchedRows; i += this.#watchedRows / 3) await this.#updateSeen(i);
  }

  async measure(): Promise<Values> {
    const calls = await this.#callsOfTurn();
    const hitRows = Array.from({ length: calls }, (_, i) => (i * 7) % this.#watchedRows);
    const hits = hitRows.reduce((sum, i) => sum + this.#selecting(i).length, 0);
    const missed = (db: LiveDatabase) => ({
      run: async () => {
        for (let i = 0; i < calls; ++i) await this.#update(db, keyOf(this.#watchedRows + i));
      },
    });
    const hit = {
      run: async () => {
        for (const i of hitRows) await this.#updateSeen(i);
      },
    };
    const turns = await timedTurns(
      [missed(this.#with), missed(this.#without), hit],
      turnsMax,
      enoughMs,
    );
    return {
      "many-none": turns.median(1) / calls,
      "many-missed": turns.difference(0, 1) / calls,
      "many-hit": turns.difference(2, 1) / hits,
      "many-hits": hits / calls,
    };
  }

  get #watchedRows(): number {
    return (this.#queries / 10) * 9;
  }

  async #update(db: LiveDatabase, key: Key): Promise<void> {
    await db.update(key, leastCount + ++this.#updates);
  }

  // Returns how many updates take about as long as a turn.
  async #callsOfTurn(): Promise<number> {
    const began = now();
    let calls = 0;
    while (calls < 100 && now() - began < turnMs)
      await this.#update(this.#without, keyOf(this.#watchedRows + calls++));
    return calls;
  }

  // Updates a row that queries select, and waits for the callbacks of all of them.
  async #updateSeen(i: number): Promise<void> {
    const selecting = this.#selecting(i);
    this.#left = selecting.length;
    for (const query of selecting) this.#isAwaited[query] = 1;
    const called = new Promise<void>((resolve) => {
      this.#onLast = resolve;
    });
    await this.#update(this.#with, keyOf(i));
    await called;
  }

  readonly #onChange = (query: number): void => {
    if (this.#isAwaited[query] !== 1) return;
    this.#isAwaited[query] = 0;
    this.#left -= 1;
    if (this.#left === 0) this.#onLast();
  };

  // Returns the queries that select this row if its count is at least leastCount.
  #selecting(i: number): readonly number[] {
    let selecting = this.#selectingRow.get(i);
    if (selecting === undefined) {
      const row = { ...rowAt(i), count: leastCount };
      // The first queries are for one row each, in the order of the rows.
      selecting = this.#mixture.flatMap((query, q) =>
        q === i || (q >= this.#watchedRows && selects(query, row)) ? [q] : [],
      );
      this.#selectingRow.set(i, selecting);
    }
    return selecting;
  }
}
