// I18: clients that read whole partitions never have a part of a batch, at no commit.

import type { Put } from "../../web/src/sync/draft.ts";
import { isReceiptKey, type Key, type KeyRange, partitionOf } from "../../web/src/sync/keys.ts";
import type { RemoteOperation } from "../../web/src/sync/operation.ts";
import { scanState } from "../../web/src/sync/scan-state.ts";
import type { Config } from "./config.ts";
import type { FakeStore } from "./fake-store.ts";
import { newestWith } from "./ledger.ts";
import type { HistoryEntry, WeakTable } from "./weak-table.ts";

interface Batch {
  readonly number: number; // in the order of executions
  readonly versions: ReadonlyMap<Key, number>; // without deletes, which no scan shows
}

/** What the checks know about one process of a client. */
interface Reader {
  readonly ranges: readonly KeyRange[];
  /** Keys that became clean while they were marked: they are as when they were written. */
  readonly unread: Set<Key>;
  /** Only later batches are read as a whole. Undefined: the table is not downloaded. */
  downloadedAt: number | undefined;
}

/** "before": the client has an older version. "unknown": nothing can be said. */
type Side = "before" | "after" | "unknown";

export class WholeBatches {
  readonly #table: WeakTable;
  readonly #config: Config;
  readonly #fail: (text: string) => void;
  readonly #batches = new Map<string, Batch[]>(); // by partition
  readonly #readers = new WeakMap<FakeStore, Reader>();
  readonly #last = new Map<string, Reader>(); // by client
  #executed = 0;

  constructor(table: WeakTable, config: Config, fail: (text: string) => void) {
    this.#table = table;
    this.#config = config;
    this.#fail = fail;
  }

  /** In Azurite, ETags that repeat hide versions; and a narrowed credential hides keys. */
  get #isChecked(): boolean {
    const { breaksBounds, consistent, narrowsScope, profile } = this.#config;
    return consistent === "whole" && profile !== "azurite" && !breaksBounds && !narrowsScope;
  }

  onExecuted(operations: readonly RemoteOperation[]): void {
    if (!this.#isChecked) return;
    this.#executed += 1;
    const versions = new Map<Key, number>();
    for (const { key, kind } of operations) {
      if (kind === "delete" || isReceiptKey(key)) continue;
      const entry = this.#table.history.get(key)?.at(-1) as HistoryEntry;
      versions.set(key, entry.version);
    }
    const [first] = versions.keys();
    if (first === undefined || versions.size < 2) return;
    const partition = partitionOf(first);
    const batches = this.#batches.get(partition) ?? [];
    this.#batches.set(partition, batches);
    batches.push({ number: this.#executed, versions });
  }

  onOpened(client: string, store: FakeStore, ranges: readonly KeyRange[]): void {
    if (!this.#isChecked) return;
    const last = this.#last.get(client);
    const hasSameRanges = JSON.stringify(last?.ranges) === JSON.stringify(ranges);
    const reader: Reader = {
      ranges,
      unread: new Set(store.keys("marks")),
      downloadedAt: undefined,
    };
    this.#noteDownload(store, reader);
    if (reader.downloadedAt !== undefined && hasSameRanges) {
      reader.downloadedAt = last?.downloadedAt ?? reader.downloadedAt;
    }
    this.#readers.set(store, reader);
    this.#last.set(client, reader);
  }

  #noteDownload({ view }: FakeStore, reader: Reader): void {
    const isDownloaded =
      this.#config.profile === "cosmos" ||
      reader.ranges.every((range) => scanState(view, range).watermark !== undefined);
    if (!isDownloaded) reader.downloadedAt = undefined;
    else reader.downloadedAt ??= this.#executed;
  }

  onCommit(client: string, store: FakeStore, puts: readonly Put[]): void {
    const reader = this.#readers.get(store);
    if (reader === undefined) return;
    if (puts.some(({ table }) => table === "scans")) this.#noteDownload(store, reader);
    const partitions = new Set<string>();
    for (const { table, key } of puts) {
      if (table !== "rows" && table !== "bases" && table !== "marks") continue;
      partitions.add(partitionOf(key));
      this.#noteUnread(store, reader, key);
    }
    const { downloadedAt } = reader;
    if (downloadedAt === undefined) return;
    for (const partition of partitions) {
      for (const batch of this.#batches.get(partition) ?? []) {
        if (batch.number > downloadedAt) this.#check(client, store, reader, batch);
      }
    }
  }

  #noteUnread({ view }: FakeStore, { unread }: Reader, key: Key): void {
    if (view.get("bases", key) !== undefined) unread.add(key);
    else if (view.get("marks", key) === undefined) unread.delete(key);
  }

  #check(client: string, store: FakeStore, reader: Reader, { versions }: Batch): void {
    const sides = new Map<Side, Key>();
    for (const [key, version] of versions) sides.set(this.#side(store, reader, key, version), key);
    const before = sides.get("before");
    const after = sides.get("after");
    if (before === undefined || after === undefined) return;
    this.#fail(`${client} has ${after} of ${versions.get(after)}, but an older ${before}`);
  }

  /** A dirty key shows what was written here until its push has brought the news. */
  #side({ view }: FakeStore, { unread }: Reader, key: Key, version: number): Side {
    const history = this.#table.history.get(key) ?? [];
    const base = view.get("bases", key);
    const row = view.get("rows", key);
    const claim =
      base === undefined
        ? row?.version && { properties: row.properties, ...row.version }
        : base.kind === "row" && base.row;
    const known = claim ? newestWith(history, claim)?.version : undefined;
    // Once the row was deleted, nothing tells any more whether the client knows the batch.
    const isGone = history.some((entry) => entry.version >= version && !this.#isKept(key, entry));
    if (isGone) return "unknown";
    if (known !== undefined && known >= version) return "after";
    return base !== undefined || unread.has(key) ? "unknown" : "before";
  }

  #isKept(key: Key, { row }: HistoryEntry): boolean {
    return row !== undefined && this.#table.config.keeps(key, row.properties);
  }
}
