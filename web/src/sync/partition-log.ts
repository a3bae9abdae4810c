// A working copy of one partition's pending operations: those in the outbox and those of parked
// groups. When operations leave, the rows of their keys are derived again.
//
// Invariant: a key has a Base if and only if it has pending operations, or must be read because its
// Base is outdated. All operations can be applied to the Base in their order, and the key's row is
// the result.

import { baseOf, baseProperties } from "./base.ts";
import { applyChange, type Change } from "./change.ts";
import type { Draft, TableView } from "./draft.ts";
import { groupsOf } from "./groups.ts";
import type { Base, OutboxOp, ParkedGroup, RemoteRow, Settlement } from "./hidden-tables.ts";
import { type Key, type KeyRange, type Partition, partitionOf, partitionRange } from "./keys.ts";
import { clearMark, markKey } from "./marks.ts";
import type { Properties } from "./properties.ts";

/** Returns whether the local store keeps an entity. See `filter` in the options of a table. */
export type RowFilter = (key: Key, properties: Properties) => boolean;

/** What the remote has, by key. Undefined: it has no such entity. */
export type RemoteProperties = ReadonlyMap<Key, Properties | undefined>;

/** Keys in the order of numbers. */
export const outboxKey = (partition: Partition, number: number): string =>
  `${partition}\0${String(number).padStart(16, "0")}`;

export class PartitionLog {
  readonly draft: Draft;
  readonly partition: Partition;
  readonly keeps: RowFilter;
  readonly #ops: Map<number, OutboxOp>; // in the outbox, by number, in order
  readonly #parked: Map<number, ParkedGroup>; // by group
  readonly #byKey = new Map<Key, OutboxOp[]>(); // of both, in the order of their groups
  readonly #affected = new Set<Key>();
  readonly #basesOfWrites = new Map<Key, Base>(); // of keys that were rebased since

  /** `ops`: all of the partition in the outbox, or all of the keys that this copy is used for. */
  constructor(
    draft: Draft,
    partition: Partition,
    keeps: RowFilter,
    ops: Iterable<OutboxOp> = readOutbox(draft, partition),
  ) {
    this.draft = draft;
    this.partition = partition;
    this.keeps = keeps;
    this.#ops = new Map([...ops].map((op) => [op.number, op]));
    this.#parked = new Map(readParked(draft, partition).map((parked) => [parked.group, parked]));
    for (const op of this.pending) {
      const ofKey = this.#byKey.get(op.key);
      if (ofKey) ofKey.push(op);
      else this.#byKey.set(op.key, [op]);
    }
  }

  /** In the outbox, in order. */
  get ops(): readonly OutboxOp[] {
    return [...this.#ops.values()];
  }

  get parked(): readonly ParkedGroup[] {
    return [...this.#parked.values()];
  }

  /** The operations on a key in the outbox. */
  of(key: Key): readonly OutboxOp[] {
    return this.pendingOf(key).filter(({ number }) => this.#ops.has(number));
  }

  /**
   * All operations that have not reached the remote, in the order of their groups: a parked group
   * may be later than one in the outbox.
   */
  get pending(): readonly OutboxOp[] {
    const parked = this.parked.flatMap(({ ops }) => ops);
    return parked.length === 0
      ? this.ops
      : [...parked, ...this.ops].sort((a, b) => a.group - b.group);
  }

  pendingOf(key: Key): readonly OutboxOp[] {
    return [...(this.#byKey.get(key) ?? [])];
  }

  /** REQUIRES: the key was dirty when this copy was made. */
  baseOf(key: Key): Base {
    return this.draft.get("bases", key) as Base;
  }

  drop(op: OutboxOp, how: Settlement): void {
    this.#remove(op);
    this.draft.settle(op, how);
  }

  /** `remoteOf`: what the remote has, of the keys that were observed. */
  lose(op: OutboxOp, outcome: "notApplied" | "unknown", remoteOf: RemoteProperties): void {
    const local = this.draft.get("rows", op.key)?.properties;
    const base = baseProperties(this.#basesOfWrites.get(op.key) ?? this.baseOf(op.key));
    this.#remove(op);
    this.draft.put("lost", outboxKey(this.partition, op.number), {
      op,
      base,
      local,
      remote: remoteOf.get(op.key),
      isRemoteKnown: remoteOf.has(op.key),
      outcome: op.wasResent ? "unknown" : outcome,
    });
  }

  /** Parks those of the groups that are in the outbox. */
  park(groups: ReadonlySet<number>, reason: string): void {
    for (const ops of groupsOf(this.ops)) {
      const { group } = ops[0] as OutboxOp;
      if (!groups.has(group)) continue;
      for (const { key, number } of ops) {
        this.#ops.delete(number);
        this.draft.delete("outbox", outboxKey(this.partition, number));
        this.#affected.add(key);
      }
      this.#putParked({ group, reason, ops });
    }
  }

  rewrite(op: OutboxOp, change: Change): void {
    this.#replace(op, { ...op, change });
  }

  markResent(op: OutboxOp): void {
    this.#replace(op, { ...op, wasResent: true });
  }

  #remove(op: OutboxOp): void {
    this.#replace(op, undefined);
  }

  #replace(op: OutboxOp, by: OutboxOp | undefined): void {
    this.#affected.add(op.key);
    const replaced = (ops: readonly OutboxOp[]) =>
      ops.flatMap((other) => (other === op ? (by ?? []) : other));
    this.#byKey.set(op.key, replaced(this.#byKey.get(op.key) ?? []));
    const key = outboxKey(this.partition, op.number);
    if (!this.#ops.has(op.number)) {
      const parked = this.#parked.get(op.group) as ParkedGroup;
      this.#putParked({ ...parked, ops: replaced(parked.ops) });
    } else if (by) {
      this.#ops.set(op.number, by);
      this.draft.put("outbox", key, by);
    } else {
      this.#ops.delete(op.number);
      this.draft.delete("outbox", key);
    }
  }

  #putParked(parked: ParkedGroup): void {
    const key = outboxKey(this.partition, parked.group);
    if (parked.ops.length > 0) {
      this.#parked.set(parked.group, parked);
      this.draft.put("parked", key, parked);
    } else {
      this.#parked.delete(parked.group);
      this.draft.delete("parked", key);
    }
  }

  /** A later operation of the key, if there is one, is now based on this version. */
  rebase(key: Key, base: Base): void {
    if (!this.#basesOfWrites.has(key)) this.#basesOfWrites.set(key, this.baseOf(key));
    this.draft.put("bases", key, base);
    this.#affected.add(key);
  }

  /** The later operations of the key were made on the version that it is based on now. */
  keepBase(key: Key): void {
    this.#basesOfWrites.set(key, this.baseOf(key));
  }

  /**
   * The remote's answer to a request that was sent at commit `sentAt` says that the key has this
   * version. What a later answer has marked stays marked.
   */
  rebaseOnAnswer(key: Key, row: RemoteRow | undefined, sentAt: number): void {
    this.rebase(key, baseOf(row));
    clearMark(this.draft, key, row, sentAt);
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
      const row = base.kind === "row" ? base.row : undefined;
      const isKept = row !== undefined && this.keeps(key, row.properties);
      putCleanRow(this.draft, key, isKept ? row : undefined);
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
  const parked = readParked(view, partition).flatMap(({ ops }) => ops);
  return ![...readOutbox(view, partition), ...parked].some((op) => op.key === key);
}

/** Stores what the remote has. `row` undefined: nothing, or what the table's filter excludes. */
export function putCleanRow(draft: Draft, key: Key, row: RemoteRow | undefined): void {
  if (row === undefined) draft.delete("rows", key);
  else {
    const { properties, etag, timestamp } = row;
    draft.put("rows", key, { properties, version: { etag, timestamp } });
  }
}

function resultOf(base: Properties | undefined, ops: readonly OutboxOp[]): Properties | undefined {
  return ops.reduce((row, { change }) => applyChange(row, change), base);
}

/** Reads operations only as far as they are taken. `range`: only those between these keys. */
export function* readOutbox(
  view: TableView,
  partition: Partition,
  range: Partial<KeyRange> = {},
): Generator<OutboxOp> {
  const { from, to } = { ...partitionRange(partition), ...range };
  for (const [, op] of view.entries("outbox", from, to)) yield op;
}

export function readParked(view: TableView, partition: Partition): ParkedGroup[] {
  const { from, to } = partitionRange(partition);
  return [...view.entries("parked", from, to)].map(([, parked]) => parked);
}
