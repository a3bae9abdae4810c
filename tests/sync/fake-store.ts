// A store as sync sees it, in memory, on a disk that loses what was not stored. Commits are stored
// in order, some time after they were made; a crash keeps any prefix that has all stored ones.

import { baseOfLocalRow } from "../../web/src/sync/base.ts";
import { changeBetween } from "../../web/src/sync/change.ts";
import { byCodeUnit, Draft, type Put, type TableView } from "../../web/src/sync/draft.ts";
import type {
  HiddenTables,
  LocalRow,
  OutboxOp,
  TableName,
} from "../../web/src/sync/hidden-tables.ts";
import { type Key, partitionOf } from "../../web/src/sync/keys.ts";
import { outboxKey } from "../../web/src/sync/partition-log.ts";
import type { Properties } from "../../web/src/sync/properties.ts";
import type { SyncStore } from "../../web/src/sync/store.ts";
import type { EngineMirror, MirroredProcess } from "./engine-mirror.ts";
import type { Scheduler } from "./scheduler.ts";

/** Identifies one operation of one local commit, also after it got another number. */
export const idOf = (op: Pick<OutboxOp, "group" | "key">): string => `${op.group}:${op.key}`;

export type OpState = "pending" | "confirmed" | "folded" | "equal" | "discarded";

/** What one commit changed. The journal is the harness's: what became of each operation. */
export interface Commit {
  readonly puts: readonly Put[];
  readonly journal: readonly (readonly [id: string, state: OpState])[];
}

export class Contents {
  readonly tables = new Map<TableName, SortedTable>();
  readonly journal = new Map<string, OpState>();
  commit = 0;

  table(name: TableName): SortedTable {
    let table = this.tables.get(name);
    if (table === undefined) {
      table = new SortedTable();
      this.tables.set(name, table);
    }
    return table;
  }

  apply({ puts, journal }: Commit): void {
    this.commit += 1;
    for (const { table, key, value } of puts) this.table(table).set(key, value);
    for (const [id, state] of journal) this.journal.set(id, state);
  }

  copy(): Contents {
    const copy = new Contents();
    copy.commit = this.commit;
    for (const [name, table] of this.tables) {
      for (const [key, value] of table.values) copy.table(name).set(key, value);
    }
    for (const [id, state] of this.journal) copy.journal.set(id, state);
    return copy;
  }
}

class SortedTable {
  readonly values = new Map<string, unknown>();
  #sorted: string[] | undefined;

  set(key: string, value: unknown): void {
    if (value === undefined ? this.values.has(key) : !this.values.has(key)) {
      this.#sorted = undefined;
    }
    if (value === undefined) this.values.delete(key);
    else this.values.set(key, value);
  }

  get sorted(): string[] {
    this.#sorted ??= [...this.values.keys()].sort(byCodeUnit);
    return this.#sorted;
  }
}

/** The commit was not made. */
export class StorageFailure extends Error {}

class PartsNeeded extends Error {}

/** What is stored, and what may be. */
export class Disk {
  readonly #scheduler: Scheduler;
  /** The chance that a commit of sync fails. */
  failures = 0;
  /** The chance that a read needs a part that is not loaded. */
  unloaded = 0;
  /** Of how many commits a process remembers the keys. */
  commitsRemembered = Number.POSITIVE_INFINITY;
  #stored = new Contents();
  #unstored: Commit[] = [];
  #waiting: { commit: number; resolve: () => void }[] = [];
  #owner: FakeStore | undefined;
  readonly onCommit: (store: FakeStore, commit: Commit) => void;
  readonly #mirror: EngineMirror | undefined;

  /** `mirror`: makes the same commits in the real engine. */
  constructor(
    scheduler: Scheduler,
    onCommit: (store: FakeStore, commit: Commit) => void,
    mirror?: EngineMirror,
  ) {
    this.#scheduler = scheduler;
    this.onCommit = onCommit;
    this.#mirror = mirror;
    this.#stored.commit = mirror?.commitsBefore ?? 0;
  }

  /** What is stored now, for `restore`. */
  backUp(): Contents {
    this.#mirror?.backUp(this.#stored.commit);
    return this.#stored.copy();
  }

  /** Replaces what is stored by an older copy. REQUIRES: no process has the store open. */
  restore(backup: Contents): void {
    this.#mirror?.restore();
    this.#stored = backup.copy();
    this.#unstored = [];
    this.#owner = undefined;
  }

  /** Calls `look` again, and later, while a part that it needs is not loaded. */
  async withParts<T>(view: TableView, look: (view: TableView) => T): Promise<T> {
    while (this.unloaded > 0 && this.#scheduler.chance(this.unloaded)) {
      try {
        look(new UnloadedView(view, this.#scheduler.below(12)));
      } catch (error) {
        if (!(error instanceof PartsNeeded)) throw error;
        const loadingMs = this.#scheduler.fraction(8);
        await new Promise<void>((resolve) => this.#scheduler.after(loadingMs, resolve));
      }
    }
    return look(view);
  }

  get fails(): boolean {
    return this.failures > 0 && this.#scheduler.chance(this.failures);
  }

  /** Opens the store in a new process. The process before it, if it lives, can store no more. */
  open(): FakeStore {
    const kept = this.#scheduler.below(this.#unstored.length + 1);
    for (const commit of this.#unstored.slice(0, kept)) this.#stored.apply(commit);
    this.#unstored = [];
    this.#waiting = [];
    const mirrored = this.#mirror?.open(this.#stored.commit);
    this.#owner = new FakeStore(this, this.#stored.copy(), mirrored);
    mirrored?.compareAll(this.#owner.view);
    return this.#owner;
  }

  commitsToSkip(lastCommit: number): number {
    return this.#mirror?.commitsToSkip(lastCommit) ?? 0;
  }

  /** Called by a store after each commit. */
  add(store: FakeStore, commit: Commit): void {
    if (store !== this.#owner) return;
    this.#unstored.push(commit);
    const number = store.view.commit;
    this.#scheduler.after(this.#scheduler.fraction(25), () => this.#store(store, number));
  }

  #store(store: FakeStore, number: number): void {
    if (store !== this.#owner) return;
    while (this.#stored.commit < number) this.#stored.apply(this.#unstored.shift() as Commit);
    store.storedCommit = number;
    const ready = this.#waiting.filter(({ commit }) => commit <= number);
    this.#waiting = this.#waiting.filter(({ commit }) => commit > number);
    for (const { resolve } of ready) resolve();
  }

  stored(store: FakeStore): Promise<void> {
    const commit = store.view.commit;
    return new Promise((resolve) => {
      if (store.storedCommit >= commit) resolve();
      else if (store === this.#owner) this.#waiting.push({ commit, resolve });
    });
  }
}

export class FakeStore implements SyncStore {
  readonly #disk: Disk;
  readonly #contents: Contents;
  readonly #touched = new Map<Key, number>();
  readonly #mirrored: MirroredProcess | undefined;
  /** For the harness: sync itself reads with `read`. */
  readonly view: TableView;
  /** Hands a result to the process that has the store open. */
  deliver: <T>(result: Promise<T>) => Promise<T> = (result) => result;
  /** What this process knows to be stored, also when it is not the owner any more. */
  storedCommit: number;

  constructor(disk: Disk, contents: Contents, mirrored?: MirroredProcess) {
    this.#disk = disk;
    this.#contents = contents;
    this.#mirrored = mirrored;
    this.storedCommit = contents.commit;
    this.view = new StoreView(contents, this.#touched, disk.commitsRemembered);
  }

  get commit(): number {
    return this.view.commit;
  }

  read<T>(look: (view: TableView) => T): Promise<T> {
    this.#mirrored?.read(look);
    return this.deliver(this.#disk.withParts(this.view, look));
  }

  transact<T>(decide: (draft: Draft) => T): Promise<T> {
    return this.deliver(this.#disk.withParts(this.view, (view) => this.#decide(view, decide)));
  }

  #decide<T>(view: TableView, decide: (draft: Draft) => T): T {
    const draft = new Draft(view);
    const result = decide(draft);
    if (view !== this.view) return result; // will be called again
    if (this.#disk.fails) throw new StorageFailure("The disk is full.");
    const journal = draft.settled.map(({ op, how }) => [idOf(op), how] as const);
    // As in the engine: there is no commit if all that it should erase is absent. The keys count as
    // touched all the same.
    const puts = draft.puts.filter(
      ({ table, key, value }) => value !== undefined || this.view.get(table, key) !== undefined,
    );
    this.#mirrored?.transact(decide, draft.puts, puts.length > 0);
    const commit = this.commit + 1;
    this.#commit({ puts, journal });
    for (const { table, key } of draft.puts) this.#touch(table, key, commit);
    this.#mirrored?.compare(puts, this.view);
    return result;
  }

  #touch(table: TableName, key: Key, commit: number): void {
    if (table === "rows" || table === "bases") this.#touched.set(key, commit);
  }

  compareWithEngine(): void {
    this.#mirrored?.compareAll(this.view);
  }

  stored(): Promise<void> {
    return this.deliver(this.#disk.stored(this));
  }

  keys(table: TableName): readonly string[] {
    return this.#contents.table(table).sorted;
  }

  get journal(): ReadonlyMap<string, OpState> {
    return this.#contents.journal;
  }

  /**
   * A local commit: the rows and the outbox together, as the core does it. Each new row is a
   * function of the row before. All keys are of one partition. The group is the number of the
   * commit, or in stores without an engine, `id`.
   */
  write(id: number, rows: ReadonlyMap<Key, (row?: Properties) => Properties | undefined>): void {
    if (this.#mirrored) this.#skipCommits(this.#disk.commitsToSkip(this.commit));
    const group = this.#mirrored ? this.commit + 1 : id;
    const draft = new Draft(this.view);
    const journal: [string, OpState][] = [];
    const changed = new Map<Key, Properties | undefined>();
    for (const [key, next] of rows) {
      const row = draft.get("rows", key);
      const after = next(row?.properties);
      const change = changeBetween(row?.properties, after);
      if (change === undefined) continue;
      const partition = partitionOf(key);
      if (draft.get("bases", key) === undefined) draft.put("bases", key, baseOfLocalRow(row));
      const number = draft.nextNumber();
      draft.put("outbox", outboxKey(partition, number), { number, group, key, change });
      if (after === undefined) draft.delete("rows", key);
      else draft.put("rows", key, { properties: after });
      changed.set(key, after);
      journal.push([idOf({ group, key }), "pending"]);
    }
    this.#commit({ puts: draft.puts, journal });
    if (changed.size > 0) this.#mirrored?.write(changed, this.view);
  }

  /** Commits of other tables. */
  #skipCommits(count: number): void {
    for (let left = count; left > 0; --left) {
      this.#mirrored?.skip();
      const commit = { puts: [], journal: [] };
      this.#contents.apply(commit);
      this.#disk.add(this, commit);
    }
  }

  #commit({ puts, journal }: Commit): void {
    if (puts.length === 0) return;
    const commit = { puts: puts.map((put) => withVersion(put, this.commit + 1)), journal };
    this.#contents.apply(commit);
    for (const { table, key } of commit.puts) this.#touch(table, key, this.view.commit);
    this.#disk.add(this, commit);
    this.#disk.onCommit(this, commit);
  }
}

/** Each row has a version: if it is not the remote's, the store's own. */
function withVersion(put: Put, commit: number): Put {
  if (put.table !== "rows" || put.value === undefined) return put;
  const row = put.value as LocalRow;
  const version = { etag: `local ${commit}`, timestamp: BigInt(commit) };
  return row.version ? put : { ...put, value: { ...row, version } };
}

/** A view of which a part is not loaded: the read that needs it fails. */
class UnloadedView implements TableView {
  readonly #view: TableView;
  #reads: number;

  constructor(view: TableView, reads: number) {
    this.#view = view;
    this.#reads = reads;
  }

  get commit(): number {
    return this.#view.commit;
  }

  #read(): void {
    if (this.#reads === 0) throw new PartsNeeded();
    this.#reads -= 1;
  }

  get<N extends TableName>(table: N, key: string): HiddenTables[N] | undefined {
    this.#read();
    return this.#view.get(table, key);
  }

  *entries<N extends TableName>(table: N, from: string, to?: string) {
    for (const entry of this.#view.entries(table, from, to)) {
      this.#read();
      yield entry;
    }
  }

  isTouchedSince(key: Key, commit: number): boolean {
    return this.#view.isTouchedSince(key, commit);
  }
}

class StoreView implements TableView {
  readonly #contents: Contents;
  readonly #touched: ReadonlyMap<Key, number>;
  readonly #commitsRemembered: number;

  constructor(contents: Contents, touched: ReadonlyMap<Key, number>, commitsRemembered: number) {
    this.#contents = contents;
    this.#touched = touched;
    this.#commitsRemembered = commitsRemembered;
  }

  get commit(): number {
    return this.#contents.commit;
  }

  get<N extends TableName>(table: N, key: string): HiddenTables[N] | undefined {
    return this.#contents.table(table).values.get(key) as HiddenTables[N] | undefined;
  }

  *entries<N extends TableName>(table: N, from: string, to?: string) {
    const { sorted, values } = this.#contents.table(table);
    for (const key of sorted) {
      if (key < from) continue;
      if (to !== undefined && key >= to) return;
      yield [key, values.get(key) as HiddenTables[N]] as const;
    }
  }

  isTouchedSince(key: Key, commit: number): boolean {
    const isForgotten = commit < this.commit - this.#commitsRemembered;
    return isForgotten || (this.#touched.get(key) ?? 0) > commit;
  }
}
