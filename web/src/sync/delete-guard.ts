// Which absent entities may be deleted locally (PROTOCOL.md, Pulling). A scan shows an absent
// entity only by not returning it, and so does a shared access signature whose key range has become
// smaller.

import type { TableView } from "./draft.ts";
import {
  isInRange,
  type Key,
  type KeyRange,
  type Partition,
  partitionOf,
  partitionRange,
} from "./keys.ts";
import type { ReadAnswer } from "./remote.ts";

export interface DeleteLimits {
  /** So many absent entities are always confirmed one by one. */
  readonly few: number; // 50
  /** More than this share of the table is a mass delete. */
  readonly share: number; // 0.1
}

/**
 * Returns the clean rows of a stretch of keys that a page has passed without returning them, and
 * that were not changed since the page was requested.
 */
export function missingRows(
  view: TableView,
  stretch: KeyRange,
  returned: ReadonlySet<Key>,
  sentAt: number,
): Key[] {
  const missing: Key[] = [];
  for (const [key] of view.entries("rows", stretch.from, stretch.to)) {
    const isClean = view.get("bases", key) === undefined;
    if (isClean && !returned.has(key) && !view.isTouchedSince(key, sentAt)) missing.push(key);
  }
  return missing;
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
 */
export function sizeOfDelete(
  view: TableView,
  range: KeyRange,
  missing: readonly Key[],
  { few, share }: DeleteLimits,
): "few" | "mass" {
  if (missing.length <= few) return "few";
  const rows = [...view.entries("rows", range.from, range.to)];
  if (missing.length > rows.length * share) return "mass";
  const byPartition = new Map<Partition, number>();
  for (const key of missing) {
    const partition = partitionOf(key);
    byPartition.set(partition, (byPartition.get(partition) ?? 0) + 1);
  }
  const isWhole = ([partition, count]: [Partition, number]) =>
    rows.filter(([key]) => isInRange(key, partitionRange(partition))).length === count;
  return [...byPartition].some(isWhole) ? "mass" : "few";
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
