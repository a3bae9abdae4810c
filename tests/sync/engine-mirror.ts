// Runs a simulation over the real engine, beside the store of the simulation: each commit is made
// in both, by the code that makes it in an application, from what that store has. After each
// commit both must have the same, and so must what a new process reads after a crash.

import assert from "node:assert/strict";
import { RequestEncoder } from "../../web/src/client/request-encoder.ts";
import { ResponseDecoder } from "../../web/src/client/response-decoder.ts";
import type { Draft, Put, TableView } from "../../web/src/sync/draft.ts";
import type { TableName } from "../../web/src/sync/hidden-tables.ts";
import type { Key } from "../../web/src/sync/keys.ts";
import type { Properties } from "../../web/src/sync/properties.ts";
import { canonical, type Value } from "../../web/src/sync/value.ts";
import { EngineStore } from "../../web/src/sync-store/engine-store.ts";
import { createEngine, type Engine, PartsNeeded } from "../../web/src/wasm/engine.ts";
import { checkpoint, operationsOf, tables } from "./real-engine.ts";

const table = "people";
const otherTable = "other";
const nowMs = 1_700_000_000_000;
// Pages have few rows, but each of them is read ahead, and in part only.
const ahead = { keysMin: 1, rowsPerKey: 0, rowsFree: 1, bytesMax: 1 << 20 };
const clientsMax = 4;
const processesMax = 120; // of a simulation

/** What is stored: one segment for each commit, and what checkpoints have left. */
class Files {
  manifest: Uint8Array | undefined;
  covered = 0; // the commits in the manifest
  parts = new Map<number, Uint8Array>();
  segments: Uint8Array[] = []; // by commit, from 1

  copy(): Files {
    const copy = new Files();
    copy.manifest = this.manifest;
    copy.covered = this.covered;
    copy.parts = new Map(this.parts);
    copy.segments = [...this.segments];
    return copy;
  }
}

/** Engines that are created before a simulation, because nothing in it may wait for real time. */
export class EnginePool {
  readonly #engines: Engine[];
  #taken = 0;

  private constructor(engines: Engine[]) {
    this.#engines = engines;
  }

  static async open(): Promise<EnginePool> {
    const engines: Engine[] = [];
    while (engines.length < processesMax)
      engines.push(await createEngine({ preload: ["snapshot", "sync"], reusedBytesMax: 1 << 24 }));
    return new EnginePool(engines);
  }

  readonly mirrorOf = (index: number): EngineMirror =>
    new EngineMirror(index, () => {
      const engine = this.#engines[this.#taken++];
      if (engine === undefined) throw new Error(`There are more than ${processesMax} processes.`);
      return engine;
    });

  close(): void {
    for (const engine of this.#engines) engine.close();
  }
}

/** The disk of one client. */
export class EngineMirror {
  readonly #index: number; // of the client
  readonly #takeEngine: () => Engine;
  #files = new Files();
  #backup: Files | undefined;
  #opened = 0;
  #owner: MirroredProcess | undefined;
  #highest = 0; // commit that any process has made

  constructor(index: number, takeEngine: () => Engine) {
    assert(index < clientsMax);
    this.#index = index;
    this.#takeEngine = takeEngine;
    const first = new MirroredProcess(this, this.#open(0), this.#files);
    first.createTables();
    this.#owner = first;
    this.store(first.takeSegments());
  }

  /** The commits that create the tables. */
  get commitsBefore(): number {
    return 3;
  }

  store(segments: readonly [commit: number, bytes: Uint8Array][]): void {
    for (const [commit, bytes] of segments) this.#files.segments[commit - 1] = bytes;
  }

  onCommit(process: MirroredProcess, commit: number): void {
    this.#highest = Math.max(this.#highest, commit);
    if (process === this.#owner) this.store(process.takeSegments());
  }

  /** A new process has what the disk has kept up to this commit. */
  open(commit: number): MirroredProcess {
    this.#files.segments.length = commit;
    this.#files = this.#files.copy();
    const engine = this.#open(commit);
    this.#owner = new MirroredProcess(this, engine, this.#files);
    this.#opened += 1;
    if (this.#opened % 3 === 0) this.#owner.checkpoint(commit);
    return this.#owner;
  }

  #open(commit: number): Engine {
    const { manifest, segments, covered } = this.#files;
    const engine = this.#takeEngine();
    engine.recover(manifest);
    for (let sequence = covered + 1; sequence <= commit; ++sequence)
      engine.replaySegment(sequence, segments[sequence - 1] as Uint8Array);
    engine.finishRecovery();
    engine.enableSync();
    assert(!engine.isDamaged);
    assert.equal(engine.lastCommit, commit);
    return engine;
  }

  backUp(commit: number): void {
    this.#backup = this.#files.copy();
    this.#backup.segments.length = commit;
  }

  restore(): void {
    this.#files = (this.#backup as Files).copy();
  }

  /**
   * How many commits to make before the next local write. The ledger knows operations by the number
   * of their commit, so no number is used by two clients, or again after a crash.
   */
  commitsToSkip(lastCommit: number): number {
    let next = Math.max(lastCommit, this.#highest) + 1;
    while (next % clientsMax !== this.#index) next += 1;
    return next - lastCommit - 1;
  }
}

/** One process, with its own engine. */
export class MirroredProcess {
  readonly #disk: EngineMirror;
  readonly #engine: Engine;
  readonly #files: Files;
  readonly #store: EngineStore;
  readonly #encoder = new RequestEncoder(false);
  readonly #decoder = new ResponseDecoder();
  #segments: [number, Uint8Array][] = [];

  constructor(disk: EngineMirror, engine: Engine, files: Files) {
    this.#disk = disk;
    this.#engine = engine;
    this.#files = files;
    this.#store = new EngineStore(engine, table, ahead);
  }

  createTables(): void {
    this.#encoder.createTable(table, (message) => this.#send(message.slice()));
    this.#engine.setSynced(table, "begin", true, nowMs);
    this.#seal();
    this.#encoder.createTable(otherTable, (message) => this.#send(message.slice()));
  }

  takeSegments(): [number, Uint8Array][] {
    return this.#segments.splice(0);
  }

  /** A commit that has nothing to do with sync. */
  skip(): void {
    this.#write(otherTable, new Map([["p\0r", new Map()]]));
  }

  /** A local write, with its rows after it. */
  write(rows: ReadonlyMap<Key, Properties | undefined>, view: TableView): void {
    this.#write(table, rows);
    this.#compare(tables, view, new Set(rows.keys()));
  }

  #write(name: string, rows: ReadonlyMap<Key, Properties | undefined>): void {
    this.#encoder.write(name, operationsOf(rows), true, undefined, (message) =>
      this.#send(message.slice()),
    );
  }

  #send(message: Uint8Array): void {
    const staged = this.#withParts(() => this.#engine.stageAndPublish([message], nowMs));
    this.#decoder.etagsOfWrite(staged.responses[0] as Uint8Array);
    this.#seal();
  }

  #seal(): void {
    const sealed = this.#engine.seal();
    assert(sealed && sealed.segments.length === 1);
    assert.equal(sealed.sequence, this.#engine.lastCommit, "one segment for each commit");
    this.#engine.markStored(sealed.sequence);
    this.#segments.push([sealed.sequence, sealed.segments[0] as Uint8Array]);
    this.#disk.onCommit(this, sealed.sequence);
  }

  /** Decides again, from what the engine has. Both must lead to the same. */
  transact(decide: (draft: Draft) => unknown, expected: readonly Put[], isCommit: boolean): void {
    const { draft, changes } = this.#withParts(() => this.#store.apply(decide, true, nowMs));
    assert.deepEqual(contentOf(draft.puts), contentOf(expected));
    assert.equal(changes, isCommit);
    if (changes) this.#seal();
  }

  /** After a commit of sync. */
  compare(puts: readonly Put[], view: TableView): void {
    for (const { table: name, key } of puts) this.#compareValue(name, key, view);
    assert.equal(this.#engine.lastCommit, view.commit);
  }

  read(look: (view: TableView) => unknown): void {
    this.#withParts(() => this.#store.read(look));
  }

  compareAll(view: TableView): void {
    this.#compare(tables, view, undefined);
    assert.equal(this.#engine.verify(), "");
  }

  #compare(names: readonly TableName[], view: TableView, keys: ReadonlySet<Key> | undefined): void {
    for (const name of names) {
      const isByKey =
        name === "rows" || name === "bases" || name === "settling" || name === "marks";
      const some = isByKey ? keys : undefined;
      if (some) for (const key of some) this.#compareValue(name, key, view);
      else assert.deepEqual(this.#entries(name), entriesOf(view, name), name);
    }
  }

  #entries(name: TableName): unknown {
    return this.#withParts(() => {
      const read = this.#store.read((view) => entriesOf(view, name));
      return read instanceof PartsNeeded ? read : read.result;
    });
  }

  #compareValue(name: TableName, key: string, view: TableView): void {
    const { value } = this.#withParts(() => {
      const read = this.#store.read((real) => ({ value: valueAt(real, name, key) }));
      return read instanceof PartsNeeded ? read : read.result;
    });
    assert.deepEqual(value, valueAt(view, name, key), `${name} ${key}`);
  }

  #withParts<T>(call: () => T | PartsNeeded): T {
    for (;;) {
      const result = call();
      if (!(result instanceof PartsNeeded)) return result;
      for (const id of result.ids) this.#engine.loadPart(id, this.#files.parts.get(id));
    }
  }

  /** Stores a checkpoint. From then on, parts are not in memory when the store is opened. */
  checkpoint(commit: number): void {
    const files = this.#files;
    const end = checkpoint(this.#engine, files.parts, nowMs);
    if (end === undefined) return;
    files.manifest = end.manifest;
    files.covered = commit;
    this.#engine.markCheckpointCommitted();
  }
}

const valueAt = (view: TableView, name: TableName, key: string): unknown =>
  comparable(name, view.get(name, key), view.get("bases", key) !== undefined);

const entriesOf = (view: TableView, name: TableName): unknown =>
  [...view.entries(name, "")].map(([key, value]) => [
    key,
    comparable(name, value, view.get("bases", key) !== undefined),
  ]);

const contentOf = (puts: readonly Put[]): unknown =>
  new Map(
    puts.map(({ table: name, key, value }) => [`${name} ${key}`, comparable(name, value, false)]),
  );

/**
 * The stores give dirty rows different versions. The engine keeps no member that is undefined, and
 * returns the texts of values as the service does.
 */
function comparable(name: TableName, value: unknown, isDirty: boolean): unknown {
  const all = withoutUndefined(value);
  return name === "rows" && isDirty ? { ...(all as object), version: undefined } : all;
}

function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (value instanceof Map)
    return new Map([...value].map(([member, of]) => [member, withoutUndefined(of)]));
  if (typeof value !== "object" || value === null || value instanceof Set) return value;
  if ("type" in value && "value" in value) return [value.type, canonical(value as Value)];
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([member, of]) => [member, withoutUndefined(of)]));
}
