// The rows that sync keeps beside an application's rows, all of them in ordinary hidden tables of
// the store, so that they are stored in the same commit as the data that they describe.

import type { Change } from "./change.ts";
import type { Key, Partition } from "./keys.ts";
import type { Properties } from "./properties.ts";

/** In units of 100 ns, like Timestamp. */
export type Ticks = bigint;

/** A version of an entity that the remote had. */
export interface RemoteRow {
  readonly properties: Properties;
  readonly etag: string;
  readonly timestamp: Ticks;
}

/**
 * A clean row has the version of the remote: the store keeps its Timestamp, and the ETag too if
 * that does not follow from the Timestamp. A row with a Base has the version that the store gave it
 * when it was written, which means nothing to sync.
 */
export interface LocalRow {
  readonly properties: Properties;
  readonly version?: Version; // undefined only in a draft, for the store to choose one
}

export type Version = Pick<RemoteRow, "etag" | "timestamp">;

/**
 * What the remote had when the local row was made from it. The Base of a clean row is the row, and
 * is not stored. "outdated": a version that the remote had and has replaced since, so that the
 * entity must be read before a push. Such a Base stays when no operation is left, until the entity
 * is read.
 */
export type Base =
  | { readonly kind: "absent" }
  | { readonly kind: "row"; readonly row: RemoteRow }
  | { readonly kind: "outdated"; readonly properties: Properties | undefined };

/** One operation of a local commit. A commit's operations in one partition are a group. */
export interface OutboxOp {
  readonly number: number; // rises with the operations of the table (Draft.nextNumber)
  readonly group: number; // rises with the commits of the store
  readonly key: Key;
  readonly change: Change;
  /** It was sent again although its first try may have been applied and overwritten since. */
  readonly wasResent?: true;
}

/** One entity of a push, with its exact content and condition. */
export interface Member {
  readonly key: Key;
  readonly base: Base;
  readonly intended: Properties | undefined; // undefined: the entity is deleted
}

/** What identifies a push. */
export interface PushName {
  readonly partition: Partition;
  /**
   * A random text that no other push has. A number that counts would not do: after an older copy of
   * the store was restored, it would be that of another push.
   */
  readonly token: string;
}

/** A batch that is sent, and sent again, unchanged until its outcome is known. */
export interface FrozenPush extends PushName {
  readonly upTo: number; // it settles all operations of the partition's outbox up to this number
  readonly groups: number;
  readonly members: readonly Member[];
  readonly idleKeys: readonly Key[]; // their operations cancel each other out
  /** The condition on the receipt, if the push has one (create-receipt.ts). */
  readonly receipt?: Receipt;
}

/** The receipt's version that the last settled push of this partition left. */
export interface Receipt {
  readonly etag: string;
}

/** The remote may have a version that the local store does not. `at`: the commit that noted it. */
export interface Mark {
  readonly at: number;
  /** The ETag of that version, if a feed has brought it; "": the entity was absent. */
  readonly etag?: string | undefined;
}

/** A group that the remote refuses permanently. Its rows stay dirty until retried or discarded. */
export interface ParkedGroup {
  readonly group: number;
  readonly reason: string; // an error code of the service, or ours
  readonly ops: readonly OutboxOp[];
}

/** An operation that lost a conflict. */
export interface Lost {
  readonly op: OutboxOp;
  /** The version on which the operation was made. Undefined: the entity was absent, or unknown. */
  readonly base?: Properties | undefined;
  readonly local: Properties | undefined;
  /** Undefined: nothing, or unknown. */
  readonly remote: Properties | undefined;
  /** Whether the remote was asked for the entity. Undefined: it is not known if `remote` is not. */
  readonly isRemoteKnown?: boolean | undefined;
  /** "unknown": it may have been applied, and overwritten since. */
  readonly outcome: "notApplied" | "unknown";
}

/** A scan by Timestamp that has not ended, resumable after `after`. */
export interface RunningDelta {
  readonly since: Ticks | undefined; // undefined: a scan of everything
  readonly nextWatermark: Ticks | undefined;
  readonly after: Key | undefined;
  /** When it began, the range had rows that may leave the filter unseen. */
  readonly hadRows?: boolean | undefined;
}

/** How far a key range has been read (scan-state.ts). */
export interface ScanState {
  readonly to: Key | undefined; // the end of the range
  readonly watermark?: Ticks | undefined;
  readonly delta?: RunningDelta | undefined;
  readonly census?: RunningCensus | undefined;
  /** When the last census of the range began, by the wall clock, in milliseconds. */
  readonly comparedAt?: number | undefined;
}

/** A census that has not ended, resumable after `after`. */
export interface RunningCensus {
  readonly after: Key | undefined;
  /** As `comparedAt`. */
  readonly beganAt?: number;
  /** The clean rows up to here that were not returned, with their ETags. */
  readonly missing?: readonly (readonly [Key, string])[];
}

/** How far the remote's feed of changes was followed (feed-follower.ts). */
export interface FeedState {
  readonly position: bigint; // what was committed up to here is known, or marked
  readonly store: string; // as in Feed
  readonly scope: string; // as in Feed
  /** The last commit of which the feed has brought changes. */
  readonly witness?: { readonly sequence: bigint; readonly text: string } | undefined;
  /** Everything was read and compared since the feed has had its last gap. */
  readonly isComplete: boolean;
}

export interface HiddenTables {
  rows: LocalRow; // the application's own table
  bases: Base;
  outbox: OutboxOp; // by outboxKey()
  parked: ParkedGroup; // by outboxKey(), with the group's number
  pushes: FrozenPush; // by partition
  /** How often the partition's frozen push was sent. */
  tries: number; // by partition
  receipts: Receipt; // by partition
  /** Keys whose ambiguous insert may still arrive at the remote (PROTOCOL.md, Outcomes). */
  settling: true;
  marks: Mark;
  scans: ScanState; // by the range's `from`
  lost: Lost; // by outboxKey()
  server: Ticks; // "time": the newest time that the remote is known to have reached
  overlap: number; // "ms"
  client: string; // "name": in the receipts; "filter": of the table; "remote": which service it is
  feed: FeedState; // "state"
}

export type TableName = keyof HiddenTables;

/** How an operation left the outbox, if it was neither lost nor parked. */
export type Settlement = "confirmed" | "folded" | "equal" | "discarded";
