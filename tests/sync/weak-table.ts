// A remote table with everything that makes sync hard, and nothing that the services do not do:
// each partition has its own clock, a row becomes visible some time after its Timestamp was taken,
// reads may be old, Timestamps may repeat. Requests are executed here; network.ts loses and repeats
// them.

import { byCodeUnit } from "../../web/src/sync/draft.ts";
import type { RemoteRow, Ticks, Version } from "../../web/src/sync/hidden-tables.ts";
import { isInRange, isReceiptKey, type Key, partitionOf } from "../../web/src/sync/keys.ts";
import type { RemoteOperation } from "../../web/src/sync/operation.ts";
import type { Properties } from "../../web/src/sync/properties.ts";
import type {
  FeedChange,
  PushAnswer,
  ReadAnswer,
  ScanAnswer,
  ScanRequest,
} from "../../web/src/sync/remote.ts";
import type { Value } from "../../web/src/sync/value.ts";
import type { Scheduler } from "./scheduler.ts";

export type Profile = "azure" | "azurite" | "cosmos";

export interface TableConfig {
  readonly profile: Profile;
  readonly partitions: readonly string[];
  readonly skewMs: number; // at most, of a partition's clock
  readonly pageRows: number;
  readonly staleReadMs: number;
  keeps(key: Key, properties: Properties): boolean; // the filter of scans
}

/** One version of an entity; without `row`, it was deleted. Versions are numbered in order. */
export interface HistoryEntry {
  readonly row: RemoteRow | undefined;
  readonly version: number;
  readonly at: number; // when it became visible
}

/** The epoch of ticks in the simulation: its clocks begin here. */
export const startMs = 1_700_000_000_000;

export const ticksAt = (ms: number): Ticks => BigInt(Math.floor((startMs + ms) * 10_000));

/** What was executed: for checks by the harness. */
export interface Execution {
  readonly operations: readonly RemoteOperation[];
  /** The versions that were replaced, by key. */
  readonly replaced: ReadonlyMap<Key, RemoteRow>;
}

export class WeakTable {
  readonly #scheduler: Scheduler;
  readonly config: TableConfig;
  readonly #rows = new Map<Key, RemoteRow>();
  readonly history = new Map<Key, HistoryEntry[]>();
  readonly #skews: ReadonlyMap<string, number>;
  #version = 0;
  /** The state of the table and of the clients' credential. */
  isMissing = false;
  isExpired = false;
  /** Keys outside of a narrowed credential; undefined: none. */
  isForbidden: ((key: Key) => boolean) | undefined;
  /** How often the table was created. */
  epoch = 0;
  /** Called after each commit. `hasGap`: the table was dropped, so its rows are not named. */
  onCommit: ((changes: readonly FeedChange[], hasGap: boolean) => void) | undefined;

  constructor(scheduler: Scheduler, config: TableConfig) {
    this.#scheduler = scheduler;
    this.config = config;
    this.#skews = new Map(
      config.partitions.map((name) => [name, (scheduler.fraction(2) - 1) * config.skewMs]),
    );
  }

  /** What the table has now, without receipts. */
  get rows(): ReadonlyMap<Key, RemoteRow> {
    return new Map([...this.#rows].filter(([key]) => !isReceiptKey(key)));
  }

  current(key: Key): RemoteRow | undefined {
    return this.#rows.get(key);
  }

  /** The Timestamp of a request that arrives now. */
  stamp(partition: string): Ticks {
    const time = this.#scheduler.now + (this.#skews.get(partition) ?? 0);
    if (this.config.profile !== "azurite") return ticksAt(time);
    // Azurite: the millisecond of the arrival, and digits that are unrelated to it.
    return ticksAt(Math.floor(time)) + BigInt(this.#scheduler.below(4));
  }

  #nextTimestamp(key: Key, stamp: Ticks): Ticks {
    const before = this.#rows.get(key)?.timestamp;
    if (this.config.profile === "azurite" || before === undefined || before < stamp) return stamp;
    return before + 1n;
  }

  drop(): void {
    for (const key of [...this.#rows.keys()]) this.#set(key, undefined);
    this.isMissing = true;
    this.epoch += 1;
    this.onCommit?.([], true);
  }

  /** Executes a batch. Returns the answer, and what was executed. */
  execute(
    operations: readonly RemoteOperation[],
    stamp: Ticks,
    isForeign: boolean,
  ): { answer: PushAnswer; execution?: Execution } {
    if (this.isMissing) return { answer: { kind: "tableMissing" } };
    if (this.isExpired && !isForeign) return { answer: { kind: "unauthorized" } };
    for (const [index, operation] of operations.entries()) {
      const refusal = this.#refusal(operation, isForeign);
      if (refusal) return { answer: { kind: "refused", index, ...refusal } };
    }
    const replaced = new Map<Key, RemoteRow>();
    const versions: (Version | undefined)[] = [];
    for (const operation of operations) {
      const before = this.#rows.get(operation.key);
      if (before) replaced.set(operation.key, before);
      versions.push(this.#put(operation, stamp));
    }
    this.onCommit?.(
      operations.map(({ key }) => ({ key, row: this.#rows.get(key) })),
      false,
    );
    const [first] = operations;
    const receipt = first && isReceiptKey(first.key) ? versions.shift() : undefined;
    return { answer: { kind: "applied", receipt, versions }, execution: { operations, replaced } };
  }

  #refusal(operation: RemoteOperation, isForeign: boolean) {
    const { key, kind } = operation;
    if (!isForeign && this.isForbidden?.(key)) return { status: 403, code: "AuthorizationFailure" };
    const properties =
      kind === "merge" ? operation.set : kind === "delete" ? undefined : operation.properties;
    if (properties?.has("poison")) return { status: 400, code: "PropertyValueTooLarge" };
    const row = this.#rows.get(key);
    if (kind === "insert") return row && { status: 409, code: "EntityAlreadyExists" };
    if (row === undefined) return { status: 404, code: "ResourceNotFound" };
    return row.etag === operation.etag
      ? undefined
      : { status: 412, code: "UpdateConditionNotSatisfied" };
  }

  #put(operation: RemoteOperation, stamp: Ticks): Version | undefined {
    const { key, kind } = operation;
    if (kind === "delete") return this.#set(key, undefined);
    const timestamp = this.#nextTimestamp(key, stamp);
    const before = this.#rows.get(key)?.properties;
    const sent = kind === "merge" ? operation.set : operation.properties;
    const properties = new Map(kind === "merge" ? before : []);
    for (const [name, value] of sent) properties.set(name, normalized(value));
    return this.#set(key, { properties, etag: `W/"${timestamp}"`, timestamp });
  }

  #set(key: Key, row: RemoteRow | undefined): Version | undefined {
    if (row) this.#rows.set(key, row);
    else this.#rows.delete(key);
    this.#version += 1;
    const entry = { row, version: this.#version, at: this.#scheduler.now };
    const entries = this.history.get(key);
    if (entries) entries.push(entry);
    else this.history.set(key, [entry]);
    return row && { etag: row.etag, timestamp: row.timestamp };
  }

  /** What a read sees, perhaps an older version. */
  #visible(key: Key, asOf: number): RemoteRow | undefined {
    if (this.config.staleReadMs === 0 || isReceiptKey(key)) return this.#rows.get(key);
    return this.history.get(key)?.findLast(({ at }) => at <= asOf)?.row;
  }

  #asOf(): number {
    return this.#scheduler.now - this.#scheduler.fraction(this.config.staleReadMs);
  }

  read(key: Key): ReadAnswer {
    if (this.isMissing) return { kind: "tableMissing" };
    if (this.isExpired) return { kind: "unauthorized" };
    if (this.isForbidden?.(key)) return { kind: "forbidden" };
    const row = this.#visible(key, this.#asOf());
    return row ? { kind: "found", row } : { kind: "absent" };
  }

  scan({ range, since, keysOnly, isFiltered, token }: ScanRequest): ScanAnswer {
    if (this.isMissing) return { kind: "tableMissing" };
    if (this.isExpired) return { kind: "unauthorized" };
    if (since !== undefined && this.config.profile === "cosmos") {
      return { kind: "page", rows: [], token: undefined };
    }
    const asOf = this.#asOf();
    const keys = [...this.history.keys()].filter((key) => isInRange(key, range));
    keys.sort(this.config.profile === "cosmos" ? byHash : byCodeUnit);
    const start = token === undefined ? 0 : keys.indexOf(token);
    const rows: { key: Key; row: RemoteRow }[] = [];
    // An empty page with a token, as the service sends at the boundary of a partition.
    const most = this.#scheduler.chance(0.05) ? 0 : this.config.pageRows;
    for (const key of start < 0 ? [] : keys.slice(start)) {
      const row = this.#visible(key, asOf);
      if (row === undefined || this.isForbidden?.(key)) continue;
      if (since !== undefined && row.timestamp < since) continue;
      if (isFiltered && !isReceiptKey(key) && !this.config.keeps(key, row.properties)) continue;
      if (rows.length === most) return { kind: "page", rows, token: key };
      rows.push({ key, row: keysOnly ? { ...row, properties: new Map() } : row });
    }
    return { kind: "page", rows, token: undefined };
  }
}

/** The remote returns values in other texts than it was sent. */
function normalized(value: Value): Value {
  if (value.type === "Int64") return { type: "Int64", value: String(BigInt(value.value)) };
  if (value.type === "Guid") return { type: "Guid", value: String(value.value).toUpperCase() };
  if (value.type !== "DateTime") return value;
  return { type: "DateTime", value: String(value.value).replace(/\.0+Z$/, "Z") };
}

// An order that is not that of the keys.
const byHash = (a: Key, b: Key): number => byCodeUnit(reversed(a), reversed(b));
const reversed = (key: Key): string => [...key].reverse().join("");

export const rowsOfPartition = (table: WeakTable, partition: string): [Key, RemoteRow][] =>
  [...table.rows].filter(([key]) => partitionOf(key) === partition);
