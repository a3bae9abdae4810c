// Key ranges as filters. A range that begins or ends within a partition is read in stretches, each
// with conditions on the keys that are joined by `and` only: a condition with `or` would make the
// service read these partitions from their beginning.

import { odata } from "../filter/odata.ts";
import type { Key, KeyRange } from "../sync/keys.ts";

interface Bound {
  readonly partition: string;
  /** Undefined: the bound is before or after the whole partition. */
  readonly rowKey?: string;
  /** The keys that the bound names are before it. */
  readonly isAfter: boolean;
}

/** Returns the filters of the stretches, in the order of keys. An empty filter matches all keys. */
export function stretchesOf({ from, to }: KeyRange): string[] {
  if (to !== undefined && from >= to) return [];
  const start = from === "" ? undefined : boundOf(from);
  const end = to === undefined ? undefined : boundOf(to);
  const first = start?.rowKey === undefined ? undefined : (start as Required<Bound>);
  const last = end?.rowKey === undefined ? undefined : (end as Required<Bound>);
  if (first && last?.partition === first.partition) {
    return [all(inPartition(first), fromRow(first), toRow(last))];
  }
  const stretches: string[] = [];
  if (first) stretches.push(all(inPartition(first), fromRow(first)));
  const between = partitions(first ? { ...first, isAfter: true } : start, last ?? end);
  if (between !== undefined) stretches.push(between);
  if (last) stretches.push(all(inPartition(last), toRow(last)));
  return stretches;
}

/** A key, or a text between keys (keys.ts), in which U+0000 and U+0001 come after a key. */
function boundOf(bound: Key): Bound {
  const at = bound.indexOf("\0");
  const partition = at < 0 ? bound : bound.slice(0, at);
  if (partition.endsWith("\u0001")) return { partition: partition.slice(0, -1), isAfter: true };
  const rowKey = at < 0 ? "" : bound.slice(at + 1);
  if (rowKey === "") return { partition, isAfter: false };
  const isAfter = rowKey.endsWith("\0");
  return { partition, rowKey: isAfter ? rowKey.slice(0, -1) : rowKey, isAfter };
}

const all = (...conditions: string[]): string => conditions.join(" and ");

const inPartition = ({ partition }: Bound): string => odata`PartitionKey eq ${partition}`;

const fromRow = ({ rowKey, isAfter }: Required<Bound>): string =>
  isAfter ? odata`RowKey gt ${rowKey}` : odata`RowKey ge ${rowKey}`;

const toRow = ({ rowKey, isAfter }: Required<Bound>): string =>
  isAfter ? odata`RowKey le ${rowKey}` : odata`RowKey lt ${rowKey}`;

/** Returns undefined if there are no partitions between the two. */
function partitions(start: Bound | undefined, end: Bound | undefined): string | undefined {
  const includesEnd = end?.rowKey === undefined && end?.isAfter;
  if (start && end && start.partition >= end.partition) {
    const isOne = start.partition === end.partition && !start.isAfter && includesEnd;
    return isOne ? inPartition(start) : undefined;
  }
  const conditions: string[] = [];
  if (start) {
    const { partition } = start;
    conditions.push(
      start.isAfter ? odata`PartitionKey gt ${partition}` : odata`PartitionKey ge ${partition}`,
    );
  }
  if (end) {
    const { partition } = end;
    conditions.push(
      includesEnd ? odata`PartitionKey le ${partition}` : odata`PartitionKey lt ${partition}`,
    );
  }
  return all(...conditions);
}
