// Which absent entities may be deleted locally (PROTOCOL.md, Pulling). A scan shows an absent
// entity only by not returning it, and so does a shared access signature whose key range has become
// smaller.

import type { TableView } from "./draft.ts";
import { type Key, type KeyRange, type Partition, partitionOf, partitionRange } from "./keys.ts";
import type { ReadAnswer } from "./remote.ts";

export interface DeleteLimits {
  /** So many absent entities are always confirmed one by one. */
  readonly few: number; // 50
  /** More than this share of a key range is a mass delete. */
  readonly share: number; // 0.1
}

export interface MissingRows {
  readonly missing: readonly (readonly [key: Key, etag: string])[];
  /** The same, but changed since the request: they must be read. */
  readonly unknown: readonly Key[];
  readonly rows: number; // that were looked at
  readonly next: Key | undefined; // where to continue
}

/**
 * Finds the clean rows of a stretch of keys that the remote has passed without returning them.
 * Looks at up to `rowsMax` rows.
 */
export function missingRows(
  view: TableView,
  stretch: KeyRange,
  returned: ReadonlySet<Key>,
  sentAt: number,
  rowsMax: number,
): MissingRows {
  const missing: [Key, string][] = [];
  const unknown: Key[] = [];
  let rows = 0;
  for (const [key, { version }] of view.entries("rows", stretch.from, stretch.to)) {
    if (rows === rowsMax) return { missing, unknown, rows, next: key };
    rows += 1;
    if (returned.has(key) || version === undefined || view.get("bases", key)) continue;
    if (view.isTouchedSince(key, sentAt)) unknown.push(key);
    else missing.push([key, version.etag]);
  }
  return { missing, unknown, rows, next: undefined };
}

/** Dirty keys that the page did not return: their Base is gone. */
export function missingBases(
  view: TableView,
  stretch: KeyRange,
  returned: ReadonlySet<Key>,
): Key[] {
  const missing: Key[] = [];
  for (const [key, base] of view.entries("bases", stretch.from, stretch.to)) {
    if (base.kind === "row" && !returned.has(key)) missing.push(key);
  }
  return missing;
}

/**
 * "few": read each of them. "mass": probe first (massDelete), then compare with a second census.
 * `rows`: how many rows the local store has in the range.
 */
export function sizeOfDelete(
  view: TableView,
  rows: number,
  missing: ReadonlyMap<Key, unknown>,
  { few, share }: DeleteLimits,
): "few" | "mass" {
  if (missing.size <= few) return "few";
  if (missing.size > rows * share) return "mass";
  const partitions = new Set([...missing.keys()].map(partitionOf));
  return [...partitions].some((partition) => isWhole(view, partition, missing)) ? "mass" : "few";
}

function isWhole(
  view: TableView,
  partition: Partition,
  missing: ReadonlyMap<Key, unknown>,
): boolean {
  const { from, to } = partitionRange(partition);
  for (const [key] of view.entries("rows", from, to)) if (!missing.has(key)) return false;
  return true;
}

/**
 * The answers to reads of the first and the last missing key, and of a row that the census did
 * return (undefined: there was none). The range of a shared access signature has no gaps, so if the
 * ends of the missing keys are inside, all of them are. If no other row is left, the table may be
 * another one.
 */
export interface DeleteProbeAnswers {
  readonly first: ReadAnswer;
  readonly last: ReadAnswer;
  readonly present: ReadAnswer | undefined;
}

/**
 * "confirmed": a second census may delete what it does not return either. "suspect": the scope may
 * have become smaller, or the table may be another one: ask. "again": a probe has failed, or found
 * an entity, so the census was incomplete.
 */
export function massDelete(answers: DeleteProbeAnswers): "confirmed" | "suspect" | "again" {
  const { first, last, present } = answers;
  const missing = [first, last];
  if (missing.some(({ kind }) => kind === "forbidden")) return "suspect";
  if (missing.some(({ kind }) => kind !== "absent")) return "again";
  if (present?.kind === "found") return "confirmed";
  return present === undefined || present.kind === "absent" || present.kind === "forbidden"
    ? "suspect"
    : "again";
}
