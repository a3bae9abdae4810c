// The newest commits of a store, in bounded memory.

import type { Change, ChangeBatch } from "../types.ts";
import { isBytes } from "../util/platform-objects.ts";

/** How many rows of a table a commit has inserted, updated and deleted. */
export interface ChangeCounts {
  insert: number;
  update: number;
  delete: number;
}

export interface CommitEntry {
  readonly kind: "commit";
  readonly sequence: bigint;
  readonly at: Date;
  readonly origin: string;
  /** By the names of the tables. */
  readonly counts: ReadonlyMap<string, Readonly<ChangeCounts>>;
  /** The tables that were created and deleted. */
  readonly tables: NonNullable<ChangeBatch["tables"]>;
  /** The first changes. The log keeps a limited amount of rows, those of the newest commits. */
  changes: readonly Change[];
}

/** Commits may be missing here. */
export interface GapEntry {
  readonly kind: "gap";
  readonly at: Date;
  readonly text: string;
}

export type LogEntry = CommitEntry | GapEntry;

export interface LogLimits {
  readonly entries: number;
  readonly bytes: number; // of rows, as estimated by sizeOf()
}

const defaultLimits: LogLimits = { entries: 500, bytes: 16 * 1024 * 1024 };

export class ChangeLog {
  readonly #limits: LogLimits;
  #entries: LogEntry[] = []; // the oldest comes first
  readonly #sizes = new Map<CommitEntry, number>(); // of those with changes; the oldest comes first
  #bytes = 0;
  #pinned: ReadonlySet<LogEntry> = new Set();

  constructor(limits: LogLimits = defaultLimits) {
    this.#limits = limits;
  }

  /** The oldest comes first. */
  get entries(): readonly LogEntry[] {
    return this.#entries;
  }

  add({ sequence, at, origin, changes, tables = [] }: ChangeBatch): void {
    const { kept, bytes } = this.#firstChanges(changes);
    const counts = countChanges(changes);
    const entry: CommitEntry = {
      kind: "commit",
      sequence,
      at,
      origin,
      counts,
      tables,
      changes: kept,
    };
    this.#sizes.set(entry, bytes);
    this.#bytes += bytes;
    this.#push(entry);
    for (const oldest of this.#sizes.keys()) {
      if (this.#bytes <= this.#limits.bytes) break;
      if (!this.#pinned.has(oldest)) this.#dropRows(oldest);
    }
  }

  /**
   * Returns the entries. They keep their rows, which count towards the limit, until unpin() or
   * clear() is called.
   */
  pin(): readonly LogEntry[] {
    this.#pinned = new Set(this.#entries);
    return [...this.#entries];
  }

  unpin(): void {
    const entries = new Set(this.#entries);
    for (const entry of this.#pinned)
      if (entry.kind === "commit" && !entries.has(entry)) this.#forget(entry);
    this.#pinned = new Set();
  }

  /** Several gaps without a commit in between are one entry. */
  addGap(text: string): void {
    if (this.#entries.at(-1)?.kind === "gap") this.#entries.pop();
    this.#push({ kind: "gap", at: new Date(), text });
  }

  clear(): void {
    this.#entries = [];
    this.#sizes.clear();
    this.#bytes = 0;
    this.#pinned = new Set();
  }

  #push(entry: LogEntry): void {
    this.#entries.push(entry);
    const removed = this.#entries.splice(0, this.#entries.length - this.#limits.entries);
    for (const old of removed)
      if (old.kind === "commit" && !this.#pinned.has(old)) this.#forget(old);
  }

  #dropRows(entry: CommitEntry): void {
    entry.changes = [];
    this.#forget(entry);
  }

  #forget(entry: CommitEntry): void {
    this.#bytes -= this.#sizes.get(entry) ?? 0;
    this.#sizes.delete(entry);
  }

  // One commit may take a quarter of the memory.
  #firstChanges(changes: readonly Change[]): { kept: readonly Change[]; bytes: number } {
    let bytes = 0;
    for (const [index, change] of changes.entries()) {
      const size = sizeOf(change);
      if (bytes + size > this.#limits.bytes / 4) return { kept: changes.slice(0, index), bytes };
      bytes += size;
    }
    return { kept: changes, bytes };
  }
}

function countChanges(changes: readonly Change[]): Map<string, ChangeCounts> {
  const counts = new Map<string, ChangeCounts>();
  for (const { table, op } of changes) {
    const count = counts.get(table) ?? { insert: 0, update: 0, delete: 0 };
    count[op] += 1;
    counts.set(table, count);
  }
  return counts;
}

const perObjectBytes = 64;

// Estimates the memory of a change and its rows.
function sizeOf({ partitionKey, rowKey, before, after }: Change): number {
  const rows = [before, after].filter((row) => row !== undefined);
  const keys = perObjectBytes + 2 * (partitionKey.length + rowKey.length);
  return rows.reduce((sum, row) => sum + sizeOfRow(row), keys);
}

function sizeOfRow(row: object): number {
  let bytes = perObjectBytes;
  for (const value of Object.values(row)) bytes += sizeOfValue(value);
  return bytes;
}

function sizeOfValue(value: unknown): number {
  if (typeof value === "string") return 16 + 2 * value.length;
  if (isBytes(value)) return perObjectBytes + value.byteLength;
  return typeof value === "object" && value !== null ? sizeOfRow(value) : 16;
}
