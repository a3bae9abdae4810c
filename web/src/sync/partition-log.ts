// A working copy of one partition's pending operations: those in the outbox and those of parked
// groups. When operations leave, the rows of their keys are derived again.
//
// Invariant: a key has a Base if and only if it has pending operations, or must be read because its
// Base is outdated. All operations can be applied to the Base in their order, and the key's row is
// the result.

import { baseOf, baseProperties } from "./base.ts";
import { applyChange, type Change } from "./change.ts";
import type { Draft, TableView } from "./draft.ts";
import type { Base, OutboxOp, ParkedGroup, RemoteRow, Settlement } from "./hidden-tables.ts";
import { type Key, type Partition, partitionOf, partitionRange } from "./keys.ts";
import { markKey } from "./marks.ts";
import type { Properties } from "./properties.ts";

/** Returns whether the local store keeps an entity. See `filter` in the options of a table. */
export type RowFilter = (key: Key, properties: Properties) => boolean;

/** Keys in the order of numbers. */
export const outboxKey = (partition: Partition, number: number): string =>
  `${partition}\0${String(number).padStart(16, "0")}`;

export class PartitionLog {
  readonly draft: Draft;
  readonly partition: Partition;
  readonly keeps: RowFilter;
  /** In order. Replaced, never changed in place. */
  ops: readonly OutboxOp[];
  parked: readonly ParkedGroup[];
  readonly #affected = new Set<Key>();

  constructor(draft: Draft, partition: Partition, keeps: RowFilter) {
    this.draft = draft;
    this.partition = partition;
    this.keeps = keeps;
    this.ops = readOutbox(draft, partition);
    this.parked = readParked(draft, partition);
  }

  /** The operations on a key in the outbox. */
  of(key: Key): OutboxOp[] {
    return this.ops.filter((op) => op.key === key);
  }

  /**
   * All operations that have not reached the remote, in the order of their groups: a parked group
   * may be later than one in the outbox.
   */
  get pending(): OutboxOp[] {
    const all = [...this.parked.flatMap(({ ops }) => ops), ...this.ops];
    return this.parked.length === 0 ? all : all.sort((a, b) => a.group - b.group);
  }

  pendingOf(key: Key): OutboxOp[] {
    return this.pending.filter((op) => op.key === key);
  }

  /** REQUIRES: the key was dirty when this copy was made. */
  baseOf(key: Key): Base {
    return this.draft.get("bases", key) as Base;
  }

  drop(op: OutboxOp, how: Settlement): void {
    this.#remove(op);
    this.draft.settle(op, how);
  }

  lose(op: OutboxOp, outcome: "notApplied" | "unknown", remote: Properties | undefined): void {
    const local = this.draft.get("rows", op.key)?.properties;
    this.#remove(op);
    this.draft.put("lost", outboxKey(this.partition, op.number), {
      op,
      local,
      remote,
      outcome: op.wasResent ? "unknown" : outcome,
    });
  }

  park(group: number, reason: string): void {
    const ops = this.ops.filter((op) => op.group === group);
    for (const op of ops) this.#remove(op);
    const parked = { group, reason, ops };
    this.parked = [...this.parked, parked];
    this.draft.put("parked", outboxKey(this.partition, group), parked);
  }

  rewrite(op: OutboxOp, change: Change): void {
    this.#replace(op, { ...op, change });
  }

  markResent(op: OutboxOp): void {
    this.#replace(op, { ...op, wasResent: true });
  }

  #replace(op: OutboxOp, by: OutboxOp): void {
    this.#affected.add(op.key);
    if (this.ops.includes(op)) {
      this.ops = this.ops.map((other) => (other === op ? by : other));
      this.draft.put("outbox", outboxKey(this.partition, op.number), by);
    } else this.#replaceParked(op, [by]);
  }

  #remove(op: OutboxOp): void {
    this.#affected.add(op.key);
    if (this.ops.includes(op)) {
      this.ops = this.ops.filter((other) => other !== op);
      this.draft.delete("outbox", outboxKey(this.partition, op.number));
    } else this.#replaceParked(op, []);
  }

  #replaceParked(op: OutboxOp, by: readonly OutboxOp[]): void {
    const parked = this.parked.find(({ ops }) => ops.includes(op)) as ParkedGroup;
    const ops = parked.ops.flatMap((other) => (other === op ? by : other));
    const key = outboxKey(this.partition, parked.group);
    const others = this.parked.filter((other) => other !== parked);
    this.parked = ops.length > 0 ? [...others, { ...parked, ops }] : others;
    if (ops.length > 0) this.draft.put("parked", key, { ...parked, ops });
    else this.draft.delete("parked", key);
  }

  /** A later operation of the key, if there is one, is now based on this version. */
  rebase(key: Key, base: Base): void {
    this.draft.put("bases", key, base);
    this.#affected.add(key);
  }

  /**
   * The remote's answer to a request that was sent at commit `sentAt` says that the key has this
   * version. What a later answer has marked stays marked.
   */
  rebaseOnAnswer(key: Key, row: RemoteRow | undefined, sentAt: number): void {
    this.rebase(key, baseOf(row));
    const mark = this.draft.get("marks", key);
    if (mark !== undefined && mark.at <= sentAt) this.draft.delete("marks", key);
  }

  /** Derives the rows of all affected keys. Call it once, after all changes. */
  updateRows(): void {
    for (const key of this.#affected) this.#updateRow(key);
    this.#affected.clear();
  }

  #updateRow(key: Key): void {
    const base = this.baseOf(key);
    const pending = this.pendingOf(key);
    if (pending.length === 0 && base.kind !== "outdated") {
      this.draft.delete("bases", key);
      putCleanRow(this.draft, key, base.kind === "row" ? base.row : undefined, this.keeps);
      return;
    }
    if (pending.length === 0) markKey(this.draft, key);
    const properties = resultOf(baseProperties(base), pending);
    if (properties === undefined) this.draft.delete("rows", key);
    else this.draft.put("rows", key, { properties });
  }
}

/** Returns whether a key with a Base has no operations: its Base is outdated. */
export function isUnread(view: TableView, key: Key): boolean {
  if (view.get("bases", key)?.kind !== "outdated") return false;
  const partition = partitionOf(key);
  const groups = [
    readOutbox(view, partition),
    ...readParked(view, partition).map(({ ops }) => ops),
  ];
  return !groups.flat().some((op) => op.key === key);
}

/** Stores what the remote has, unless the table's filter excludes it. */
export function putCleanRow(
  draft: Draft,
  key: Key,
  row: RemoteRow | undefined,
  keeps: RowFilter,
): void {
  if (row === undefined || !keeps(key, row.properties)) draft.delete("rows", key);
  else {
    const { properties, etag, timestamp } = row;
    draft.put("rows", key, { properties, version: { etag, timestamp } });
  }
}

function resultOf(base: Properties | undefined, ops: readonly OutboxOp[]): Properties | undefined {
  return ops.reduce((row, { change }) => applyChange(row, change), base);
}

export function readOutbox(view: TableView, partition: Partition): OutboxOp[] {
  const { from, to } = partitionRange(partition);
  return [...view.entries("outbox", from, to)].map(([, op]) => op);
}

export function readParked(view: TableView, partition: Partition): ParkedGroup[] {
  const { from, to } = partitionRange(partition);
  return [...view.entries("parked", from, to)].map(([, parked]) => parked);
}
