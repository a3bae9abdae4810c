// Keeps the rows of the grid up to date: follows the change feed, and reads the shown rows that
// have changed again. The feed's rows would not do, because they do not have the types of all
// values. Loaded after the first rows are shown.

import type { ChangeBatch, Store } from "../types.ts";
import type { GridRow, RowUpdate } from "./explorer-grid.ts";
import type { FilterAndSelect, RowPages } from "./explorer-query.ts";
import { followFeed } from "./follow-feed.ts";

/** What the follower reads from, and shows changes in. */
export interface FollowedView {
  /** The query of the shown rows: another object for each run. undefined: there are none. */
  readonly query: FilterAndSelect | undefined;
  /** Whether rows are being read, which may be older than the changes that arrive meanwhile. */
  readonly isReading: boolean;
  /** In the order of their keys. */
  readonly rows: readonly GridRow[];
  /** Whether all rows of the query are shown. If not, rows behind the last one are not shown. */
  readonly isComplete: boolean;
  /** Reads the rows of the query, or those that `filter` selects. */
  pages(maxPageSize: number, filter?: string): RowPages;
  /** Returns the visible ones of the rows that have changed. */
  update(update: RowUpdate): readonly HTMLElement[];
  /** The table has changed, perhaps in rows that are not shown. */
  onCommit(): void;
  /** The table was created or deleted, or there are too many rows to follow. */
  runAgain(): void;
}

interface Key {
  readonly partitionKey: string;
  readonly rowKey: string;
}

// What has become of the entity with the key; `row` undefined: it is not to be shown.
interface RowChange extends Key {
  readonly row: GridRow | undefined;
}

const singleReadsMax = 50; // if more rows have changed, all shown rows are read again
const rowsMax = 10_000; // if the query has more rows, it is run again, so that it shows one page
const intervalMs = 100; // between the end of one update and the begin of the next
const flashMs = 1500;

export class RowFollower {
  readonly #view: FollowedView;
  #store: Store | undefined;
  #table = "";
  #stop: () => void = () => {};
  readonly #changed = new Map<string, Key>(); // keys of rows that must be read again
  #mustReadAll = false;
  #isUpdating = false;

  constructor(view: FollowedView) {
    this.#view = view;
  }

  /** Follows a table. Has no effect if it is followed already. */
  follow(store: Store, table: string): void {
    if (store === this.#store && table === this.#table) return;
    this.close();
    this.#store = store;
    this.#table = table;
    const listener = {
      onOpen: () => this.readAll(), // what has changed before is unknown
      onBatch: (batch: ChangeBatch) => this.#onBatch(batch),
      onInterruption: () => {},
      onEnd: () => {},
    };
    this.#stop = followFeed(store, { tables: [table] }, listener);
  }

  /** Shows no further changes until follow() is called. */
  close(): void {
    this.#stop();
    this.#stop = () => {};
    this.#store = undefined;
    this.#forgetChanges();
  }

  /** Must be called after the view has read rows. */
  onRead(): void {
    this.#schedule();
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
      this.#changed.set(textOf(key), key);
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
    return isChanged && !this.#view.isReading && this.#view.query !== undefined;
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
    const [store, { query }] = [this.#store, this.#view];
    if (store === undefined || query === undefined) return;
    const keys = [...this.#changed.values()];
    const isSingle = !this.#mustReadAll && keys.length <= singleReadsMax;
    this.#forgetChanges();
    try {
      const changes = await (isSingle ? this.#rowsOf(keys) : this.#differences());
      if (query !== this.#view.query || store !== this.#store) return;
      if (this.#view.isReading)
        this.#mustReadAll = true; // the view's rows may be newer than these
      else if (changes === undefined) this.#view.runAgain();
      else this.#show(changes);
    } catch {
      // A filter with as many comparisons as are allowed cannot be combined with keys. If all rows
      // cannot be read, the next run of the query shows why.
      if (isSingle) this.#mustReadAll = true;
    }
  }

  #show(changes: RowChange[]): void {
    if (changes.length > 0) {
      const old = this.#view.rows;
      const rows = merge(old, changes.sort(compareKeys));
      const changed = changes.flatMap(({ row }) => row ?? []);
      const indexOf = (index: number) => positionIn(rows, old[index], index);
      for (const element of this.#view.update({ rows, changed, indexOf })) flash(element);
    }
    if (this.#view.rows.length > rowsMax) this.#view.runAgain();
  }

  async #rowsOf(keys: readonly Key[]): Promise<RowChange[]> {
    const { rows, isComplete } = this.#view;
    const last = rows.at(-1);
    const inRange = keys.filter(
      (key) => isComplete || (last !== undefined && compareKeys(key, last) <= 0),
    );
    const read = await Promise.all(inRange.map((key) => rowOf(key, this.#view)));
    return read.filter((change) => {
      const shown = this.#view.rows.find((row) => compareKeys(row, change) === 0);
      return shown?.etag !== change.row?.etag;
    });
  }

  // Returns what is different from the rows that are shown. undefined: there are too many rows.
  async #differences(): Promise<RowChange[] | undefined> {
    const { rows, isComplete } = this.#view;
    const last = rows.at(-1);
    if (!isComplete && last === undefined) return [];
    const read = await rowsUpTo(isComplete ? undefined : last, this.#view);
    if (read === undefined) return undefined;
    const removed = new Map(rows.map((row) => [textOf(keyOf(row)), row]));
    const changes: RowChange[] = [];
    for (const row of read) {
      const key = keyOf(row);
      if (removed.get(textOf(key))?.etag !== row.etag) changes.push({ ...key, row });
      removed.delete(textOf(key));
    }
    for (const row of removed.values()) changes.push({ ...keyOf(row), row: undefined });
    return changes;
  }
}

// ---- Reading ---------------------------------------------------------------------------------

// Resolves to the row with the key, unless there is none or the filter rejects it.
async function rowOf(key: Key, view: FollowedView): Promise<RowChange> {
  const [partition, row] = [key.partitionKey, key.rowKey].map(
    (text) => `'${text.replaceAll("'", "''")}'`,
  );
  const filter = view.query?.filter ?? "";
  const keyFilter = `PartitionKey eq ${partition} and RowKey eq ${row}`;
  const pages = view.pages(1, filter === "" ? keyFilter : `${keyFilter} and (${filter})`);
  const { value = [] } = await pages.next();
  return { ...key, row: value[0] as GridRow | undefined };
}

// Resolves to all rows up to and including `last`; undefined: all. Resolves to undefined if there
// are too many.
async function rowsUpTo(
  last: GridRow | undefined,
  view: FollowedView,
): Promise<GridRow[] | undefined> {
  const rows: GridRow[] = [];
  for await (const page of view.pages(1000)) {
    for (const row of page as GridRow[]) {
      if (last !== undefined && compareKeys(row, last) > 0) return rows;
      if (rows.push(row) > rowsMax) return undefined;
    }
  }
  return rows;
}

// ---- Rows ------------------------------------------------------------------------------------

// All rows are read with their keys.
function keyOf({ partitionKey = "", rowKey = "" }: GridRow): Key {
  return { partitionKey, rowKey };
}

function textOf({ partitionKey, rowKey }: Key): string {
  return JSON.stringify([partitionKey, rowKey]);
}

// The order of the store: by UTF-16 units.
function compareKeys(a: GridRow | Key, b: GridRow | Key): number {
  const [one, other] = [keyOf(a as GridRow), keyOf(b as GridRow)];
  if (one.partitionKey !== other.partitionKey)
    return one.partitionKey < other.partitionKey ? -1 : 1;
  return one.rowKey === other.rowKey ? 0 : one.rowKey < other.rowKey ? -1 : 1;
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
  const found = rows.findIndex((other) => compareKeys(other, row) >= 0);
  return found === -1 ? Math.max(0, rows.length - 1) : found;
}

// Users who prefer reduced motion see the colour for as long, but it does not fade.
function flash(row: HTMLElement): void {
  for (const animation of row.getAnimations()) animation.cancel();
  const isReduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const backgroundColor = "var(--_flash)";
  const end = isReduced ? backgroundColor : "transparent";
  row.animate([{ backgroundColor }, { backgroundColor: end }], flashMs);
}
