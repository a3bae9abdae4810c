// What a draft of sync changes, as rows of the synced table and of its hidden tables.

import type { RequestEncoder, WriteOperation } from "../client/request-encoder.ts";
import { operationsPerCommit, type Put } from "../sync/draft.ts";
import type { Base, LocalRow, OutboxOp, Ticks } from "../sync/hidden-tables.ts";
import type { Properties } from "../sync/properties.ts";
import type { Value } from "../sync/value.ts";
import type { SyncedPart } from "../wasm/engine.ts";
import { baseKind, changeKind, type EngineView, unsetSuffix } from "./engine-view.ts";
import {
  chunkKey,
  hashedKey,
  type OpaqueTable,
  places,
  type RowKey,
  rowKeyOf,
  type TableNumber,
  tableNumber,
} from "./hidden-keys.ts";
import { type BinaryProperties, encodeValue } from "./opaque-value.ts";
import { bytesMax, countBesideOwn, ownName, sizeOf } from "./own-properties.ts";
import { etagOf, storeTicksAtEpoch } from "./timestamps.ts";

// An entity has at most 1 MiB, so an operation has at most this many rows beside the first.
const setRowsMax = 3;
const none: Properties = new Map();

interface Row {
  readonly operation: WriteOperation;
  readonly timestamp: bigint; // 0: the store chooses
}

/** Collects the rows of one commit. Rows that are erased may be absent. */
export class Changes {
  readonly #view: EngineView;
  readonly #rows = new Map<TableNumber, Row[]>();
  readonly #empty = new Map<TableNumber, boolean>();

  constructor(view: EngineView) {
    this.#view = view;
  }

  add({ table, key, value }: Put): void {
    const at = rowKeyOf(key);
    if (table === "rows") this.#addLocalRow(at, value as LocalRow | undefined);
    else if (table === "bases") this.#addBase(at, value as Base | undefined);
    else if (table === "outbox") this.#addOperation(at, value as OutboxOp | undefined);
    else this.#addOpaque(table, key, value);
  }

  #put(
    table: TableNumber,
    key: RowKey,
    properties: Properties | BinaryProperties,
    ticks?: Ticks,
  ): void {
    const timestamp = ticks === undefined ? 0n : ticks + storeTicksAtEpoch;
    const { partitionKey, rowKey } = key;
    const operation = { kind: "insertOrReplace", partitionKey, rowKey, properties } as const;
    this.#add(table, { operation, timestamp });
  }

  /** For a table that is empty with most remotes: erases only what may be there. */
  #eraseIfAny(table: TableNumber, key: RowKey): void {
    let isEmpty = this.#empty.get(table);
    if (isEmpty === undefined) {
      isEmpty = this.#view.reader.isEmpty(table);
      this.#empty.set(table, isEmpty);
    }
    if (!isEmpty) this.#erase(table, key);
  }

  #erase(table: TableNumber, key: RowKey): void {
    this.#add(table, { operation: { kind: "delete", ...key, etag: "*" }, timestamp: 0n });
  }

  #add(table: TableNumber, row: Row): void {
    const rows = this.#rows.get(table);
    if (rows) rows.push(row);
    else this.#rows.set(table, [row]);
  }

  #addLocalRow(key: RowKey, row: LocalRow | undefined): void {
    const version = row?.version;
    if (row === undefined) this.#erase(tableNumber.rows, key);
    else this.#put(tableNumber.rows, key, row.properties, version?.timestamp);
    if (version && version.etag !== etagOf(version.timestamp))
      this.#put(tableNumber.etags, key, new Map([[ownName.etag, string(version.etag)]]));
    else this.#eraseIfAny(tableNumber.etags, key);
  }

  #addBase(key: RowKey, base: Base | undefined): void {
    const properties = base && propertiesOf(base);
    const isApart = properties !== undefined && countBesideOwn(properties) < properties.size;
    const beside = isApart ? none : (properties ?? none);
    const ticks = base?.kind === "row" ? base.row.timestamp : undefined;
    if (base)
      this.#put(tableNumber.bases, key, new Map([...ownOfBase(base, isApart), ...beside]), ticks);
    else this.#erase(tableNumber.bases, key);
    if (isApart) this.#put(tableNumber.baseRows, key, properties, ticks);
    else this.#eraseIfAny(tableNumber.baseRows, key);
  }

  #addOperation(key: RowKey, op: OutboxOp | undefined): void {
    const rowKey = (suffix: string) => ({ ...key, rowKey: key.rowKey + suffix });
    const { change } = op ?? {};
    const set =
      change?.kind === "create" ? change.properties : change?.kind === "edit" ? change.set : none;
    const unset = unsetOf(change);
    const beside = countBesideOwn(set);
    const first = [...set].slice(0, beside);
    if (op) this.#put(tableNumber.outbox, key, new Map([...ownOfOperation(op), ...first]));
    else this.#erase(tableNumber.outbox, key);
    const rows = splitSet([...set].slice(beside));
    for (let row = 0; row < Math.max(rows.length, setRowsMax); ++row) {
      const properties = rows[row];
      if (properties) this.#put(tableNumber.outbox, rowKey(`s${row}`), properties);
      else this.#erase(tableNumber.outbox, rowKey(`s${row}`));
    }
    const names = [...unset].map((name) => [name, { type: "Boolean", value: true }] as const);
    if (names.length > 0)
      this.#put(tableNumber.outbox, rowKey(unsetSuffix), new Map<string, Value>(names));
    else this.#erase(tableNumber.outbox, rowKey(unsetSuffix));
  }

  #addOpaque(table: OpaqueTable, key: string, value: unknown): void {
    const { number, keys, isChunked } = places[table];
    if (isChunked) {
      this.#addChunks(table, key, value);
      return;
    }
    const isHashed = keys === "hashed";
    const at = isHashed ? hashedKey(key) : rowKeyOf(key, places[table]);
    if (value === undefined) this.#erase(number, at);
    else for (const row of encodeValue(isHashed ? [key, value] : value)) this.#put(number, at, row);
  }

  #addChunks(table: OpaqueTable, key: string, value: unknown): void {
    const { number } = places[table];
    const at = rowKeyOf(key, places[table]);
    const rows = value === undefined ? [] : encodeValue(value);
    if (table === "pushes") this.#view.written.add(key, rows, value);
    const written = new Set<string>();
    for (const [chunk, row] of rows.entries()) {
      const chunkAt = chunkKey(at, chunk);
      this.#put(number, chunkAt, row);
      written.add(chunkAt.rowKey);
    }
    for (const { partitionKey, rowKey } of this.#view.chunksOf(table, key))
      if (!written.has(rowKey)) this.#erase(number, { partitionKey, rowKey });
  }

  /** The messages for Engine.applySynced(). */
  encode(encoder: RequestEncoder, table: string): SyncedPart[] {
    return [...this.#rows].map(([number, rows]) => ({
      table: number,
      timestamps: rows.map(({ timestamp }) => timestamp),
      message: encoder.write(
        table,
        rows.map(({ operation }) => operation),
        true,
        undefined,
        (message) => message.slice(),
      ),
    }));
  }
}

const string = (value: string): Value => ({ type: "String", value });
const int32 = (value: number): Value => ({ type: "Int32", value });

const propertiesOf = (base: Base): Properties | undefined =>
  base.kind === "row"
    ? base.row.properties
    : base.kind === "outdated"
      ? base.properties
      : undefined;

function ownOfBase(base: Base, isApart: boolean): [string, Value][] {
  if (base.kind === "absent") return [[ownName.kind, int32(baseKind.absent)]];
  if (base.kind === "outdated") {
    const withRow = isApart ? baseKind.outdatedRowApart : baseKind.outdatedRow;
    return [[ownName.kind, int32(base.properties ? withRow : baseKind.outdatedAbsent)]];
  }
  const own: [string, Value][] = [
    [ownName.kind, int32(isApart ? baseKind.rowApart : baseKind.row)],
  ];
  const { etag, timestamp } = base.row;
  if (etag !== etagOf(timestamp)) own.push([ownName.etag, string(etag)]);
  return own;
}

/** The names that the row with this suffix has: of an edit, or what a creation did not write. */
function unsetOf(change: OutboxOp["change"] | undefined): ReadonlySet<string> {
  if (change?.kind === "edit") return change.unset;
  return (change?.kind === "create" && change.unwritten) || new Set();
}

function ownOfOperation({ number, group, key, change, wasResent }: OutboxOp): [string, Value][] {
  const own: [string, Value][] = [
    [ownName.key, string(key.slice(key.indexOf("\0") + 1))],
    [ownName.kind, int32(changeKind[change.kind])],
  ];
  if (group !== Math.floor(number / operationsPerCommit))
    own.push([ownName.group, { type: "Int64", value: String(group) }]);
  if (wasResent) own.push([ownName.resent, { type: "Boolean", value: true }]);
  return own;
}

/** In rows that obey the limit of an entity, as Outbox::add_set() does. */
function splitSet(set: Iterable<[string, Value]>): Properties[] {
  const rows: Map<string, Value>[] = [];
  let bytes = bytesMax;
  for (const [name, value] of set) {
    if (bytes >= bytesMax) {
      rows.push(new Map());
      bytes = 0;
    }
    rows.at(-1)?.set(name, value);
    bytes += sizeOf(value);
  }
  return rows;
}
