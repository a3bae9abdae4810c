// The local store as sync sees it, and the clocks and random numbers of its platform.
//
// The owner of a store can provide it:
//
//   read()      reads of the engine, repeated after parts are loaded (host/part-loader.ts)
//   transact()  a task of the commit queue (host/queue-tasks.ts). It is staged alone, so its commit
//               follows the published version, and it can ask for parts, too
//   stored()    the end of storing all commits so far; an owner that was replaced cannot store any
//   commit      the engine's lastCommit, which is in the log and rises, also across processes
//
// The hidden tables are tables of the store. A local write of a table that is synced adds, in its
// own commit: an operation to the outbox, whose number follows from the commit, and whose group is
// the number of the commit; and the row before it as the Base, unless the key has a Base.

import type { Draft, TableView } from "./draft.ts";
import type { ClockReading } from "./watermark.ts";

export interface SyncStore {
  /** The number of the newest published commit. */
  readonly commit: number;
  /**
   * Calls `look` with the published version. Like `decide` below, `look` may be called again,
   * because a read throws if it needs a part that is not loaded. So both have no effects but on the
   * draft, let exceptions pass, and look at a limited number of rows.
   */
  read<T>(look: (view: TableView) => T): Promise<T>;
  /**
   * Applies what `decide` puts into the draft, in one commit, with no other commit in between. A
   * draft without changes makes no commit. Rejects if the commit was not made.
   */
  transact<T>(decide: (draft: Draft) => T): Promise<T>;
  /**
   * Resolves when all commits so far are stored, whatever the durability of the writes. Stored
   * commits are a prefix. Never resolves in a process that is no longer the owner.
   */
  stored(): Promise<void>;
}

export interface Platform {
  now(): ClockReading;
  sleep(ms: number): Promise<void>;
  /** Waits before a request is repeated. May end early, if the remote may be reachable again. */
  backOff?(ms: number): Promise<void>;
  /** Whether nothing new is to begin: what was answered is still stored. */
  readonly isStopped?: boolean;
  /** From 0 (inclusive) to 1 (exclusive). */
  random(): number;
  /** Returns a random GUID. Azurite requires one in the boundaries of a batch. */
  token(): string;
}
