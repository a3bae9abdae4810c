// The public types of `entitable/testing`.

import type {
  Clock,
  OpenOptions,
  Operation,
  RequestDescription,
  Store,
  TableEntity,
} from "../types.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** Entities by the table they are for, as `upsertEntity` takes them. */
export type Fixtures = Readonly<Record<string, readonly (TableEntity | TableEntity<object>)[]>>;

/** What may be done in a second, on the store's clock; beyond it: 503 `ServerBusy`, with `Retry-After`. */
export interface Throttle {
  /** Entities of one partition, by requests that name it. A batch of more takes what there is, and the rest from the seconds that follow. */
  partitionOpsPerSecond?: number;
  /** Requests, whatever they ask for. */
  accountOpsPerSecond?: number;
}

export interface ServiceLimitsOptions {
  /** `"azure"`: the service's published targets, 2,000 and 20,000. Default: none. */
  throttle?: Throttle | "azure" | undefined;
  /** How long after a table was deleted another of its name is refused: 409 `TableBeingDeleted`. Default 0. */
  tableDeletionMs?: number | undefined;
}

export interface MockOptions
  extends ServiceLimitsOptions,
    Pick<
      OpenOptions,
      "name" | "account" | "durability" | "deferredDelayMs" | "wasm" | "signal" | "onWarning"
    > {
  /** Where ids in responses come from: the same seed and the same calls give the same bytes. From 0 to 2^32 - 1; default 1. */
  seed?: number;
  /** What the store's clock shows at first (and then only when it is told to go on), or what makes it go. Default: 2026-01-01T00:00Z. */
  clock?: Date | string | Clock;
  /** What the store holds at first. */
  fixtures?: Fixtures;
  /** From then on. */
  faults?: readonly FaultRule[];
  /** How long each request takes, on the store's clock. Default 0. */
  latency?: Latency | undefined;
  /** How likely a page of a query, or of a list of tables, ends early with a continuation: half of such pages are empty. By the seed; default 0. */
  emptyPages?: number | undefined;
  /**
   * `"azure"`: queries are read as the service reads them. Only conditions on the keys that all rows must meet say where it looks; it looks at one stretch of keys, row by
   * row; and a page ends wherever a partition ends, be it empty. So the log has as many requests as the service would need, at most. Default: as any store
   * of this package, which looks at less, and ends a page when it is full.
   */
  scans?: "azure" | undefined;
}

/** A moment that a store can go back to. Until it is forgotten, what it alone holds takes memory. */
export interface Savepoint {
  release(): void;
  [Symbol.dispose](): void;
}

/**
 * A store in memory for tests. Forks and rollbacks take constant time, whatever the store holds. Same calls get the same responses, byte for
 * byte: in every fork, after every rollback, in every run with the same seed.
 */
export interface MockStore extends Store {
  readonly clock: VirtualClock;
  readonly faults: Faults;
  readonly requests: RequestLog;
  /**
   * Another store that begins with all that this one holds, clock, seed, faults and limits included, and from then on has nothing to do with it. Its
   * log of requests is empty. To be closed by itself. Throws StoreError NotSupported while a write is being applied, like the next two.
   */
  fork(): MockStore;
  savepoint(): Savepoint;
  /** To all that was then, clock (and whether it goes by itself), seed, faults and limits included, but for the log of requests; as often as one likes. Writes that still wait for their turn come after it. */
  rollback(savepoint: Savepoint): void;
  /** Inserts or replaces entities, and makes the tables that are missing. No faults, limits or delays are in its way, and no log tells of it. Rejects with StoreError ValidationFailed, naming the first that was refused. */
  seed(fixtures: Fixtures): Promise<void>;
  /** To what it was when it was opened or forked, once the writes begun before are done. */
  reset(): Promise<void>;
}

/** A request, and what became of it. */
export interface LoggedRequest extends RequestDescription {
  /** On the store's clock, like all times here. */
  at: Date;
  durationMs: number;
  /** Of the answer; absent if there was none. */
  status?: number;
  /** Why it failed: the service's code, or how the network did. Absent if it didn't. */
  code?: string;
  /** Looked at, and handed out, by a `get` or `query`. */
  rowsRead?: number;
  rowsReturned?: number;
  /** Where the rows are that a `query` looked at, if any, in a store whose `scans` are the service's: each page is of one partition. */
  partitionRead?: string;
}

export interface RequestMatch {
  /** One operation, several, or `"*"`: any. */
  on?: Operation | readonly Operation[] | "*";
  /** A table's name in any case. */
  table?: string | RegExp;
  partitionKey?: string | RegExp;
  /** Of a batch: of any of its operations. */
  rowKey?: string | RegExp;
}

/** The requests that reached a store through any of its doors, in the order in which they ended. */
export interface RequestLog {
  all(): readonly LoggedRequest[];
  matching(
    what:
      | (RequestMatch & { status?: number; code?: string })
      | ((request: LoggedRequest) => boolean),
  ): LoggedRequest[];
  clear(): void;
}

/** Milliseconds; those that are not always the same are by the store's seed. */
export type Delay =
  | number
  | { readonly fixed: number }
  | readonly [min: number, max: number]
  | { readonly uniform: readonly [min: number, max: number] }
  /** Mostly about the median, and seldom much more: one of a hundred is above `p99`. */
  | { readonly lognormal: { readonly median: number; readonly p99: number } };

/**
 * For every operation the same, or by operation: `"*"` is for all others. `"cloud"`: about what a client in the service's own region
 * sees, each operation after its kind.
 */
export type Latency = Delay | Readonly<Partial<Record<Operation | "*", Delay>>> | "cloud";

export type NetworkFault =
  /** Nothing reaches the store. */
  | "offline"
  | "reset"
  /** Nothing reaches the store, and no answer comes: it fails after `delayMs`, or half a minute, or when the caller gives up. */
  | "timeout"
  /** The same, but the store did what was asked. */
  | "timeout-after-commit"
  /** The store did what was asked, and the connection ends amid the answer: half of its body arrives. One that has none is lost. */
  | "truncate";

/** When a request fails, and how. Of several rules that match, the first counts. */
export interface FaultRule extends RequestMatch {
  on: Operation | readonly Operation[] | "*";
  when?: (request: RequestDescription) => boolean;
  /** How often it strikes. Default: always. */
  times?: number;
  /** How many that match it lets pass first. */
  skip?: number;
  /** From 0 to 1; of the store's seed. */
  probability?: number;
  /** The service's own answer. A code that it knows brings its status and its message; any other needs a status. */
  respond?: {
    code: string;
    status?: number;
    message?: string;
    /** Seconds. */
    retryAfter?: number;
    headers?: Readonly<Record<string, string>>;
  };
  network?: NetworkFault;
  /** On the store's clock, before anything else; from a range, by the store's seed. */
  delayMs?: Delay;
}

export interface Fault {
  readonly rule: FaultRule;
  /** How often it struck. */
  readonly hits: number;
  remove(): void;
}

export interface Faults {
  /** Throws StoreError ValidationFailed, and adds nothing. */
  add(rule: FaultRule): Fault;
  all(): readonly Fault[];
  clear(): void;
}
