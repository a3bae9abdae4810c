// Keeps the rows of the grid up to date: follows the change feed, and reads the shown rows that
// have changed again. The feed's rows would not do, because they do not have the types of all
// values. Loaded after the first rows are shown.

import type { ChangeBatch, Store } from "../types.ts";
import type { GridRow, RowUpdate } from "./explorer-grid.ts";
import type { FilterAndSelect, RowPages } from "./explorer-query.ts";
import { codeOf, followFeed, nextDelay } from "./follow-feed.ts";
import { compareKeys, keyOf, keyOfToken, keyText, positionOf, type RowKey } from "./row-keys.ts";

/** What a RowUpdater reads from, and shows changes in. */
export interface UpdatedView {
  /** The query of the shown rows. undefined: there are none. */
  readonly query: FilterAndSelect | undefined;
  /** Whether rows are being read, which may be older than the changes that arrive meanwhile. */
  readonly isReading: boolean;
  /** Counts the reads, and the removals of all rows. */
  readonly readNumber: number;
  /** In the order of their keys. */
  readonly rows: readonly GridRow[];
  /** Where the next page begins: rows from there on are not shown. undefined: all are shown. */
  readonly nextToken: string | undefined;
  /** Reads the rows of the query, or those that `filter` selects. */
  pages(maxPageSize: number, filter?: string): RowPages;
  /** Returns the visible ones of the rows that have changed. */
  update(update: RowUpdate): readonly HTMLElement[];
  /** The store has changed, perhaps in other tables, or may have changed. */
  onCommit(): void;
  /** The table was created or deleted. */
  runAgain(): void;
  /** Shows why changes are not shown now. undefined: they are shown. */
  showProblem(error: unknown): void;
}

// An entity that has changed. `row` undefined: it is not to be shown.
interface RowChange extends RowKey {
  readonly row: GridRow | undefined;
}

const singleReadsMax = 50; // if more rows have changed, all shown rows are read again
const rowsMax = 10_000; // more rows are not followed
const intervalMs = 100; // between the end of one update and the start of the next
const flashMs = 1500;

export class RowUpdater {
  readonly #view: UpdatedView;
  #store: Store | undefined;
  #table = "";
  #stop: () => void = () => {};
  #isOpen = false; // the feed
  readonly #changed = new Map<string, RowKey>(); // keys of rows that must be read again
  #mustReadAll = false;
  #isUpdating = false;
  #retryMs = 0; // the delay after the last failure; 0: all changes were read since
  #unfollowed: number | undefined; // the readNumber of rows that are too many to follow

  constructor(view: UpdatedView) {
    this.#view = view;
  }

  /** Follows a table, and the commits of its store. Has no effect if it is followed already. */
  follow(store: Store, table: string): void {
    if (store === this.#store && table === this.#table) return;
    this.#table = table;
    if (store === this.#store) this.readAll();
    else this.#followStore(store);
  }

  #followStore(store: Store): void {
    this.close();
    this.#store = store;
    const listener = {
      onOpen: () => this.#onOpen(),
      onBatch: (batch: ChangeBatch) => this.#onBatch(batch),
      onInterruption: (error: unknown) => this.#onInterruption(error),
      onEnd: () => this.#onInterruption(new Error("The store was closed.")),
    };
    this.#stop = followFeed(store, {}, listener);
  }

  /** Shows no further changes until follow() is called. */
  close(): void {
    this.#stop();
    this.#stop = () => {};
    this.#store = undefined;
    this.#isOpen = false;
    this.#retryMs = 0;
    this.#forgetChanges();
    this.#view.showProblem(undefined);
  }

  /** Must be called after the view has read rows. */
  onRead(): void {
    if (this.#unfollowed !== undefined && this.#unfollowed !== this.#view.readNumber) {
      this.#unfollowed = undefined;
      this.#view.showProblem(undefined);
    }
    this.#schedule();
  }

  /** Reads all shown rows again, and shows what is different. */
  readAll(): void {
    this.#mustReadAll = true;
    this.#schedule();
  }

  /** Shows a write of the user. If the feed is open and there are many rows, it has the change. */
  readAgain(): void {
    if (!this.#isOpen || this.#view.rows.length <= rowsMax) this.readAll();
  }

  // What has changed before is unknown.
  #onOpen(): void {
    this.#isOpen = true;
    this.#view.showProblem(undefined);
    this.#view.onCommit();
    this.readAll();
  }

  #onInterruption(error: unknown): void {
    this.#isOpen = false;
    this.#view.showProblem(error);
  }

  #onBatch({ changes, tables = [] }: ChangeBatch): void {
    this.#view.onCommit();
    if (tables.some(({ table }) => table === this.#table)) {
      this.#forgetChanges();
      this.#view.runAgain();
      return;
    }
    for (const { table, partitionKey, rowKey } of changes) {
      if (table !== this.#table) continue;
      if (this.#changed.size > singleReadsMax) break;
      const key = { partitionKey, rowKey };
      this.#changed.set(keyText(key), key);
    }
    this.#schedule();
  }

  #forgetChanges(): void {
    this.#changed.clear();
    this.#mustReadAll = false;
  }

  // ---- Updates --------------------------------------------------------------------------------

  get #isDue(): boolean {
    const { isReading, query, readNumber } = this.#view;
    const isChanged = this.#mustReadAll || this.#changed.size > 0;
    return isChanged && !isReading && query !== undefined && readNumber !== this.#unfollowed;
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
    setTimeout(goOn, Math.max(intervalMs, ms, this.#retryMs));
  }

  async #readAndShow(): Promise<void> {
    const [store, { readNumber }] = [this.#store, this.#view];
    const keys = [...this.#changed.values()];
    const isSingle = !this.#mustReadAll && keys.length <= singleReadsMax;
    this.#forgetChanges();
    try {
      const changes = await (isSingle ? this.#rowsOf(keys) : this.#differences());
      if (store !== this.#store) return;
      if (readNumber !== this.#view.readNumber)
        this.#mustReadAll = true; // the view's rows may be newer than these
      else if (changes === undefined) this.#endFollowing();
      else this.#show(changes);
      if (this.#retryMs > 0) this.#onSuccess();
    } catch (error) {
      if (store === this.#store) this.#onFailure(error, isSingle);
    }
  }

  // A filter with as many comparisons as are allowed cannot be combined with keys: then, all rows
  // are read.
  #onFailure(error: unknown, isSingle: boolean): void {
    if (codeOf(error) === "TableNotFound") {
      this.#view.runAgain(); // and shows the error
      return;
    }
    this.#mustReadAll = true;
    if (isSingle) return;
    if (this.#retryMs > 0) this.#view.showProblem(error);
    this.#retryMs = nextDelay(this.#retryMs);
  }

  #onSuccess(): void {
    this.#retryMs = 0;
    if (this.#isOpen && this.#unfollowed === undefined) this.#view.showProblem(undefined);
  }

  #endFollowing(): void {
    this.#unfollowed = this.#view.readNumber;
    this.#view.showProblem(new Error("There are too many rows. Run the query again."));
  }

  #show(changes: RowChange[]): void {
    if (changes.length === 0) return;
    const old = this.#view.rows;
    const rows = merge(old, changes.sort(compareKeys));
    const changed = changes.flatMap(({ row }) => row ?? []);
    const indexOf = (index: number) => positionIn(rows, old[index], index);
    for (const element of this.#view.update({ rows, changed, indexOf })) flash(element);
  }

  async #rowsOf(keys: readonly RowKey[]): Promise<RowChange[]> {
    const end = this.#end();
    const inRange = keys.filter((key) => end === undefined || compareKeys(key, end) < 0);
    const read = await Promise.all(inRange.map((key) => rowOf(key, this.#view)));
    const { rows } = this.#view;
    return read.filter((change) => !areEqual(rowAt(rows, change), change.row));
  }

  // Returns what is different from the rows that are shown. undefined: there are too many rows.
  async #differences(): Promise<RowChange[] | undefined> {
    const { rows } = this.#view;
    if (rows.length > rowsMax) return undefined;
    const read = await rowsBefore(this.#end(), this.#view);
    if (read === undefined) return undefined;
    const removed = new Map(rows.map((row) => [keyText(row), row]));
    const changes: RowChange[] = [];
    for (const row of read) {
      const key = keyOf(row);
      if (!areEqual(removed.get(keyText(key)), row)) changes.push({ ...key, row });
      removed.delete(keyText(key));
    }
    for (const row of removed.values()) changes.push({ ...keyOf(row), row: undefined });
    return changes;
  }

  // Returns the first key that is not to be shown.
  #end(): RowKey | undefined {
    const { nextToken } = this.#view;
    return nextToken === undefined ? undefined : keyOfToken(nextToken);
  }
}

// ---- Reading ---------------------------------------------------------------------------------

// Resolves to the row with the key, unless there is none or the filter rejects it.
async function rowOf(key: RowKey, view: UpdatedView): Promise<RowChange> {
  const [partition, row] = [key.partitionKey, key.rowKey].map(
    (text) => `'${text.replaceAll("'", "''")}'`,
  );
  const filter = view.query?.filter ?? "";
  const keyFilter = `PartitionKey eq ${partition} and RowKey eq ${row}`;
  const pages = view.pages(1, filter === "" ? keyFilter : `${keyFilter} and (${filter})`);
  const { value = [] } = await pages.next();
  return { ...key, row: value[0] as GridRow | undefined };
}

// Resolves to all rows before `end`; undefined: to all. Resolves to undefined if there are too
// many.
async function rowsBefore(
  end: RowKey | undefined,
  view: UpdatedView,
): Promise<GridRow[] | undefined> {
  const rows: GridRow[] = [];
  for await (const page of view.pages(1000)) {
    for (const row of page as GridRow[]) {
      if (end !== undefined && compareKeys(row, end) >= 0) return rows;
      if (rows.push(row) > rowsMax) return undefined;
    }
  }
  return rows;
}

// ---- Rows ------------------------------------------------------------------------------------

function rowAt(rows: readonly GridRow[], key: RowKey): GridRow | undefined {
  const row = rows[positionOf(rows, key)];
  return row !== undefined && compareKeys(row, key) === 0 ? row : undefined;
}

// Equal ETags are not enough: a store that was rolled back may give an ETag to another row.
function areEqual(a: GridRow | undefined, b: GridRow | undefined): boolean {
  return a?.etag === b?.etag && JSON.stringify(a) === JSON.stringify(b);
}

// Both are in the order of their keys.
function merge(rows: readonly GridRow[], changes: readonly RowChange[]): GridRow[] {
  const merged: GridRow[] = [];
  let from = 0;
  for (const change of changes) {
    for (; from < rows.length; ++from) {
      const row = rows[from] as GridRow;
      const order = compareKeys(row, change);
      if (order > 0) break;
      if (order < 0) merged.push(row);
    }
    if (change.row !== undefined) merged.push(change.row);
  }
  for (; from < rows.length; ++from) merged.push(rows[from] as GridRow);
  return merged;
}

// Returns the position of the row with the same key; if there is none, of the next one, or of the
// last. `hint`: where it was before.
function positionIn(rows: readonly GridRow[], row: GridRow | undefined, hint: number): number {
  if (row === undefined || rows[hint] === row) return hint;
  return Math.max(0, Math.min(positionOf(rows, row), rows.length - 1));
}

// Users who prefer reduced motion see the colour for as long, but it does not fade.
function flash(row: HTMLElement): void {
  for (const animation of row.getAnimations()) animation.cancel();
  const isReduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const backgroundColor = "var(--_flash)";
  const end = isReduced ? backgroundColor : "transparent";
  row.animate([{ backgroundColor }, { backgroundColor: end }], flashMs);
}
