// Steps that insert rows: under a live query that sees them, with a reader of the change feed, and
// without.

import { promoteToOldSpace } from "../peers/timing.ts";
import { groupRows } from "../peers/workload.ts";
import { Callbacks } from "./callbacks.ts";
import { createRows, groupsOf, type RowGroup } from "./created-rows.ts";
import type { Values } from "./list-steps.ts";
import type { LiveDatabase, OpenLive } from "./live-adapter.ts";
import { type Kind, type Turns, timedTurns } from "./turns.ts";
import { type LiveRow, rowsUnder, under } from "./workload.ts";

export interface InsertOptions {
  rows: number; // of each kind, at most
  enoughMs: number;
}

// Inserts rows in turns. The partition keys of all of them begin with the same letter.
export class Inserts implements Kind {
  static readonly turnRows = 1000;
  inserted = 0; // with those of the present turn
  commits = 0;
  protected readonly db: LiveDatabase;
  protected readonly letter: string;
  readonly #groupRows: number; // in a transaction; 1: single inserts
  #rows: LiveRow[] = [];

  constructor(db: LiveDatabase, letter: string, isGrouped: boolean) {
    this.db = db;
    this.letter = letter;
    this.#groupRows = isGrouped ? groupRows : 1;
  }

  async prepare(): Promise<void> {
    this.#rows = promoteToOldSpace(rowsUnder(this.letter, this.inserted, Inserts.turnRows));
    this.inserted += Inserts.turnRows;
  }

  // One call after the other.
  async run(): Promise<void> {
    const rows = this.#rows;
    this.commits += Inserts.turnRows / this.#groupRows;
    if (this.#groupRows === 1) for (const row of rows) await this.db.insert(row);
    else
      for (let first = 0; first < Inserts.turnRows; first += groupRows)
        await this.db.insertGroup(rows.slice(first, first + groupRows));
  }
}

// The same under a live query that sees them. A turn ends when the query shows all of them.
class WatchedInserts extends Inserts {
  readonly callbacks = new Callbacks();
  readonly #reads: boolean; // whether the callback reads the result
  #live: OpenLive | undefined;

  constructor(db: LiveDatabase, letter: string, isGrouped: boolean, reads: boolean) {
    super(db, letter, isGrouped);
    this.#reads = reads;
  }

  override async prepare(): Promise<void> {
    this.#live = await this.db.live(under(this.letter), () => {
      if (this.#reads) this.#live?.read();
      this.callbacks.note();
    });
    await super.prepare();
  }

  override async run(): Promise<void> {
    await super.run();
    const live = this.#live as OpenLive;
    if (live.read().length < this.inserted)
      await this.callbacks.until(() => live.read().length === this.inserted);
  }

  async finish(): Promise<void> {
    await this.#live?.close();
  }
}

// Only creates the objects of such rows, and keeps them: the least that a live query has to do if
// it creates its own objects.
class CreatedRows implements Kind {
  readonly #created: object[] = [];
  readonly #groupRows: number;
  #groups: RowGroup[] = [];
  #prepared = 0;

  constructor(isGrouped: boolean) {
    this.#groupRows = isGrouped ? groupRows : 1;
  }

  prepare(): void {
    const rows = promoteToOldSpace(rowsUnder("y", this.#prepared, Inserts.turnRows));
    this.#prepared += Inserts.turnRows;
    this.#groups = groupsOf(rows, this.#groupRows);
  }

  run(): void {
    for (const group of this.#groups) createRows(group, this.#created);
  }
}

// The same with a reader of the change feed. A turn ends when the reader has all changes.
class FollowedInserts extends Inserts {
  readonly #callbacks = new Callbacks();
  #changes = 0;
  #feed: { close(): unknown } | undefined;

  override async prepare(): Promise<void> {
    this.#changes = this.inserted;
    this.#feed = await this.db.feed?.((rows) => {
      this.#changes += rows;
      this.#callbacks.note();
    });
    await super.prepare();
  }

  override async run(): Promise<void> {
    await super.run();
    await this.#callbacks.until(() => this.#changes === this.inserted);
  }

  async finish(): Promise<void> {
    await this.#feed?.close();
  }
}

// `name`: the beginning of the rows' ids in the result.
export async function insertsUnderQuery(
  db: LiveDatabase,
  isGrouped: boolean,
  reads: boolean,
  { rows, enoughMs }: InsertOptions,
): Promise<Values> {
  const name = `insert-${isGrouped ? "groups" : "single"}${reads ? "-read" : ""}`;
  const letters = lettersOf[name] as readonly [string, string];
  const watched = new WatchedInserts(db, letters[0], isGrouped, reads);
  const kinds: Kind[] = [watched, new Inserts(db, letters[1], isGrouped)];
  const showsFloor = "table" in db && !reads; // the rows are those that it creates
  if (showsFloor) kinds.push(new CreatedRows(isGrouped));
  const turns = await timedTurns(kinds, rows / Inserts.turnRows, enoughMs);
  return {
    [name]: turns.median(0) / Inserts.turnRows,
    [`${name}-without`]: turns.median(1) / Inserts.turnRows,
    [`${name}-ratio`]: turns.ratio(0, 1),
    [`${name}-notifications`]: watched.callbacks.count / watched.commits,
    ...(showsFloor ? floorOf(name, turns) : {}),
  };
}

function floorOf(name: string, turns: Turns): Values {
  return {
    [`${name}-objects`]: turns.median(2) / Inserts.turnRows,
    [`${name}-floor`]: 1 + turns.ratio(2, 1),
  };
}

// Different letters for each measurement, so that no rows meet.
const lettersOf: Readonly<Record<string, readonly [string, string]>> = {
  "insert-groups": ["a", "c"],
  "insert-groups-read": ["e", "g"],
  "insert-single": ["i", "k"],
  "insert-single-read": ["m", "q"],
};

export async function insertsWithFeed(
  db: LiveDatabase,
  { rows, enoughMs }: InsertOptions,
): Promise<Values> {
  if (db.feed === undefined) return {};
  const kinds = [new FollowedInserts(db, "s", true), new Inserts(db, "u", true)];
  const turns = await timedTurns(kinds, rows / Inserts.turnRows, enoughMs);
  return { feed: turns.median(0) / Inserts.turnRows, "feed-ratio": turns.ratio(0, 1) };
}

// Inserts in turns into three databases: in the first, a feed was read and closed before; the
// others never had one.
export async function insertsAfterFeed(
  databases: readonly [LiveDatabase, LiveDatabase, LiveDatabase],
  { rows, enoughMs }: InsertOptions,
): Promise<Values> {
  const [first] = databases;
  const followed = new FollowedInserts(first, "w", true);
  await followed.prepare();
  await followed.run();
  await followed.finish();
  const kinds = databases.map((db) => new Inserts(db, "y", true));
  const turns = await timedTurns(kinds, rows / Inserts.turnRows, enoughMs);
  return { "feed-closed-ratio": turns.ratio(0, 1), "feed-never-ratio": turns.ratio(2, 1) };
}
