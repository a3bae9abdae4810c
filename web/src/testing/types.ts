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

/** Entities by table name. They are written as by `upsertEntity`. */
export type Fixtures = Readonly<Record<string, readonly (TableEntity | TableEntity<object>)[]>>;

/**
 * How many operations are allowed per second of the store's clock. Further requests are rejected
 * with 503 `ServerBusy` and `Retry-After`.
 */
export interface Throttle {
  /**
   * Entities of one partition, in requests that name the partition. A batch with more entities also
   * uses the allowance of the following seconds.
   */
  partitionOpsPerSecond?: number;
  /** Requests of any kind to the store. */
  accountOpsPerSecond?: number;
}

export interface ServiceLimitsOptions {
  /**
   * `"azure"`: the service's published targets, 2,000 per partition and 20,000 per store. Default:
   * no limit.
   */
  throttle?: Throttle | "azure" | undefined;
  /**
   * For how long after a table was deleted a new table of the same name is rejected with 409
   * `TableBeingDeleted`. In milliseconds; default 0.
   */
  tableDeletionMs?: number | undefined;
}

/**
 * Options of a mock store. The default of `name` is `devstoreaccount1`, so the store serves the
 * account of the emulator, with its well-known key. Pages of every origin may use that account.
 */
export interface MockOptions
  extends ServiceLimitsOptions,
    Pick<
      OpenOptions,
      "name" | "account" | "durability" | "deferredDelayMs" | "wasm" | "signal" | "onWarning"
    > {
  /**
   * The seed of the ids in responses. The same seed and the same calls give the same bytes. An
   * integer from 0 to 2^32 - 1; default 1.
   */
  seed?: number;
  /**
   * The initial time of the store's clock, which stands still until the test advances it. Or a
   * running clock to use instead. Default: 2026-01-01T00:00Z.
   */
  clock?: Date | string | Clock;
  /** The initial content of the store. */
  fixtures?: Fixtures;
  /** Fault rules (see FaultRule). They do not apply to the writing of `fixtures`. */
  faults?: readonly FaultRule[];
  /** How long each request takes, in milliseconds of the store's clock. Default 0. */
  latency?: Latency | undefined;
  /**
   * The probability that a page of a query, or of a list of tables, ends early with a continuation
   * token. Half of such pages are empty. Which pages they are depends on the seed. Default 0.
   */
  emptyPages?: number | undefined;
  /**
   * `"azure"`: queries read rows as the service does. Only conditions on keys that all results must
   * meet limit what is read. A query reads one range of keys, row by row. A page ends at the end of
   * each partition, even if it is empty. The request log therefore has at most as many requests as
   * the service would need. Default: queries read as in every store of this package. They read
   * fewer rows, and a page ends only when it is full.
   */
  scans?: "azure" | undefined;
}

/** A state that a store can be rolled back to. It uses memory until it is released. */
export interface Savepoint {
  release(): void;
  [Symbol.dispose](): void;
}

/**
 * A store in memory for tests. Forks and rollbacks take constant time, however large the store is.
 * The same calls get the same responses, byte for byte: in every fork, after every rollback, and in
 * every run with the same seed.
 */
export interface MockStore extends Store {
  readonly clock: VirtualClock;
  readonly faults: Faults;
  readonly requests: RequestLog;
  /**
   * Returns an independent store in the same state, with an empty request log. The state is the
   * content, the clock (with its autoAdvance), the seed and the faults, and also what `throttle`
   * has counted and which tables `tableDeletionMs` still blocks. The caller must close the fork.
   * Throws StoreError NotSupported while a write is being applied; savepoint() and rollback() do
   * the same.
   */
  fork(): MockStore;
  savepoint(): Savepoint;
  /**
   * Restores the savepoint's state, which is everything that fork() copies. Keeps the request log.
   * May be called again with the same savepoint. Queued writes are applied after the rollback.
   */
  rollback(savepoint: Savepoint): void;
  /**
   * Inserts or replaces entities, and creates missing tables. Faults, limits and delays do not
   * apply, and nothing is logged. Rejects with StoreError ValidationFailed; the message names the
   * first rejected entity.
   */
  seed(fixtures: Fixtures): Promise<void>;
  /**
   * Restores the state that the store had after opening or forking. Resolves when earlier writes
   * have ended and the state is restored.
   */
  reset(): Promise<void>;
}

/** A request and its outcome. */
export interface LoggedRequest extends RequestDescription {
  /** When the request was made. All times are those of the store's clock. */
  at: Date;
  durationMs: number;
  /** The response's status. Absent if there was no response. */
  status?: number;
  /**
   * Why the request failed: the service's error code, or the network failure's code. Absent if it
   * succeeded.
   */
  code?: string;
  /** Rows read and rows returned by a `get` or `query`. */
  rowsRead?: number;
  rowsReturned?: number;
  /**
   * The partition whose rows a `query` read. Present only in a store with `scans: "azure"`, in
   * which each page reads one partition.
   */
  partitionRead?: string;
}

export interface RequestMatch {
  /** One operation, several, or `"*"`, which means any. */
  on?: Operation | readonly Operation[] | "*";
  /** A table's name. Upper and lower case are equal. */
  table?: string | RegExp;
  partitionKey?: string | RegExp;
  /** Of a batch, one operation must match. */
  rowKey?: string | RegExp;
}

/** The requests that reached a store, by RPC or REST, in the order in which they ended. */
export interface RequestLog {
  all(): readonly LoggedRequest[];
  matching(
    what:
      | (RequestMatch & { status?: number; code?: string })
      | ((request: LoggedRequest) => boolean),
  ): LoggedRequest[];
  clear(): void;
}

/**
 * A delay in milliseconds. A pair is a range of equally probable delays. Random delays depend on
 * the store's seed.
 */
export type Delay =
  | number
  | { readonly fixed: number }
  | readonly [min: number, max: number]
  | { readonly uniform: readonly [min: number, max: number] }
  /** Log-normal distribution: 1 % of the delays are above `p99`. */
  | { readonly lognormal: { readonly median: number; readonly p99: number } };

/**
 * One delay for every operation, or one for each operation, where `"*"` is for those not named.
 * `"cloud"`: about what a client in the service's own region sees.
 */
export type Latency = Delay | Readonly<Partial<Record<Operation | "*", Delay>>> | "cloud";

export type NetworkFault =
  /** The request does not reach the store. */
  | "offline"
  | "reset"
  /**
   * The request does not reach the store, and no response arrives. The call rejects after `delayMs`
   * (default 30 seconds) or when it is cancelled.
   */
  | "timeout"
  /** Like `timeout`, except that the store carries out the request. */
  | "timeout-after-commit"
  /**
   * The store carries out the request, and the connection ends within the response: half of the
   * body arrives. If the response has no body, nothing arrives.
   */
  | "truncate";

/** When and how requests fail. If several rules match a request, the first of them applies. */
export interface FaultRule extends RequestMatch {
  on: Operation | readonly Operation[] | "*";
  when?: (request: RequestDescription) => boolean;
  /** The maximum number of times that the rule applies. Default: no limit. */
  times?: number;
  /** How many matching requests succeed before the rule applies. */
  skip?: number;
  /**
   * The probability, from 0 to 1, that the rule applies to a matching request. Depends on the
   * store's seed.
   */
  probability?: number;
  /**
   * The service's error to respond with. For a known code, status and message have defaults. Any
   * other code needs a `status`.
   */
  respond?: {
    code: string;
    status?: number;
    message?: string;
    /** The Retry-After header, in seconds. */
    retryAfter?: number;
    headers?: Readonly<Record<string, string>>;
  };
  network?: NetworkFault;
  /**
   * How long the request is delayed before anything else, in milliseconds of the store's clock.
   * Random delays depend on the store's seed.
   */
  delayMs?: Delay;
}

export interface Fault {
  readonly rule: FaultRule;
  /** How often the rule was applied. */
  readonly hits: number;
  remove(): void;
}

export interface Faults {
  /** Adds a rule. If the rule is invalid, throws StoreError ValidationFailed and adds nothing. */
  add(rule: FaultRule): Fault;
  all(): readonly Fault[];
  clear(): void;
}
