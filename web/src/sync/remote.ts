// The remote table as sync sees it. An implementation sends requests and classifies the responses;
// it decides nothing. Nothing here rejects: every failure is one of these answers.

import type { FrozenPush, PushName, RemoteRow, Ticks, Version } from "./hidden-tables.ts";
import type { Key, KeyRange, Partition } from "./keys.ts";

/** What a probe of the remote has shown (PROTOCOL.md, Pulling). */
export interface RemoteTraits {
  /** Whether `$filter=Timestamp ge …` works: it silently returns nothing on Cosmos DB. */
  readonly hasTimestampFilter: boolean;
  /** Whether pages are in the order of keys: not on Cosmos DB. */
  readonly isSorted: boolean;
  /** How old a read may be: 0 unless the remote has weaker consistency (Cosmos DB). */
  readonly staleReadMs: number;
}

/**
 * The request was not executed, or perhaps was. A response is the service's only if its body is: a
 * result, or an error with a code of the service. Proxies and captive portals send any status, with
 * HTML or nothing.
 */
export type Failure =
  /** The network failed, 408, 429, 5xx, or not the service's response: perhaps executed. */
  | { readonly kind: "failed"; readonly retryAfterMs?: number | undefined }
  /**
   * The service's 401 or 403 of the whole request: the credential has expired. Not executed.
   * `lacksCredential`: there was no credential, so nothing was sent.
   */
  | { readonly kind: "unauthorized"; readonly lacksCredential?: true }
  /** The service's 404 TableNotFound. Not executed. */
  | { readonly kind: "tableMissing" };

export type PushAnswer =
  /**
   * 202: the version of each operation; undefined for a delete. Its Timestamp is that of the ETag
   * or, if the ETag has none, about that of the answer.
   */
  | {
      readonly kind: "applied";
      readonly receipt: Version | undefined;
      readonly versions: readonly (Version | undefined)[];
    }
  /** One operation was refused, so none was executed. `index` counts the receipt. */
  | {
      readonly kind: "refused";
      readonly index: number;
      readonly status: number;
      readonly code: string;
    }
  /**
   * The whole request was refused, and perhaps always will be: 400 or 413 without the index of an
   * operation, or another 4xx that is not the service's. Perhaps executed.
   */
  | { readonly kind: "rejected"; readonly code: string }
  /** The time to send it had passed. */
  | { readonly kind: "notSent" }
  | Failure;

export type ReadAnswer =
  | {
      readonly kind: "found";
      readonly row: RemoteRow;
      /** The size of the response's body, before compression. */
      readonly bytes?: number | undefined;
    }
  | { readonly kind: "absent" } // 404 ResourceNotFound
  | { readonly kind: "forbidden" } // the service's 403 of this key: outside of the SAS's key range
  | Failure;

export interface ScanRequest {
  readonly range: KeyRange;
  readonly since?: Ticks | undefined; // only rows with this Timestamp or a later one
  readonly keysOnly: boolean;
  /** Only rows that match the table's filter, which the remote evaluates. */
  readonly isFiltered: boolean;
  /** Continues after the page that returned it. The range is then that of the first page. */
  readonly token?: string | undefined;
  /** A page that is not in the order of keys, or does not continue it, counts as failed. */
  readonly needsOrder?: boolean | undefined;
}

/** `properties` are empty in a scan of keys only. */
export interface ScannedRow {
  readonly key: Key;
  readonly row: RemoteRow;
}

export type ScanAnswer =
  | {
      readonly kind: "page";
      readonly rows: readonly ScannedRow[];
      readonly token: string | undefined; // undefined: the last page
      /** The size of the response's body, before compression. */
      readonly bytes?: number | undefined;
    }
  /** There may be more pages, but the remote's CORS rules hide the headers that tell. */
  | { readonly kind: "tokensHidden" }
  | Failure;

// ---- The remote's feed of changes (feed-follower.ts) -------------------------------------------

export interface FeedChange {
  readonly key: Key;
  readonly row: RemoteRow | undefined; // undefined: the entity was deleted
}

/** A commit of the remote. Without changes, it only tells how far the feed has come. */
export interface FeedEvent {
  /** Rises from commit to commit. An opened feed continues after a sequence. */
  readonly sequence: bigint;
  readonly changes: readonly FeedChange[];
  /** Rows have changed that are not named: the table was created or deleted. */
  readonly hasGap?: boolean;
  /** Tells this commit from another one with the same sequence. */
  readonly witness?: string | undefined;
  /** About how many characters it had. */
  readonly size?: number;
}

export type FeedAnswer =
  | { readonly kind: "events"; readonly events: readonly FeedEvent[] }
  /** The remote does not know any more what has changed since. */
  | { readonly kind: "truncated" }
  /** The connection has ended. */
  | { readonly kind: "ended" };

export interface Feed {
  readonly kind: "open";
  /** The newest commit of the remote when it answered the request. */
  readonly head: bigint;
  /** Names the process of the remote, in which sequences do not change. */
  readonly store: string;
  /** Which keys the credential allows. */
  readonly scope: string;
  /** Resolves to what has arrived, at least one event. REQUIRES: one call at a time. */
  next(): Promise<FeedAnswer>;
  /** Ends the feed: next() resolves to "ended", also if it waits. */
  close(): void;
}

export interface FeedRequest {
  /** Undefined: begins with what is committed from now on. */
  readonly since: bigint | undefined;
  /** Aborts when the feed is not wanted any more: the request then ends soon. */
  readonly signal?: AbortSignal | undefined;
}

/** "none": the remote has no feed. */
export type OpenFeedAnswer = Feed | { readonly kind: "none" } | Failure;

/** The server's `Date` of a response, if it can be read. */
export type Dated<T> = T & { readonly date?: Ticks | undefined };

export interface Remote {
  readonly traits: RemoteTraits;
  /**
   * Sends one batch. The same push always has the same content. `sendBefore`: by the monotonic
   * clock. Compare it with the clock in the same turn of the event loop that calls `fetch`, and do
   * not send the batch later: a page that was frozen meanwhile may have lost the store to another.
   */
  push(push: FrozenPush, sendBefore: number): Promise<Dated<PushAnswer>>;
  /** Changes only the receipt (receipt.ts), or creates it if `etag` is undefined. */
  fence(push: PushName, etag: string | undefined): Promise<Dated<PushAnswer>>;
  read(key: Key): Promise<Dated<ReadAnswer>>;
  readReceipt(partition: Partition): Promise<Dated<ReadAnswer>>;
  scan(request: ScanRequest): Promise<Dated<ScanAnswer>>;
  /** Undefined: the remote never has a feed. */
  openFeed?(request: FeedRequest): Promise<OpenFeedAnswer>;
  /** Asks for a new credential. */
  refresh(): Promise<void>;
}
