// A version of the store as sync reads it. A read of a part that is not in memory throws
// PartsMissing.

import type { Change } from "../sync/change.ts";
import { operationsPerCommit, type TableView } from "../sync/draft.ts";
import type {
  Base,
  HiddenTables,
  LocalRow,
  OutboxOp,
  ParkedGroup,
  TableName,
} from "../sync/hidden-tables.ts";
import { type Key, keyOf, partitionOf, partitionRange } from "../sync/keys.ts";
import { outboxKey } from "../sync/partition-log.ts";
import type { Properties } from "../sync/properties.ts";
import {
  chunkKey,
  type OpaqueTable,
  type Place,
  places,
  type RowKey,
  rowKeyOf,
  tableNumber,
  textKeyOf,
  withoutChunk,
} from "./hidden-keys.ts";
import { HiddenReader, type HiddenRow, type SyncEngine } from "./hidden-reader.ts";
import { decodeValue } from "./opaque-value.ts";

export const numberDigits = 16;

// The suffixes of the rows of an operation in the outbox (core/store/outbox.h).
export const unsetSuffix = "u";
const setSuffix = /^s\d+$/;

export const baseKind = { absent: 0, row: 1, outdatedAbsent: 2, outdatedRow: 3 } as const;

const byPartition = new Set<OpaqueTable>(["pushes", "tries", "receipts", "server", "overlap"]);

/** When each key was last touched by a commit of sync, as far as this process remembers. */
export interface Touched {
  /** The keys of earlier commits are forgotten. */
  readonly since: number;
  readonly keys: ReadonlyMap<Key, number>;
}

export class EngineView implements TableView {
  readonly #engine: SyncEngine;
  readonly #touched: Touched;
  readonly reader: HiddenReader;

  constructor(engine: SyncEngine, table: string, touched: Touched) {
    this.#engine = engine;
    this.#touched = touched;
    this.reader = new HiddenReader(engine, table);
  }

  get commit(): number {
    return this.#engine.lastCommit;
  }

  get<N extends TableName>(table: N, key: string): HiddenTables[N] | undefined {
    return this.#get(table, key) as HiddenTables[N] | undefined;
  }

  #get(table: TableName, key: string): unknown {
    if (table === "rows") return this.#localRow(this.reader.get(tableNumber.rows, rowKeyOf(key)));
    if (table === "bases") return this.#base(this.reader.get(tableNumber.bases, rowKeyOf(key)));
    for (const [found, value] of this.entries(table, key)) return found === key ? value : undefined;
    return undefined;
  }

  entries<N extends TableName>(
    table: N,
    from: string,
    to?: string,
  ): Iterable<readonly [string, HiddenTables[N]]> {
    return this.#entries(table, from, to) as Iterable<readonly [string, HiddenTables[N]]>;
  }

  #entries(table: TableName, from: string, to: string | undefined): Iterable<[string, unknown]> {
    if (table === "rows" || table === "bases") return this.#entriesByKey(table, from, to);
    if (table === "outbox") return this.#operations(from, to);
    return this.#opaqueEntries(table, from, to);
  }

  *#entriesByKey(table: "rows" | "bases", from: string, to: string | undefined) {
    for (const row of this.reader.range(tableNumber[table], rowKeyOf(from), rowEnd(to))) {
      const key = keyOf(row.partitionKey, row.rowKey);
      const value = table === "rows" ? this.#localRow(row) : this.#base(row);
      yield [key, value] as [string, unknown];
    }
  }

  #localRow(row: HiddenRow | undefined): LocalRow | undefined {
    if (row === undefined) return undefined;
    const { properties, timestamp } = row;
    return { properties, version: { etag: this.#etagOf(row), timestamp } };
  }

  #etagOf(row: HiddenRow): string {
    const own = this.reader.get(tableNumber.etags, row)?.properties.get("Etag");
    return own === undefined ? row.etag : String(own.value);
  }

  #base(row: HiddenRow | undefined): Base | undefined {
    if (row === undefined) return undefined;
    const kind = Number(row.properties.get("Kind")?.value);
    if (kind === baseKind.absent) return { kind: "absent" };
    if (kind === baseKind.outdatedAbsent) return { kind: "outdated", properties: undefined };
    const { properties, timestamp, etag } = this.reader.get(tableNumber.baseRows, row) as HiddenRow;
    if (kind === baseKind.outdatedRow) return { kind: "outdated", properties };
    const own = row.properties.get("Etag");
    return { kind: "row", row: { properties, timestamp, etag: own ? String(own.value) : etag } };
  }

  // ---- The outbox ------------------------------------------------------------------------------

  *#operations(from: string, to: string | undefined): Generator<[string, OutboxOp]> {
    let head: HiddenRow | undefined;
    let set: [string, unknown][] = [];
    let unset = new Set<string>();
    const finish = () => operationOf(head as HiddenRow, new Map(set) as Properties, unset);
    for (const row of this.reader.range(tableNumber.outbox, rowKeyOf(from), rowEnd(to))) {
      const suffix = row.rowKey.slice(numberDigits);
      if (suffix === "") {
        if (head) yield finish();
        [head, set, unset] = [row, [], new Set()];
      } else if (suffix === unsetSuffix) unset = new Set(row.properties.keys());
      else if (setSuffix.test(suffix)) set.push(...row.properties);
    }
    if (head) yield finish();
  }

  // ---- Other tables ----------------------------------------------------------------------------

  *#opaqueEntries(
    table: OpaqueTable,
    from: string,
    to: string | undefined,
  ): Generator<[string, unknown]> {
    const place = places[table];
    const isPartition = byPartition.has(table);
    let key: string | undefined;
    let rows: Properties[] = [];
    for (const row of this.#rowsOf(place, from, to)) {
      // The first range begins with the empty key.
      const isFirst = table === "scans" && row.partitionKey === "" && row.rowKey === "";
      const stored = place.isChunked ? withoutChunk(row) : row;
      const next = textKeyOf(stored, place, isPartition || isFirst);
      if (next !== key && key !== undefined) {
        yield [key, decodeValue(rows)];
        rows = [];
      }
      key = next;
      rows.push(row.properties);
    }
    if (key !== undefined) yield [key, decodeValue(rows)];
  }

  #rowsOf(place: Place, from: string, to: string | undefined): Generator<HiddenRow> {
    const end = to === undefined ? prefixEnd(place) : rowKeyOf(to, place);
    return this.reader.range(place.number, rowKeyOf(from, place), end);
  }

  /** The keys of the rows that hold the value, if it is chunked. */
  chunksOf(table: OpaqueTable, key: string): RowKey[] {
    const place = places[table];
    const from = rowKeyOf(key, place);
    const chunks: RowKey[] = [];
    for (const row of this.reader.range(place.number, from, undefined)) {
      const expected = chunkKey(from, chunks.length);
      if (row.partitionKey !== expected.partitionKey || row.rowKey !== expected.rowKey) break;
      chunks.push(expected);
    }
    return chunks;
  }

  /**
   * What sync itself has touched is remembered. A key that a local write has touched since has an
   * operation of that commit, unless sync has touched it afterwards.
   */
  isTouchedSince(key: Key, commit: number): boolean {
    if (commit < this.#touched.since) return true;
    if ((this.#touched.keys.get(key) ?? 0) > commit) return true;
    const partition = partitionOf(key);
    const { to } = partitionRange(partition);
    const from = (group: number) => outboxKey(partition, group);
    const first = (commit + 1) * operationsPerCommit;
    for (const [, op] of this.entries("outbox", from(first), to)) {
      if (op.key === key && op.group > commit) return true;
    }
    for (const [, { ops }] of this.entries("parked", from(commit + 1), to)) {
      if ((ops as ParkedGroup["ops"]).some((op) => op.key === key)) return true;
    }
    return false;
  }
}

const rowEnd = (to: string | undefined): RowKey | undefined =>
  to === undefined ? undefined : rowKeyOf(to);

/** The end of a table that shares its hidden table with others. */
const prefixEnd = ({ prefix }: Place): RowKey | undefined =>
  prefix === "" ? undefined : { partitionKey: `${prefix.slice(0, -1)}!`, rowKey: "" };

function operationOf(
  head: HiddenRow,
  set: Properties,
  unset: ReadonlySet<string>,
): [string, OutboxOp] {
  const { partitionKey, rowKey, properties } = head;
  const number = Number(rowKey);
  const own = properties.get("Group");
  const group = own ? Number(own.value) : Math.floor(number / operationsPerCommit);
  const kind = Number(properties.get("Kind")?.value);
  const change: Change =
    kind === 0
      ? { kind: "create", properties: set }
      : kind === 1
        ? { kind: "edit", set, unset }
        : { kind: "delete" };
  const key = keyOf(partitionKey, String(properties.get("Key")?.value));
  const op: OutboxOp = { number, group, key, change };
  const wasResent = properties.get("Resent")?.value === true;
  return [keyOf(partitionKey, rowKey), wasResent ? { ...op, wasResent } : op];
}
