// Reads one version of the store, and collects changes to it for one commit.

import type { HiddenTables, OutboxOp, Settlement, TableName } from "./hidden-tables.ts";
import type { Key } from "./keys.ts";

/** One version of a store. */
export interface TableView {
  /** The number of the last commit in this version. */
  readonly commit: number;
  get<N extends TableName>(table: N, key: string): HiddenTables[N] | undefined;
  /** In the order of keys; `to` is exclusive. */
  entries<N extends TableName>(
    table: N,
    from: string,
    to?: string,
  ): Iterable<readonly [string, HiddenTables[N]]>;
  /**
   * Whether a commit after `commit` changed the key's row or Base, or made it clean. A request is
   * on its way since that commit, in this process. So the store remembers keys for as long as
   * requests take, at most since it was opened, and only in memory. It may forget earlier: true is
   * always safe, because the key is then read again.
   */
  isTouchedSince(key: Key, commit: number): boolean;
  /**
   * Returns true only if isTouchedSince() is false for all keys from one to another, both included.
   * Asking once for a page is faster.
   */
  areUntouchedSince?(from: Key, to: Key, commit: number): boolean;
  /**
   * The rows, Bases and marks of these keys will be read next. Reading them together is faster.
   * Returns true only if none of them is there. REQUIRES: the keys are in order.
   */
  expect?(keys: readonly Key[]): boolean;
}

export interface Put {
  readonly table: TableName;
  readonly key: string;
  readonly value: HiddenTables[TableName] | undefined; // undefined deletes
}

/** As in the core (OutboxWriter::operations_per_commit): exact for 2^37 commits. */
export const operationsPerCommit = 65_536;

/**
 * A working copy: reads see its own changes. The store applies all of them in one commit, or none.
 */
export class Draft implements TableView {
  readonly #view: TableView;
  #numbers = 0; // of operations
  readonly #changes = new Map<TableName, Map<string, HiddenTables[TableName] | undefined>>();
  /** How operations were settled: what the status counts. */
  readonly settled: { readonly op: OutboxOp; readonly how: Settlement }[] = [];

  constructor(view: TableView) {
    this.#view = view;
  }

  get commit(): number {
    return this.#view.commit;
  }

  /** Returns a working copy of this one, for changes that are only tried. */
  trial(): Draft {
    return new Draft(this);
  }

  /** The number that this draft's commit will have. */
  get nextCommit(): number {
    return this.#view.commit + 1;
  }

  /**
   * The number of an operation that this draft adds to the outbox. Numbers follow from the commit,
   * so they are never used twice, and clean partitions cost nothing. Throws RangeError if it was
   * called operationsPerCommit times, or after the last commit whose numbers are exact.
   */
  nextNumber(): number {
    if (this.#numbers === operationsPerCommit) throw new RangeError("Too many operations.");
    const number = this.nextCommit * operationsPerCommit + this.#numbers;
    if (!Number.isSafeInteger(number))
      throw new RangeError("The numbers of operations are used up.");
    this.#numbers += 1;
    return number;
  }

  get<N extends TableName>(table: N, key: string): HiddenTables[N] | undefined {
    const changed = this.#changes.get(table);
    if (changed?.has(key)) return changed.get(key) as HiddenTables[N] | undefined;
    return this.#view.get(table, key);
  }

  *entries<N extends TableName>(
    table: N,
    from: string,
    to?: string,
  ): Generator<readonly [string, HiddenTables[N]]> {
    const changed = this.#changes.get(table);
    if (changed === undefined) {
      yield* this.#view.entries(table, from, to);
      return;
    }
    const merged = new Map<string, HiddenTables[N] | undefined>(
      this.#view.entries(table, from, to),
    );
    for (const [key, value] of changed) {
      if (key >= from && (to === undefined || key < to)) {
        merged.set(key, value as HiddenTables[N] | undefined);
      }
    }
    for (const key of [...merged.keys()].sort(byCodeUnit)) {
      const value = merged.get(key);
      if (value !== undefined) yield [key, value];
    }
  }

  isTouchedSince(key: Key, commit: number): boolean {
    return this.#view.isTouchedSince(key, commit);
  }

  areUntouchedSince(from: Key, to: Key, commit: number): boolean {
    return this.#view.areUntouchedSince?.(from, to, commit) === true;
  }

  expect(keys: readonly Key[]): boolean {
    const areAbsent = this.#view.expect?.(keys) === true;
    return areAbsent && this.#changes.size === 0;
  }

  put<N extends TableName>(table: N, key: string, value: HiddenTables[N]): void {
    this.#change(table, key, value);
  }

  delete(table: TableName, key: string): void {
    this.#change(table, key, undefined);
  }

  #change(table: TableName, key: string, value: HiddenTables[TableName] | undefined): void {
    const changed = this.#changes.get(table);
    if (changed) changed.set(key, value);
    else this.#changes.set(table, new Map([[key, value]]));
  }

  /** Counts an operation that leaves the outbox. */
  settle(op: OutboxOp, how: Settlement): void {
    this.settled.push({ op, how });
  }

  get puts(): Put[] {
    return [...this.#changes].flatMap(([table, changed]) =>
      [...changed].map(([key, value]) => ({ table, key, value })),
    );
  }
}

/** The order of the service's keys. */
export const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
