// A version of the store as sync reads it. A read of a part that is not in memory throws
// PartsMissing, and one of a row that cannot be read throws the error of unreadable-row.ts, unless
// the row may be absent.

import { byCodeUnit, operationsPerCommit, type TableView } from "../sync/draft.ts";
import type { Base, HiddenTables, LocalRow, OutboxOp, TableName } from "../sync/hidden-tables.ts";
import {
  isInRange,
  type Key,
  keyOf,
  type Partition,
  partitionOf,
  partitionRange,
} from "../sync/keys.ts";
import { outboxKey } from "../sync/partition-log.ts";
import type { Properties } from "../sync/properties.ts";
import type { Value } from "../sync/value.ts";
import {
  chunkKey,
  entityKeyOf,
  hashedKey,
  type OpaqueTable,
  type Place,
  places,
  type RowKey,
  rowKeyOf,
  type TableNumber,
  tableNumber,
  textKeyOf,
} from "./hidden-keys.ts";
import { HiddenReader, type PageRows, type SyncEngine } from "./hidden-reader.ts";
import { type BinaryProperties, decodeValue } from "./opaque-value.ts";
import { ownName, withoutOwn } from "./own-properties.ts";
import type { HiddenRow } from "./row-decoder.ts";
import { type AheadLimits, RowsAhead } from "./rows-ahead.ts";
import type { TouchedKeys } from "./touched-keys.ts";
import { unreadableRow } from "./unreadable-row.ts";
import { isValid } from "./value-checks.ts";
import { WrittenValues } from "./written-values.ts";

export const numberDigits = 16;

// The suffixes of the rows of an operation in the outbox (core/store/outbox.h).
export const unsetSuffix = "u";
const setSuffix = /^s\d+$/;

// BaseKind and OutboxOperation in core/store/outbox.h.
export const baseKind = {
  absent: 0,
  row: 1,
  outdatedAbsent: 2,
  outdatedRow: 3,
  rowApart: 4,
  outdatedRowApart: 5,
} as const;
export const changeKind = { create: 0, edit: 1, delete: 2 } as const;

// A row of a chunked value may have 512 KiB.
const largeRows: PageRows = { first: 1, most: 4 };

/** What is pending in a partition since a commit. */
interface Pending {
  /** Of all keys of the partition. */
  readonly beginning: string;
  readonly commit: number;
  readonly keys: ReadonlySet<Key>;
}

export class EngineView implements TableView {
  readonly #engine: SyncEngine;
  readonly #touched: TouchedKeys;
  readonly reader: HiddenReader;
  readonly #ahead: RowsAhead;
  /** Pushes, by partition. */
  readonly written = new WrittenValues();
  /** The keys of one partition that have operations since the commit. */
  #pending: Pending | undefined;
  /** None of the rows that are expected is there. */
  expectsNewRows = false;

  constructor(engine: SyncEngine, table: string, touched: TouchedKeys, ahead?: AheadLimits) {
    this.#engine = engine;
    this.#touched = touched;
    this.reader = new HiddenReader(engine, table);
    this.#ahead = new RowsAhead(this.reader, ahead);
  }

  get commit(): number {
    return this.#engine.lastCommit;
  }

  get<N extends TableName>(table: N, key: string): HiddenTables[N] | undefined {
    return this.#get(table, key) as HiddenTables[N] | undefined;
  }

  #get(table: TableName, key: string): unknown {
    if (table === "rows") return this.#localRow(this.#row(tableNumber.rows, key));
    if (table === "bases") return this.#base(this.#row(tableNumber.bases, key));
    if (table === "outbox") return this.#operation(rowKeyOf(key));
    return this.#opaque(table, key);
  }

  #row(table: TableNumber, key: Key): HiddenRow | undefined {
    const row = this.#ahead.get(table, key);
    return row === undefined ? this.reader.get(table, rowKeyOf(key)) : (row ?? undefined);
  }

  expect(keys: readonly Key[]): boolean {
    this.expectsNewRows = this.#ahead.read(expectedTables, keys);
    return this.expectsNewRows;
  }

  /** The published version may change now. */
  endLook(): void {
    this.#ahead.clear();
    this.expectsNewRows = false;
    this.#pending = undefined;
  }

  entries<N extends TableName>(
    table: N,
    from: string,
    to?: string,
  ): Iterable<readonly [string, HiddenTables[N]]> {
    return this.#entries(table, from, to) as Iterable<readonly [string, HiddenTables[N]]>;
  }

  #entries(table: TableName, from: string, to: string | undefined): Iterable<[string, unknown]> {
    if (table === "rows") return this.#localRows(from, to);
    if (table === "bases") return this.#bases(from, to);
    if (table === "outbox") return this.#operations(from, to);
    if (places[table].keys === "hashed") return this.#hashedEntries(places[table], from, to);
    return this.#opaqueEntries(table, from, to);
  }

  // ---- The table and its Bases -----------------------------------------------------------------

  *#localRows(from: string, to: string | undefined): Generator<[string, LocalRow]> {
    const etags = this.reader.range(tableNumber.etags, rowKeyOf(from), rowEnd(to));
    let own = etags.next().value as HiddenRow | undefined;
    for (const row of this.reader.range(tableNumber.rows, rowKeyOf(from), rowEnd(to))) {
      const key = entityKeyOf(row);
      while (own && entityKeyOf(own) < key) own = etags.next().value as HiddenRow | undefined;
      yield [key, localRowOf(row, own && entityKeyOf(own) === key ? own : undefined)];
    }
  }

  #localRow(row: HiddenRow | undefined): LocalRow | undefined {
    return row && localRowOf(row, this.#row(tableNumber.etags, entityKeyOf(row)));
  }

  *#bases(from: string, to: string | undefined): Generator<[string, Base]> {
    for (const row of this.reader.range(tableNumber.bases, rowKeyOf(from), rowEnd(to)))
      yield [entityKeyOf(row), this.#base(row) as Base];
  }

  #base(row: HiddenRow | undefined): Base | undefined {
    if (row === undefined) return undefined;
    const kind = row.properties.get(ownName.kind)?.value;
    if (kind === baseKind.absent) return { kind: "absent" };
    if (kind === baseKind.outdatedAbsent) return { kind: "outdated", properties: undefined };
    const isApart = kind === baseKind.rowApart || kind === baseKind.outdatedRowApart;
    const kept = isApart ? this.reader.get(tableNumber.baseRows, row) : row;
    const isOutdated = kind === baseKind.outdatedRow || kind === baseKind.outdatedRowApart;
    const isKnown = isApart || isOutdated || kind === baseKind.row;
    if (kept === undefined || !isKnown) throw unreadableRow("bases", row);
    const properties = isApart ? kept.properties : withoutOwn(kept.properties);
    if (isOutdated) return { kind: "outdated", properties };
    const { timestamp, etag } = kept;
    return { kind: "row", row: { properties, timestamp, etag: etagIn(row) ?? etag } };
  }

  // ---- The outbox ------------------------------------------------------------------------------

  #operation(key: RowKey): OutboxOp | undefined {
    const get = (suffix: string) =>
      this.reader.get(tableNumber.outbox, { ...key, rowKey: key.rowKey + suffix });
    const head = get("");
    if (head === undefined) return undefined;
    const set: [string, Value][] = [...withoutOwn(head.properties)];
    for (let row = 0; ; ++row) {
      const more = get(`s${row}`);
      if (more === undefined) break;
      set.push(...more.properties);
    }
    const unset = new Set(get(unsetSuffix)?.properties.keys());
    return operationOf(head, new Map(set), unset)[1];
  }

  *#operations(from: string, to: string | undefined): Generator<[string, OutboxOp]> {
    let head: HiddenRow | undefined;
    let set: [string, Value][] = [];
    let unset = new Set<string>();
    for (const row of this.reader.range(tableNumber.outbox, rowKeyOf(from), rowEnd(to))) {
      const suffix = row.rowKey.slice(numberDigits);
      if (suffix === "") {
        if (head) yield operationOf(head, new Map(set), unset);
        [head, set, unset] = [row, [...withoutOwn(row.properties)], new Set()];
      } else if (!head || !isOfOperation(row, head)) throw unreadableRow("outbox", row);
      else if (suffix === unsetSuffix) unset = new Set(row.properties.keys());
      else if (setSuffix.test(suffix)) set.push(...row.properties);
      else throw unreadableRow("outbox", row);
    }
    if (head) yield operationOf(head, new Map(set), unset);
  }

  // ---- Other tables ----------------------------------------------------------------------------

  #opaque(table: OpaqueTable, key: string): unknown {
    const place = places[table];
    if (place.keys === "hashed") {
      const [stored, value] = hashedEntry(this.reader.get(place.number, hashedKey(key)));
      return stored === key ? value : undefined;
    }
    const row = place.isChunked ? undefined : this.#opaqueRow(place, key);
    const rows = place.isChunked ? this.chunksOf(table, key) : row ? [row] : [];
    const written = table === "pushes" && this.written.get(key, rows.map(binaryOf));
    return written || readValue(table, rows);
  }

  #opaqueRow(place: Place, key: string): HiddenRow | undefined {
    return place.number === tableNumber.marks
      ? this.#row(place.number, key)
      : this.reader.get(place.number, rowKeyOf(key, place));
  }

  *#opaqueEntries(
    table: OpaqueTable,
    from: string,
    to: string | undefined,
  ): Generator<[string, unknown]> {
    const place = places[table];
    let key: string | undefined;
    let rows: HiddenRow[] = [];
    for (const row of this.#rowsOf(place, from, to)) {
      const next = textKeyOf(row, place);
      if (next !== key && key !== undefined) {
        yield* entryOf(table, key, rows);
        rows = [];
      }
      key = next;
      rows.push(row);
    }
    if (key !== undefined) yield* entryOf(table, key, rows);
  }

  #rowsOf(place: Place, from: string, to: string | undefined): Generator<HiddenRow> {
    const end = to === undefined ? prefixEnd(place) : rowKeyOf(to, place);
    const pageRows = place.isChunked ? largeRows : undefined;
    return this.reader.range(place.number, rowKeyOf(from, place), end, pageRows);
  }

  /** These tables are small. */
  #hashedEntries(place: Place, from: string, to: string | undefined): [string, unknown][] {
    const rows = this.reader.range(place.number, rowKeyOf(""), undefined);
    return [...rows]
      .map(hashedEntry)
      .filter((entry): entry is [string, unknown] => entry[0] !== undefined)
      .filter(([key]) => isInRange(key, { from, to }))
      .sort(([a], [b]) => byCodeUnit(a, b));
  }

  /** The rows that hold the value, if it is chunked. Some may be missing between them. */
  chunksOf(table: OpaqueTable, key: string): HiddenRow[] {
    const place = places[table];
    const at = rowKeyOf(key, place);
    const end = { ...at, rowKey: `${at.rowKey}:` }; // after all digits
    return [...this.reader.range(place.number, chunkKey(at, 0), end, largeRows)];
  }

  /**
   * What sync itself has touched is remembered. A key that a local write has touched since has an
   * operation of that commit, unless sync has touched it afterwards.
   */
  isTouchedSince(key: Key, commit: number): boolean {
    if (this.#touched.isTouchedSince(key, commit)) return true;
    const known = this.#pending;
    const isKnown = known?.commit === commit && key.startsWith(known.beginning);
    const pending = isKnown ? known : this.#pendingSince(partitionOf(key), commit);
    this.#pending = pending;
    return pending.keys.has(key);
  }

  areUntouchedSince(from: Key, to: Key, commit: number): boolean {
    return (
      this.#touched.areUntouchedSince(from, to, commit) &&
      this.reader.isEmpty(tableNumber.outbox) &&
      this.reader.isEmpty(tableNumber.parked)
    );
  }

  #pendingSince(partition: Partition, commit: number): Pending {
    const keys = new Set<Key>();
    const { to } = partitionRange(partition);
    const from = (group: number) => outboxKey(partition, group);
    const first = (commit + 1) * operationsPerCommit;
    for (const [, op] of this.entries("outbox", from(first), to))
      if (op.group > commit) keys.add(op.key);
    for (const [, { ops }] of this.entries("parked", from(commit + 1), to))
      for (const op of ops) keys.add(op.key);
    return { beginning: keyOf(partition, ""), commit, keys };
  }
}

const expectedTables = [
  tableNumber.rows,
  tableNumber.bases,
  tableNumber.marks,
  tableNumber.etags,
] as const;

const rowEnd = (to: string | undefined): RowKey | undefined =>
  to === undefined ? undefined : rowKeyOf(to);

/** The end of a table that shares its hidden table with others. */
const prefixEnd = ({ prefix = "" }: Place): RowKey | undefined =>
  prefix === "" ? undefined : { partitionKey: `${prefix.slice(0, -1)}!`, rowKey: "" };

function etagIn({ properties }: HiddenRow): string | undefined {
  const etag = properties.get(ownName.etag);
  return etag?.type === "String" ? String(etag.value) : undefined;
}

/** `own`: the row with its ETag, if that does not follow from the Timestamp. */
function localRowOf(row: HiddenRow, own: HiddenRow | undefined): LocalRow {
  const { properties, timestamp } = row;
  return { properties, version: { etag: (own && etagIn(own)) ?? row.etag, timestamp } };
}

function* entryOf(
  table: OpaqueTable,
  key: string,
  rows: readonly HiddenRow[],
): Generator<[string, unknown]> {
  const value = readValue(table, rows);
  if (value !== undefined) yield [key, value];
}

const binaryOf = ({ binary }: HiddenRow): BinaryProperties => binary;

const isChunk = ({ rowKey }: RowKey, chunk: number): boolean =>
  rowKey.endsWith(chunkKey({ partitionKey: "", rowKey: "" }, chunk).rowKey);

/** Returns undefined if there are no rows, or if they cannot be read and may be absent. */
function readValue(table: OpaqueTable, rows: readonly HiddenRow[]): unknown {
  const [first] = rows;
  if (first === undefined) return undefined;
  const place = places[table];
  const areAll = !place.isChunked || rows.every(isChunk);
  const value = areAll ? decodeValue(rows.map(binaryOf)) : undefined;
  if (isValid[table](value)) return value;
  if (place.mayBeAbsent) return undefined;
  if (table === "settling") return true; // that there is a row says everything
  throw unreadableRow(table, first);
}

function hashedEntry(row: HiddenRow | undefined): [key: string | undefined, value: unknown] {
  const entry = row && decodeValue([row.binary]);
  const isEntry = Array.isArray(entry) && typeof entry[0] === "string";
  return isEntry && isValid.scans(entry[1]) ? (entry as [string, unknown]) : [undefined, undefined];
}

const changeOf = (kind: unknown, set: Properties, unset: ReadonlySet<string>) =>
  kind === changeKind.create
    ? ({ kind: "create", properties: set, ...(unset.size > 0 && { unwritten: unset }) } as const)
    : kind === changeKind.edit
      ? ({ kind: "edit", set, unset } as const)
      : kind === changeKind.delete
        ? ({ kind: "delete" } as const)
        : undefined;

const isOfOperation = (row: RowKey, head: RowKey): boolean =>
  row.partitionKey === head.partitionKey && row.rowKey.startsWith(head.rowKey);

/** Returns undefined if the key is not that of an operation. */
function operationNumberOf(rowKey: string): number | undefined {
  const number = Number(rowKey);
  return /^\d{16}$/.test(rowKey) && Number.isSafeInteger(number) ? number : undefined;
}

/** `own`: if the operation was sent again, it has a number of a later commit than its group. */
function groupOf(number: number, own: Value | undefined): number | undefined {
  const commit = Math.floor(number / operationsPerCommit);
  if (own === undefined) return commit;
  const group = own.type === "Int64" ? Number(own.value) : Number.NaN;
  return Number.isSafeInteger(group) && group >= 0 && group <= commit ? group : undefined;
}

function operationOf(
  row: HiddenRow,
  set: Properties,
  unset: ReadonlySet<string>,
): [string, OutboxOp] {
  const { partitionKey, rowKey, properties } = row;
  const number = operationNumberOf(rowKey);
  const group = number === undefined ? undefined : groupOf(number, properties.get(ownName.group));
  const kind = properties.get(ownName.kind);
  const change = kind?.type === "Int32" ? changeOf(kind.value, set, unset) : undefined;
  const name = properties.get(ownName.key);
  if (number === undefined || group === undefined || !change || name?.type !== "String")
    throw unreadableRow("outbox", row);
  const op: OutboxOp = { number, group, key: keyOf(partitionKey, String(name.value)), change };
  const wasResent = properties.get(ownName.resent)?.value === true;
  return [keyOf(partitionKey, rowKey), wasResent ? { ...op, wasResent } : op];
}
