// Loads, checks and measures one database in one round. Runs in a page, its worker, or a Node
// process. Each method is a step that the driver requests; its result can be posted.

import { aloneBytes, floorIn, handOverToBrowser, insertBytes } from "./adapters/floor.ts";
import { adapters } from "./adapters/index.ts";
import { type CommitPhases, CommitTimer } from "./commit-timing.ts";
import type { Database, DatabaseAdapter, Level, MaybePromise } from "./database-adapter.ts";
import type { DatabaseId, FloorId } from "./databases.ts";
import {
  median,
  now,
  promoteToOldSpace,
  startClock,
  stopClock,
  type Timed,
  timed,
  timedInterleaved,
  timedUpTo,
  yieldToEventLoop,
} from "./timing.ts";
import { wasmMemoryBytes } from "./wasm-memory.ts";
import {
  add,
  type Digest,
  digest,
  type Entity,
  entityAt,
  filterFor,
  filterForNothing,
  groupRows,
  type Key,
  keyOf,
  newEntities,
  random,
  rangeAt,
  rangeRows,
  samples,
} from "./workload.ts";

export interface SessionOptions {
  id: DatabaseId | FloorId;
  entities: number;
  seed: number; // decides which keys are read; different in each round
  budgetMs: number; // for a load
  node: InNode | undefined; // only for databases that run in Node
}

export interface InNode {
  package: string; // the URL of entitable's entry
  folder: string; // for files
}

// Texts by which the driver recognizes errors: only an error's text leaves a page.
export const wrong = "wrong result";
export const overBudget = "over budget";

export interface Load {
  each: number; // microseconds
  growth: number; // the duration of the last tenth, as a multiple of the first
  phases?: CommitPhases; // phases of each transaction
}

// Times of single deferred writes, in microseconds.
export interface Writes {
  each: number;
  median: number; // of the batches; most of them contain no storing and no garbage collection
}

export interface Inserts extends Writes {
  first: number; // each of the first thousand inserts of a page
}

// Raw puts that correspond to these writes. No put starts after `enoughMs`.
export interface RawPuts {
  level: Level;
  bytes: number; // of one write
  together: number;
  count: number;
  enoughMs: number;
}

// Microseconds per write.
export interface PutFloor {
  put: number;
  file?: number; // for a file in the layout of IDBFS
  phases?: CommitPhases; // phases of each of these puts
}

export type Values = Record<string, number>;

// Times of inserts and of raw puts made alternately. Milliseconds; `puts`: an insert's time as a
// multiple of a put's.
export interface InterleavedTimes {
  insert: number;
  put: number;
  puts: number;
  file?: { put: number; puts: number; phases?: CommitPhases };
  phases?: CommitPhases; // of the inserts
}

const insertsDurable = 200;
const insertsDeferred = 60_000;
const firstInserts = 1000;
const handOvers = 20;
const handedOver = 6000; // per hand-over: about as many as one transaction has
export const inFlight = 1000;
const inFlightBatches = 20;
const merges = 30_000;
const idleMs = 2000; // at least, and what a checkpoint of all that there is takes:
const idleMsPerEntity = 0.01; // of an entity
const deletedMs = 200; // after reporting a deletion, the browser is still busy with it for a while

export class Session {
  readonly #o: SessionOptions;
  readonly #adapter: DatabaseAdapter;
  #db: Database | undefined;
  #keys: Key[] = []; // the keys to read, in random order
  #inserted = 0; // number of new entities

  constructor(options: SessionOptions) {
    this.#o = options;
    this.#adapter = adapters[options.id](options.node);
    this.#keys = Array.from({ length: 4096 }, (_, k) => keyOf(this.#randomIndex(k)));
  }

  levels(): Level[] {
    return [...this.#adapter.levels];
  }

  async prepare(): Promise<void> {
    await this.#adapter.prepare();
  }

  // Opens the database. If `fresh`, removes the data of earlier rounds first.
  async open(name: string, level: Level, fresh: boolean): Promise<void> {
    if (fresh) await this.#adapter.remove(name).catch(() => {});
    this.#db = await this.#adapter.open(name, level, fresh);
  }

  async close(): Promise<void> {
    await this.#database.close();
    this.#db = undefined;
  }

  async flush(): Promise<void> {
    await this.#database.flush();
  }

  // Waits until the work that writes left behind is done.
  async idle(): Promise<void> {
    await sleep(Math.max(idleMs, idleMsPerEntity * this.#o.entities));
  }

  async remove(name: string): Promise<void> {
    await this.#adapter.remove(name);
  }

  // ---- Loading ----------------------------------------------------------------------------------

  // Loads this many entities, `together` transactions at a time. Returns microseconds per entity.
  // After `enoughMs`, starts no further transaction. `watch`: measures the phases of commits.
  async load(count: number, together: number, enoughMs: number, watch: boolean): Promise<Load> {
    const commitTimer = watch ? new CommitTimer() : undefined;
    const tenth = Math.max(count / 10, groupRows);
    const tenths: number[] = [];
    let total = 0;
    let loaded = 0;
    for (; loaded < count && total < enoughMs; loaded += tenth) {
      const first = loaded;
      const groups = promoteToOldSpace(groupsOf(first, Math.min(tenth, count - first)));
      const ms = await this.#loadGroups(groups, together, commitTimer);
      tenths.push(ms);
      total += ms;
      if (total > this.#o.budgetMs) throw new Error(overBudget);
    }
    const growth = (tenths.at(-1) as number) / (tenths[0] as number);
    commitTimer?.end();
    return { each: (total * 1000) / loaded, growth, ...phasesIn(commitTimer) };
  }

  async #loadGroups(
    groups: Entity[][],
    together: number,
    commitTimer: CommitTimer | undefined,
  ): Promise<number> {
    const db = this.#database;
    const insert = () => db.insertGroup(groups[next++] as Entity[]);
    let next = 0;
    const loader = async () => {
      for (let yieldedAt = now(); next < groups.length; ) {
        await (commitTimer === undefined ? insert() : commitTimer.measure(insert));
        if (now() - yieldedAt < 50) continue;
        await yieldToEventLoop();
        yieldedAt = now();
      }
    };
    const started = startClock();
    await Promise.all(Array.from({ length: together }, loader));
    return stopClock(started);
  }

  // ---- Checking ---------------------------------------------------------------------------------

  // Returns the results of reads, which the driver compares with the expected ones (expected.ts).
  async check(): Promise<Record<string, Digest>> {
    const db = this.#database;
    const { entities } = this.#o;
    const of = (rows: readonly unknown[]) => digest(rows.map((row) => db.entity(row)));
    const checked: Record<string, Digest> = {};
    for (const i of samples(entities)) {
      const { partitionKey, rowKey } = keyOf(i);
      checked[`get ${i}`] = of([await db.get(partitionKey, rowKey)]);
      checked[`range ${i}`] = of(await db.range(rangeAt(i)));
      checked[`partition ${i}`] = of(await db.partition(partitionKey, filterFor(i)));
    }
    checked["get-many"] = of(await db.getMany(samples(entities).map(keyOf)));
    checked["scan-some"] = of(await db.scan(filterFor(7)));
    checked["scan-none"] = of(await db.scan(filterForNothing));
    const all: Digest = { count: 0, sum: 0 };
    await db.all((rows) => {
      for (const row of rows) add(all, db.entity(row));
    });
    checked["all"] = all;
    return checked;
  }

  // Throws if a write did not have its effect.
  async checkWrites(): Promise<void> {
    const db = this.#database;
    const { partitionKey, rowKey } = keyOf(0);
    const before = { ...db.entity(await db.get(partitionKey, rowKey)) };
    const row = await db.get(partitionKey, rowKey);
    const stale = db.token(row);
    const old = typeof stale === "number" ? stale : String(stale);
    await db.merge(partitionKey, rowKey, 1234);
    const merged = db.entity(await db.get(partitionKey, rowKey));
    same({ ...merged, version: 0 }, { ...before, count: 1234, version: 0 });
    const token = db.token(await db.get(partitionKey, rowKey));
    const applied = await db.mergeIf(partitionKey, rowKey, before.count, token);
    if (!applied) throw new Error(`${wrong}: a merge with the right token was refused`);
    if (await db.mergeIf(partitionKey, rowKey, 77, old)) {
      throw new Error(`${wrong}: a merge with an old token was applied`);
    }
    const after = db.entity(await db.get(partitionKey, rowKey));
    same({ ...after, version: 0 }, { ...before, version: 0 });
  }

  // ---- Reading ----------------------------------------------------------------------------------

  // Returns how many milliseconds one call takes; per entity if the call is for many.
  async read(row: string): Promise<number> {
    const { entities } = this.#o;
    switch (row) {
      case "get":
        return await timed((i) => this.one(i));
      case "get-many":
        return (await timed((i) => this.#database.getMany(this.#hundred(i)))) / 100;
      case "range":
        return await this.#rows(
          (i) => this.#database.range(rangeAt(this.#randomIndex(i))),
          rangeRows,
        );
      case "partition":
        return await this.#rows((i) => {
          const { partitionKey } = this.#key(i);
          return this.#database.partition(partitionKey, filterFor(random(i, 1)));
        });
      case "scan-some":
        return await this.#rows((i) => this.#database.scan(filterFor(i)));
      case "scan-none":
        return await this.#rows(() => this.#database.scan(filterForNothing), 0);
      case "all":
        return (await timed(() => this.#readAll())) / entities;
      default:
        throw new Error(`no such row: ${row}`);
    }
  }

  // Runs one point read. If the database runs in a worker, the page requests it.
  one(i: number): MaybePromise<unknown> {
    const { partitionKey, rowKey } = this.#key(i);
    return this.#database.get(partitionKey, rowKey);
  }

  // Measures reads that must return `count` rows.
  async #rows(
    read: (i: number) => MaybePromise<readonly unknown[]>,
    count?: number,
  ): Promise<number> {
    return await timed(async (i) => {
      const { length } = await read(i);
      if (count !== undefined && length !== count) throw new Error(`${wrong}: ${length} rows came`);
    });
  }

  async #readAll(): Promise<void> {
    let count = 0;
    let sum = 0; // using a property ensures that each row is really read
    await this.#database.all((rows) => {
      count += rows.length;
      for (const row of rows) sum += (row as { count: number }).count;
    });
    if (!(sum > 0)) throw new Error(`${wrong}: their properties are missing`);
    if (count !== this.#o.entities) throw new Error(`${wrong}: ${count} entities came`);
  }

  // ---- Writing ----------------------------------------------------------------------------------

  async insert(): Promise<Inserts> {
    const entities = this.#new(firstInserts + insertsDeferred);
    const insert = (i: number) => this.#database.insert(entities[i] as Entity);
    const began = now();
    for (let i = 0; i < firstInserts; ++i) await insert(i);
    const first = ((now() - began) * 1000) / firstInserts;
    const times = await timedUpTo(insertsDeferred, (i) => insert(firstInserts + i));
    same(await this.#entity(entities[0] as Entity), entities[0]);
    return { ...written(times), first };
  }

  // Measures inserts, alternately with the shortest possible write to the same storage. With
  // `files`, also alternately with a write in the layout of IDBFS.
  async insertInterleavedWithFloor(level: Level, files: boolean): Promise<InterleavedTimes> {
    const entities = this.#new(insertsDurable);
    const { put, putFile, remove } = await floorIn(this.#o.node?.folder, level, aloneBytes);
    const insert = (i: number) => this.#database.insert(entities[i] as Entity);
    const commitTimer = files && putFile !== undefined ? new CommitTimer() : undefined;
    const kinds =
      commitTimer === undefined || putFile === undefined
        ? [insert, put]
        : [
            (i: number) => commitTimer.measure(() => insert(i)),
            put,
            (i: number) => commitTimer.measure(() => putFile(i), "file"),
          ];
    const [first, second, third] = await timedInterleaved(kinds, entities.length);
    commitTimer?.end();
    await remove();
    await sleep(deletedMs);
    same(await this.#entity(entities[0] as Entity), entities[0]);
    if (first === undefined || second === undefined) throw new Error("nothing was timed");
    const times = {
      insert: first.ms,
      put: second.ms,
      puts: second.ratio,
      ...phasesIn(commitTimer),
    };
    if (third === undefined) return times;
    return {
      ...times,
      file: { put: third.ms, puts: third.ratio, ...phasesIn(commitTimer, "file") },
    };
  }

  // Returns how many microseconds per insert this thread takes to pass the stored bytes to the
  // browser.
  async handOver(): Promise<number> {
    const times: number[] = [];
    for (let i = 0; i < handOvers; ++i)
      times.push(await handOverToBrowser(handedOver * insertBytes));
    return (median(times) * 1000) / handedOver;
  }

  // Measures the shortest possible time of writes with this many bytes each, if the storage stores
  // that many together.
  async putWrites({ level, bytes, together, count, enoughMs }: RawPuts): Promise<PutFloor> {
    const { put, putFile, remove } = await floorIn(this.#o.node?.folder, level, bytes * together);
    const each = async (one: (i: number) => Promise<unknown>) => {
      const started = now();
      let done = 0;
      while (done * together < count && now() - started < enoughMs) await one(done++);
      return ((now() - started) * 1000) / (done * together);
    };
    const raw = await each(put);
    const commitTimer = putFile && new CommitTimer();
    const file = commitTimer && (await each((i) => commitTimer.measure(() => putFile(i))));
    commitTimer?.end();
    await remove();
    return file === undefined ? { put: raw } : { put: raw, file, ...phasesIn(commitTimer) };
  }

  async insertInFlight(): Promise<number> {
    const batches = Array.from({ length: inFlightBatches }, () => this.#new(inFlight));
    const insert = (i: number) => this.#database.insertInFlight(batches[i] as Entity[]);
    const { median: ms } = await timedUpTo(inFlightBatches, insert);
    const last = batches[0]?.at(-1) as Entity;
    same(await this.#entity(last), last);
    return ms / inFlight;
  }

  async merge(conditional: boolean): Promise<Writes> {
    const db = this.#database;
    const keys = this.#distinctKeys(merges);
    const tokens: unknown[] = [];
    for (const began = now(); conditional && tokens.length < keys.length; ) {
      const { partitionKey, rowKey } = keys[tokens.length] as Key;
      tokens.push(db.token(await db.get(partitionKey, rowKey)));
      if (now() - began > 1000) break;
    }
    promoteToOldSpace([keys, tokens]);
    const times = await timedUpTo(conditional ? tokens.length : keys.length, async (i) => {
      const { partitionKey, rowKey } = keys[i] as Key;
      const applied = conditional
        ? await db.mergeIf(partitionKey, rowKey, i, tokens[i])
        : await db.merge(partitionKey, rowKey, i);
      if (conditional && !applied)
        throw new Error(`${wrong}: a merge with the right token was refused`);
    });
    return written(times);
  }

  // Returns the bytes of all wasm memories.
  memory(): number {
    return wasmMemoryBytes();
  }

  // ---- Parts ------------------------------------------------------------------------------------

  get #database(): Database {
    if (this.#db === undefined) throw new Error("it is not open");
    return this.#db;
  }

  async #entity({ partitionKey, rowKey }: Key): Promise<Entity> {
    return this.#database.entity(await this.#database.get(partitionKey, rowKey));
  }

  #randomIndex(i: number): number {
    return random(i, this.#o.seed) % this.#o.entities;
  }

  #key(i: number): Key {
    return this.#keys[i & 4095] as Key;
  }

  #hundred(i: number): Key[] {
    const first = (i * 100) % 3900;
    return this.#keys.slice(first, first + 100);
  }

  #distinctKeys(count: number): Key[] {
    const { entities } = this.#o;
    const step = 7919; // prime, so that no index repeats
    const keys = Math.min(count, entities);
    return Array.from({ length: keys }, (_, k) =>
      keyOf((this.#randomIndex(0) + k * step) % entities),
    );
  }

  #new(count: number): Entity[] {
    const entities = newEntities(this.#o.entities + this.#inserted, count);
    this.#inserted += count;
    return promoteToOldSpace(entities);
  }
}

const groupsOf = (first: number, count: number): Entity[][] =>
  Array.from({ length: count / groupRows }, (_, group) =>
    Array.from({ length: groupRows }, (__, k) => entityAt(first + group * groupRows + k)),
  );

const sleep = (ms: number) => new Promise((over) => setTimeout(over, ms));

const written = ({ mean, median }: Timed): Writes => ({ each: mean * 1000, median: median * 1000 });

function phasesIn(commitTimer: CommitTimer | undefined, kind?: string): { phases?: CommitPhases } {
  const phases = commitTimer?.of(kind);
  return phases === undefined ? {} : { phases };
}

function same(found: Entity, wanted: Entity | undefined): void {
  if (wanted === undefined) throw new Error("nothing to compare with");
  const [a, b] = [digest([found]), digest([wanted])];
  if (a.sum !== b.sum)
    throw new Error(
      `${wrong}: what was written is not what is read: ${shown(found)} for ${shown(wanted)}`,
    );
}

const shown = (entity: Entity) =>
  JSON.stringify(entity, (_, value) => (typeof value === "bigint" ? `${value}` : value));
