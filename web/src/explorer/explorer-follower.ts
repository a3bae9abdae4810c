// Keeps the rows of the grid up to date: follows the change feed, and reads the shown rows that
// have changed again. The feed's rows would not do, because they do not have the types of all
// values.

import type { ChangeBatch, Store } from "../types.ts";
import { compareKeys, type GridRow, type RowChange } from "./explorer-grid.ts";
import { followFeed } from "./follow-feed.ts";
import { type FilterAndSelect, type RowKey, RowSource } from "./row-source.ts";

/** What the follower reads from, and shows changes in. */
export interface FollowedView {
  /** In the order of their keys. */
  readonly rows: readonly GridRow[];
  /** Whether all rows of the query are shown. If not, rows behind the last one are not shown. */
  readonly isComplete: boolean;
  update(changes: readonly RowChange[]): void;
  /** The table has changed, perhaps in rows that are not shown. */
  onCommit(): void;
  /** The table was created or deleted, or there are too many rows to follow. */
  runAgain(): void;
}

const singleReadsMax = 50; // if more rows have changed, all shown rows are read again
const rowsMax = 10_000; // if the query has more rows, it is run again, so that it shows one page
const intervalMs = 100; // between the end of one update and the begin of the next

export class RowFollower {
  readonly #view: FollowedView;
  #store: Store | undefined;
  #table = "";
  #query: FilterAndSelect | undefined; // of the shown rows; undefined: there are none
  #stop: () => void = () => {};
  #changed = new Map<string, RowKey>(); // keys of rows that must be read again
  #mustReadAll = false;
  #isHeld = false;
  #isUpdating = false;
  #queryCount = 0; // rows that were read for an older query are ignored

  constructor(view: FollowedView) {
    this.#view = view;
  }

  /** Follows a table. Has no effect if it is followed already. */
  follow(store: Store, table: string): void {
    if (store === this.#store && table === this.#table) return;
    this.close();
    this.#store = store;
    this.#table = table;
    this.#stop = followFeed(
      store,
      { tables: [table] },
      {
        // What has changed before is unknown.
        onOpen: () => this.readAll(),
        onBatch: (batch) => this.#onBatch(batch),
        onInterruption: () => {},
        onEnd: () => {},
      },
    );
  }

  /** Shows no further changes until follow() is called. */
  close(): void {
    this.#stop();
    this.#stop = () => {};
    this.#store = undefined;
    this.showsNothing();
  }

  /** While rows are being read for the view, collects changes: the rows may be older. */
  hold(): void {
    this.#isHeld = true;
  }

  /** The view shows the rows that were read. */
  release(query: FilterAndSelect): void {
    if (query !== this.#query) this.#queryCount += 1;
    this.#query = query;
    this.#isHeld = false;
    this.#schedule();
  }

  /** The view shows no rows. */
  showsNothing(): void {
    this.#query = undefined;
    this.#queryCount += 1;
    this.#isHeld = false;
    this.#forgetChanges();
  }

  /** Reads all shown rows again, and shows what is different. */
  readAll(): void {
    this.#mustReadAll = true;
    this.#schedule();
  }

  #onBatch({ changes, tables = [] }: ChangeBatch): void {
    this.#view.onCommit();
    if (tables.length > 0) {
      this.#forgetChanges();
      this.#view.runAgain();
      return;
    }
    for (const { partitionKey, rowKey } of changes) {
      if (this.#changed.size > singleReadsMax) break;
      const key = { partitionKey, rowKey };
      this.#changed.set(JSON.stringify(key), key);
    }
    this.#schedule();
  }

  #forgetChanges(): void {
    this.#changed.clear();
    this.#mustReadAll = false;
  }

  // ---- Updates --------------------------------------------------------------------------------

  get #isDue(): boolean {
    const isChanged = this.#mustReadAll || this.#changed.size > 0;
    return isChanged && !this.#isHeld && this.#query !== undefined;
  }

  #schedule(): void {
    if (this.#isUpdating || !this.#isDue) return;
    this.#isUpdating = true;
    requestAnimationFrame(() => void this.#update());
  }

  // Takes at most half of the time.
  async #update(): Promise<void> {
    const from = performance.now();
    if (this.#isDue) await this.#readAndShow();
    const ms = performance.now() - from;
    const goOn = () => {
      this.#isUpdating = false;
      this.#schedule();
    };
    setTimeout(goOn, Math.max(intervalMs, ms));
  }

  async #readAndShow(): Promise<void> {
    const [store, query, count] = [this.#store, this.#query, this.#queryCount];
    if (store === undefined || query === undefined) return;
    const source = new RowSource(store, this.#table, query);
    const keys = [...this.#changed.values()];
    const isSingle = !this.#mustReadAll && keys.length <= singleReadsMax;
    this.#forgetChanges();
    try {
      const changes = await (isSingle ? this.#rowsOf(keys, source) : this.#differences(source));
      if (count !== this.#queryCount) return;
      if (this.#isHeld)
        this.#mustReadAll = true; // the view's rows may be newer than these
      else if (changes === undefined) this.#view.runAgain();
      else this.#show(changes);
    } catch {
      // A filter with as many comparisons as are allowed cannot be combined with keys. If all rows
      // cannot be read, the next run of the query shows why.
      if (isSingle && count === this.#queryCount) this.#mustReadAll = true;
    }
  }

  #show(changes: readonly RowChange[]): void {
    if (changes.length > 0) this.#view.update([...changes].sort(compareKeys));
    if (this.#view.rows.length > rowsMax) this.#view.runAgain();
  }

  async #rowsOf(keys: readonly RowKey[], source: RowSource): Promise<RowChange[]> {
    const isInRange = this.#range();
    const read = await Promise.all(keys.filter(isInRange).map((key) => source.rowOf(key)));
    return read.filter((change) => {
      const shown = this.#view.rows.find((row) => compareKeys(row, change) === 0);
      return shown?.etag !== change.row?.etag;
    });
  }

  // Returns a function that returns whether the key is one of those whose rows are to be shown.
  #range(): (key: RowKey) => boolean {
    const { rows, isComplete } = this.#view;
    const last = rows.at(-1);
    return (key) => isComplete || (last !== undefined && compareKeys(key, last) <= 0);
  }

  // Returns what is different from the rows that are shown. undefined: there are too many rows.
  async #differences(source: RowSource): Promise<RowChange[] | undefined> {
    const { rows, isComplete } = this.#view;
    const last = rows.at(-1);
    if (!isComplete && last === undefined) return [];
    const read = await source.rowsUpTo(isComplete ? undefined : last, rowsMax);
    if (read === undefined) return undefined;
    const removed = new Map(rows.map((row) => [JSON.stringify(keyOf(row)), row]));
    const changes: RowChange[] = [];
    for (const row of read) {
      const key = JSON.stringify(keyOf(row));
      if (removed.get(key)?.etag !== row.etag) changes.push({ ...keyOf(row), row });
      removed.delete(key);
    }
    for (const row of removed.values()) changes.push({ ...keyOf(row), row: undefined });
    return changes;
  }
}

function keyOf({ partitionKey = "", rowKey = "" }: GridRow): RowKey {
  return { partitionKey, rowKey };
}
