// The local store as sync sees it, and the clocks and random numbers of its platform.

import type { Draft, TableView } from "./draft.ts";
import type { Partition } from "./keys.ts";
import type { ClockReading } from "./watermark.ts";

export interface SyncStore {
  /** The published version. */
  readonly view: TableView;
  /**
   * Applies what `decide` puts into the draft, in one commit, with no other commit in between.
   * `decide` must be pure: it may be called again, for example after a part was loaded. A draft
   * without changes makes no commit.
   */
  transact<T>(decide: (draft: Draft) => T): Promise<T>;
  /**
   * Resolves when all commits so far are stored, whatever the durability of the writes. Stored
   * commits are a prefix. Never resolves in a process that is no longer the owner.
   */
  stored(): Promise<void>;
  /** The partitions with operations in the outbox or a frozen push. */
  pendingPartitions(): Partition[];
}

export interface Platform {
  now(): ClockReading;
  sleep(ms: number): Promise<void>;
  /** From 0 (inclusive) to 1 (exclusive). */
  random(): number;
  /** Returns a random text with at least 122 random bits, for example a GUID. */
  token(): string;
}
