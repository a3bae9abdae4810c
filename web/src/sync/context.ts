// What the pusher and the puller of one table share.

import type { Conflict, ConflictAnswer } from "./conflict.ts";
import type { DeleteLimits } from "./delete-guard.ts";
import type { Draft } from "./draft.ts";
import type { RemoteRow } from "./hidden-tables.ts";
import type { Key, KeyRange, Partition } from "./keys.ts";
import type { RowFilter } from "./partition-log.ts";
import type { PushRules } from "./plan-push.ts";
import type { Remote, ScannedRow, ScanRequest } from "./remote.ts";
import type { Requests } from "./requests.ts";
import type { Platform, SyncStore } from "./store.ts";

/** Asks the application. It may take long: nothing is locked meanwhile. */
export type Resolve = (conflict: Conflict) => Promise<ConflictAnswer>;

export interface SyncRules extends PushRules {
  readonly policy: "remote" | "merge" | "local" | Resolve;
  /** Whether the remote evaluates the filter in scans by Timestamp, too (PROTOCOL.md, Pulling). */
  readonly sendsFilter: boolean;
  /** A push is sent within this time after its claim began, or not at all: 30 s. */
  readonly sendWithinMs: number;
  /** So long after it was sent, a request cannot be executed any more: 90 s for the service. */
  readonly settleMs: number;
  readonly overlapMs: number; // of the first scan: 120 s
  readonly retry: { readonly firstMs: number; readonly mostMs: number };
  readonly deleteLimits: DeleteLimits;
  /** Disjoint, and together all keys. They are read in parallel. */
  readonly ranges: readonly KeyRange[];
  readonly pushesAtOnce: number; // 4
  /** Changes of one partition are applied in one commit. Undefined: as they come. */
  readonly consistent?: ConsistentReading | undefined;
}

/** How whole partitions are read (consistent-reading.ts). */
export interface ConsistentReading {
  /** Applies a page of a scan by Timestamp. `asked`: its request. `next`: the next one's token. */
  applyPage(
    draft: Draft,
    rows: readonly ScannedRow[],
    sentAt: number,
    keeps: RowFilter,
    asked: ScanRequest,
    next: string | undefined,
  ): void;
  /** Returns the partitions of which not all of these changes can be applied. */
  heldPartitions(
    draft: Draft,
    changes: readonly (readonly [Key, RemoteRow | undefined])[],
    sentAtOf: (key: Key) => number,
    keeps: RowFilter,
  ): ReadonlySet<Partition>;
  /** Resolves to whether the partition was read and applied. */
  readPartition(context: SyncContext, requests: Requests, partition: Partition): Promise<boolean>;
  /** As Puller.readMarked(). */
  readMarked(context: SyncContext, requests: Requests): Promise<boolean>;
}

export interface Suspects {
  readonly id: string;
  readonly keys: readonly Key[];
}

/** "noCredential": none could be had, so nothing is sent. */
export type RemoteError =
  | "unauthorized"
  | "noCredential"
  | "tableMissing"
  | "tokensHidden"
  | "remoteClock";

export interface SyncStatus {
  error?: RemoteError | undefined;
  /** Rows that seem to be deleted, but so many that the application must confirm it, by the id. */
  suspects: readonly Suspects[];
  missesRepaired: number;
  resent: number;
  unknownOutcomes: number;
}

export interface SyncContext {
  readonly store: SyncStore;
  readonly remote: Remote;
  readonly platform: Platform;
  readonly rules: SyncRules;
  readonly status: SyncStatus;
}
