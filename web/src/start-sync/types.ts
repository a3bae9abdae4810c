// The public types of entitable/sync.

import type { Credential } from "../data-tables/types.ts";

export type { Credential } from "../data-tables/types.ts";

// ---- Options ---------------------------------------------------------------------------------

export interface SyncOptions {
  remote: SyncRemote;
  /** The tables to sync, by name. Local tables that do not exist are created. */
  tables: Readonly<Record<string, SyncTableOptions>>;
  /**
   * A file that `entitable sync --seed-out` has written, or its URL. If the store has no tables
   * yet, the first download begins with it; startSync() then waits until it is restored. It has
   * whole tables, so a table cannot have `partitions` then.
   */
  seed?: string | Blob;
  schedule?: SyncSchedule;
  budget?: SyncBudget;
  /**
   * What happens when the remote rejects the credential. "refresh" (default): asks for another one,
   * and tries again with exponential back-off. "pause": pauses, until `resume` is called.
   */
  onUnauthorized?: "refresh" | "pause";
}

export interface SyncRemote {
  /**
   * The URL of an account, such as `https://lamps.table.core.windows.net`, perhaps with a shared
   * access signature.
   */
  url: string;
  /**
   * A shared access signature, a token credential or, only outside of pages, an account key. A
   * function is called for the first request, and again when the remote has rejected what it
   * returned, or when the function has rejected. A promise that never settles is waited for: limit
   * its time. If the store is in a worker, an object that you update is read again in these cases.
   */
  credential?: Credential | (() => Promise<Credential>);
  /** Default: the platform's. */
  fetch?: typeof fetch;
  /**
   * The version of the service's protocol, as the header x-ms-version of each request, such as
   * "2019-02-02". Default: that of the credential. In a page, each URL then needs a preflight.
   */
  version?: string;
}

export interface SyncTableOptions {
  /** Default "both". "pull" keeps local writes, and sends them once it is "both". */
  direction?: "both" | "pull" | "push";
  /** The PartitionKeys to sync. Rows of others leave the store once they are pushed. */
  partitions?: readonly string[];
  /**
   * A filter as in queries, without Timestamp. Only entities that match it are kept here. Local
   * writes are pushed also if they do not match; the entities then leave the store.
   */
  filter?: string;
  /**
   * Who wins if both sides have changed an entity. "remote" (default): the remote. "merge": both,
   * by property; if both have changed one property differently, the remote. "local": this store, by
   * property. A function decides about each conflict.
   */
  conflict?: "remote" | "merge" | "local" | Resolve;
  /**
   * Keeps one small row in each partition of the remote that this store writes, which tells whether
   * a request without a response was executed. Default false. Use it if the table is your own.
   */
  receipts?: boolean;
  /**
   * How old knowledge of an entity may be, in milliseconds: within this time, all versions are
   * compared, which finds deletes. Default 3,600,000, an hour.
   */
  maxAgeMs?: number;
  /**
   * The name of another table of the remote, in which all stores that sync this table name the
   * partitions that they have changed. A poll then is one request, and scans only those. What other
   * programs write is found within `maxAgeMs`. Without a beacon, a poll scans the whole table.
   */
  beacon?: string;
  /**
   * "partition": what a batch of the remote has changed arrives in one commit, so the store never
   * has a part of it. From the poll on that follows the first download, and not for deletes that
   * are found by comparison, nor for a partition of which more than 10,000 entities, or 4 MiB, have
   * changed. More requests, above all on Cosmos DB: there, the whole partition is read twice for
   * each change. Default: changes arrive as they are found.
   */
  consistent?: "partition";
}

/** How often the remote is asked for changes, in milliseconds. */
export interface SyncSchedule {
  /** After a change. Default 15,000. */
  minMs?: number;
  /** The most, while the page is visible. Default 300,000. */
  maxMs?: number;
  /** While the page is hidden. Default 900,000. Infinity: not at all. */
  hiddenMs?: number;
}

export interface SyncBudget {
  /**
   * How many entities of the remote are scanned per second, on average, for all tables together: by
   * queries for changes, and by comparisons of all versions. Default 2,000. An account has 20,000
   * for all its users.
   */
  entitiesPerSecond?: number;
  /**
   * How many requests are sent in a day, on average, for all tables together. Default: as many as
   * the schedule leads to. Local writes count, but are sent nevertheless; polls and comparisons
   * wait.
   */
  transactionsPerDay?: number;
}

// ---- Conflicts -------------------------------------------------------------------------------

/** An entity as a conflict shows it. A value that has no type in JavaScript is { type, value }. */
export type SyncEntity = { partitionKey: string; rowKey: string } & Record<string, unknown>;

/** Both sides have changed an entity since `base`, differently. An absent side has deleted it. */
export interface Conflict {
  readonly table: string;
  readonly base?: SyncEntity | undefined;
  readonly local?: SyncEntity | undefined;
  readonly remote?: SyncEntity | undefined;
}

/**
 * Returns the entity to store on both sides, or who wins, or "delete", or "park": the write then
 * waits until it is retried or discarded. It is parked also if the function throws. The entity has
 * the keys of the conflict; a value that is passed on unchanged keeps its type.
 */
export type Resolve = (conflict: Conflict) => Resolution | Promise<Resolution>;
export type Resolution = SyncEntity | "remote" | "local" | "delete" | "park";

// ---- Status ----------------------------------------------------------------------------------

/**
 * "connecting": asks what the remote can do. "downloading": reads the table for the first time.
 * "syncing": a request is on its way. "idle": waits for a write, or for the next poll.
 */
export type SyncPhase = "connecting" | "downloading" | "syncing" | "idle" | "paused" | "stopped";

/** How far the first download of a table has come, since this process began or continued it. */
export interface SyncProgress {
  readonly rows: number;
  /** Of the remote's responses, before compression. */
  readonly bytes: number;
  /** The key ranges that are read in parallel, and how many of them are complete. */
  readonly ranges: number;
  readonly rangesDone: number;
  /** From 0 to 1, estimated from keys. Undefined: not known yet. */
  readonly fraction: number | undefined;
  /** In the last seconds. 0 while the remote cannot be reached. */
  readonly rowsPerSecond: number;
  /** Estimated. Undefined: not known yet. */
  readonly remainingMs: number | undefined;
}

export interface TableSyncStatus {
  readonly phase: SyncPhase;
  /** While the table is read for the first time. */
  readonly progress: SyncProgress | undefined;
  /** Whether the last request was answered. Undefined: nothing was sent yet. */
  readonly online: boolean | undefined;
  /** Local operations that the remote does not have. */
  readonly pending: number;
  /** Requests on their way. */
  readonly inFlight: number;
  /** Groups of operations that the remote refuses, and that wait for the application. */
  readonly parked: number;
  /** Operations that lost a conflict, until they are restored or discarded. */
  readonly lost: number;
  /** Pushes of which it is unknown whether they were executed, and that count as lost. */
  readonly outcomeUnknown: number;
  /** Changes that a scan by Timestamp should have brought, and that a later comparison found. */
  readonly missesRepaired: number;
  /**
   * The remote's change feed brings changes as they are made, so nothing is polled. It stays true
   * while the page is hidden, and until the feed could not be opened three times: the next
   * connection brings what was missed.
   */
  readonly following: boolean;
  /** When the last complete pull began. While `following`: when the feed was heard last. */
  readonly lastPulledAt: Date | undefined;
  /** Deletes to confirm. */
  readonly suspects: readonly SuspectDeletes[];
  readonly error: SyncError | undefined;
}

export interface SyncStatus extends TableSyncStatus {
  /** Each table's own. The status itself has sums, and the worst phase and error of all. */
  readonly tables: Readonly<Record<string, TableSyncStatus>>;
}

export interface SyncError {
  /** "NoCredential": the function that returns the credential, or the token, has rejected. */
  readonly code:
    | "Unauthorized"
    | "NoCredential"
    | "TableNotFound"
    | "HeadersHidden"
    | "RemoteClock"
    | "StoreFailed";
  readonly message: string;
  /** How to fix it. */
  readonly hint: string;
}

/**
 * So many entities are missing at the remote that they were not deleted here: perhaps the
 * credential does not show them any more.
 */
export interface SuspectDeletes {
  /** For `confirmDeletes`. */
  readonly id: string;
  readonly table: string;
  readonly keys: readonly { readonly partitionKey: string; readonly rowKey: string }[];
}

export interface SyncReport {
  /** Whether the store and the remote had the same, but for what is parked. */
  readonly complete: boolean;
  readonly pending: number;
  readonly parked: number;
  readonly lost: number;
}

// ---- Operations ------------------------------------------------------------------------------

/** A local write of one entity. */
export interface SyncWrite {
  readonly table: string;
  readonly partitionKey: string;
  readonly rowKey: string;
  /** What the write did to the entity. */
  readonly kind: "create" | "edit" | "delete";
}

/** Writes of one commit in one partition, which the remote refuses, or that depend on such. */
export interface ParkedWrites {
  /** For `retry` and `discard`. */
  readonly id: string;
  readonly table: string;
  /** The service's error code; "Conflict", or "FollowsParked". */
  readonly reason: string;
  readonly writes: readonly SyncWrite[];
}

export interface LostWrite extends SyncWrite {
  /** For `restore` and `discard`. */
  readonly id: string;
  /**
   * What the remote had when the write was made, with earlier writes of this store that have
   * reached it since; absent: it had no such entity, or not known.
   */
  readonly base?: SyncEntity | undefined;
  /** The entity as it was here; absent: it was deleted. */
  readonly local?: SyncEntity | undefined;
  /** The entity that won; absent: it was deleted, or is not known. */
  readonly remote?: SyncEntity | undefined;
  /**
   * False: the write lost with another write of its transaction, or with an earlier one, and the
   * remote was not asked for this entity. So nothing is known of it.
   */
  readonly isRemoteKnown: boolean;
  /** "unknown": the write may have been applied, and overwritten since. */
  readonly outcome: "notApplied" | "unknown";
}

/** What syncing costs, with the tables as they are now, if nothing changes. */
export interface SyncEstimate {
  /** Entities that the remote scans per second, on average, while the page is visible. */
  readonly scannedPerSecond: number;
  /** Requests in 30 days, while the page is visible. */
  readonly transactionsPerMonth: number;
  /** In US dollars, at the list price of the Table service, 0.00036 for 10,000 transactions. */
  readonly costPerMonth: number;
  /**
   * After at most this time, a change of the remote is here; a delete after `maxAgeMs`. With a
   * small `transactionsPerDay`, it takes longer if other changes use up the requests of a day.
   */
  readonly stalenessMs: number;
}

/** How far a table of the store is known to have what the remote has. */
export interface SyncCoverage {
  readonly table: string;
  /**
   * Changes up to then are here, by the remote's clock, but for deletes, and for entities with
   * local writes that wait. Undefined: not all of the table was read yet, or nothing is read by
   * Timestamp: the remote cannot be asked so, or the table is only pushed.
   */
  readonly changesUntil: Date | undefined;
  /**
   * From 0 to 1: of the key ranges of the table, the share whose versions were compared within
   * `maxAgeMs`.
   */
  readonly comparedShare: number;
  /** When the oldest of these comparisons began. Undefined: there is none. */
  readonly comparedSince: Date | undefined;
}

// ---- Sync ------------------------------------------------------------------------------------

export interface EndTableOptions {
  /**
   * What happens to local writes that the remote does not have. "refuse" (default): the table goes
   * on to be synced. "discard": they are never sent. The entities stay as they are here.
   */
  pending?: "refuse" | "discard";
}

export interface SyncListOptions {
  /**
   * The most that are listed. Another tab or thread sends its list as a whole, so pass it if you
   * show only the first ones.
   */
  top?: number;
}

export interface Sync {
  /** Frozen. The same object until something changes. */
  readonly status: SyncStatus;
  /** Calls the listener after changes of the status. Returns a function that ends this. */
  subscribe(listener: (status: SyncStatus) => void): () => void;
  /**
   * Pushes and pulls now, and compares all versions. Resolves also if the remote cannot be reached:
   * then `complete` is false.
   */
  now(): Promise<SyncReport>;
  /**
   * Sends no more requests until `resume`. Local writes are kept. If the store is in a worker, the
   * status changes a moment later.
   */
  pause(): void;
  resume(): void;
  /** Ends syncing. Local writes are kept, and sent after the next startSync(). */
  stop(): Promise<void>;
  /**
   * Ends the sync of one table for good. Its entities stay, in an ordinary table, and its lost
   * writes are dropped. Rejects with RestError TableHasPendingOperations if the remote does not
   * have all local writes, unless the option `pending` is "discard".
   */
  endTable(table: string, options?: EndTableOptions): Promise<void>;
  /** The local writes that the remote does not have, without those that are parked. */
  pending(options?: SyncListOptions): AsyncIterable<SyncWrite>;
  parked(options?: SyncListOptions): AsyncIterable<ParkedWrites>;
  /** Sends parked writes again, with those that depend on them. */
  retry(id: string): Promise<void>;
  /** Drops parked writes or a lost write. The rows of parked writes become those of the remote. */
  discard(id: string): Promise<void>;
  lost(options?: SyncListOptions): AsyncIterable<LostWrite>;
  /** Makes a lost write again, as a new local write. */
  restore(id: string): Promise<void>;
  estimate(): Promise<SyncEstimate>;
  /** Of each table. */
  coverage(): Promise<readonly SyncCoverage[]>;
  /**
   * Confirms that the entities that `status.suspects` has shown with this id were deleted. Returns
   * false if others are missing by now.
   */
  confirmDeletes(id: string): Promise<boolean>;
}
