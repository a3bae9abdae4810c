// What the events of a feed mean for one table.

import { keyOf } from "../sync/keys.ts";
import type { FeedChange, FeedEvent } from "../sync/remote.ts";
import { type JsonEntity, parseTypedJson, rowOf } from "./entity-json.ts";
import type { StreamEvent } from "./event-stream.ts";
import { isReadableKey } from "./scans.ts";

export interface FeedBatch {
  readonly sequence: bigint;
  readonly at: string;
  readonly changes: readonly JsonEntity[];
  /** The tables that were created or deleted. */
  readonly tables: readonly string[];
  /** In characters of its JSON. */
  readonly size: number;
}

export type FeedMessage =
  | { readonly kind: "head"; readonly sequence: bigint; readonly store: string }
  | { readonly kind: "batch"; readonly batch: FeedBatch }
  | { readonly kind: "position"; readonly sequence: bigint }
  | { readonly kind: "truncated"; readonly firstSequence: bigint };

/** Undefined: it is no event of a feed. */
export function messageOf({ data, id, type }: StreamEvent): FeedMessage | undefined {
  const json = data === "" ? {} : (parseTypedJson(data) as JsonEntity | undefined);
  if (typeof json !== "object" || json === null) return undefined;
  const { at, changes = [], firstSequence, sequence: named, store, tables = [] } = json;
  const sequence = sequenceOf(data === "" ? id : (named ?? firstSequence));
  if (sequence === undefined) return undefined;
  if (data === "") return { kind: "position", sequence };
  if (type === "truncated") return { kind: "truncated", firstSequence: sequence };
  if (type === "head")
    return typeof store === "string" ? { kind: "head", sequence, store } : undefined;
  if (typeof at !== "string" || !Array.isArray(changes) || !Array.isArray(tables)) return undefined;
  const names = tables.map(({ table }) => String(table));
  return { kind: "batch", batch: { sequence, at, changes, tables: names, size: data.length } };
}

const sequenceOf = (value: unknown): bigint | undefined =>
  typeof value === "string" && /^\d{1,19}$/.test(value) ? BigInt(value) : undefined;

const isTable = (name: unknown, table: string): boolean =>
  String(name).toLowerCase() === table.toLowerCase();

/** Returns what a batch means for a table. Undefined: it has a row that cannot be read. */
export function eventOf(
  { at, changes, sequence, size, tables }: FeedBatch,
  table: string,
): FeedEvent | undefined {
  const found: FeedChange[] = [];
  let etags = "";
  for (const { after, op, partitionKey, rowKey, table: name } of changes) {
    if (!isTable(name, table)) continue;
    const key = keyOf(String(partitionKey), String(rowKey));
    if (!isReadableKey(key)) continue;
    const scanned = op === "delete" ? undefined : rowOf(Object(after), false);
    if (op !== "delete" && scanned?.key !== key) return undefined;
    found.push({ key, row: scanned?.row });
    etags = scanned?.row.etag ?? etags;
  }
  const hasGap = tables.some((name) => isTable(name, table));
  const witness = found.length === 0 && !hasGap ? undefined : `${at} ${etags}`;
  return { sequence, changes: found, hasGap, witness, size };
}
