// Simulates temporary rejections of the service: of requests beyond its scalability targets, and of
// new tables whose name belongs to a table that is being deleted.

import { StoreError } from "../errors.ts";
import { hintHeader } from "../hints/hint-header.ts";
import type { RequestDescription } from "../types.ts";
import type { SimulatedError } from "../wasm/engine.ts";
import type { ServiceLimitsOptions, Throttle } from "./types.ts";
import type { VirtualClock } from "./virtual-clock.ts";

// The service's published scalability targets: entities per second for a partition, requests per
// second for an account.
const azure: Throttle = { partitionOpsPerSecond: 2000, accountOpsPerSecond: 20_000 };

// A token bucket. Holds at most the number of operations allowed per second, and refills as time
// passes.
interface Bucket {
  readonly available: number;
  readonly at: number;
}

const accountBucket = "";

export interface RejectionsState {
  readonly buckets: ReadonlyMap<string, Bucket>;
  readonly deleted: ReadonlyMap<string, number>;
}

export class TemporaryRejections {
  readonly #clock: VirtualClock;
  readonly #throttle: Throttle;
  readonly #tableDeletionMs: number;
  #buckets = new Map<string, Bucket>(); // by table and partition
  #deleted = new Map<string, number>(); // time of deletion by table name in lower case
  readonly options: ServiceLimitsOptions;

  // Throws StoreError ValidationFailed if an option is invalid.
  constructor(options: ServiceLimitsOptions, clock: VirtualClock) {
    const { throttle = {}, tableDeletionMs = 0 } = options;
    this.options = options;
    this.#clock = clock;
    this.#throttle = throttle === "azure" ? azure : throttle;
    this.#tableDeletionMs = tableDeletionMs;
    const { partitionOpsPerSecond = 1, accountOpsPerSecond = 1 } = this.#throttle;
    check("throttle.partitionOpsPerSecond", partitionOpsPerSecond, 1);
    check("throttle.accountOpsPerSecond", accountOpsPerSecond, 1);
    check("tableDeletionMs", tableDeletionMs, 0);
  }

  get state(): RejectionsState {
    return { buckets: new Map(this.#buckets), deleted: new Map(this.#deleted) };
  }
  set state({ buckets, deleted }: RejectionsState) {
    this.#buckets = new Map(buckets);
    this.#deleted = new Map(deleted);
  }

  // Returns the error by which the service would reject the request now; undefined: it would not.
  // Must be called once for each request, because the call counts it.
  countAndCheck(request: RequestDescription): SimulatedError | undefined {
    const { operation, table = "", partitionKey } = request;
    if (operation === "createTable" && this.#isBeingDeleted(table)) {
      return { code: "TableBeingDeleted", headers: hintFor("tableDeletionMs") };
    }
    const { partitionOpsPerSecond, accountOpsPerSecond } = this.#throttle;
    const entities = request.operations?.length ?? 1;
    const partition = `${table.toLowerCase()}\n${partitionKey}`;
    const allowed =
      this.#consume(accountBucket, 1, accountOpsPerSecond) &&
      (partitionKey === undefined || this.#consume(partition, entities, partitionOpsPerSecond));
    if (allowed) return undefined;
    return { code: "ServerBusy", headers: { "Retry-After": "1", ...hintFor("throttle") } };
  }

  // Must be called when the request has ended. Remembers deleted tables.
  onRequestEnded({ operation, table = "" }: RequestDescription, failed: boolean): void {
    if (operation !== "deleteTable" || failed || this.#tableDeletionMs === 0) return;
    this.#deleted.set(table.toLowerCase(), this.#clock.now());
  }

  #isBeingDeleted(table: string): boolean {
    const at = this.#deleted.get(table.toLowerCase());
    return at !== undefined && this.#clock.now() < at + this.#tableDeletionMs;
  }

  #consume(name: string, count: number, perSecond: number | undefined): boolean {
    if (perSecond === undefined) return true;
    const now = this.#clock.now();
    const { available, at } = this.#buckets.get(name) ?? { available: perSecond, at: now };
    const filled = Math.min(perSecond, available + (Math.max(0, now - at) * perSecond) / 1000);
    // A batch larger than one second's allowance only needs a full bucket, and makes `available`
    // negative. Otherwise it could never pass.
    const enough = filled >= Math.min(count, perSecond);
    this.#buckets.set(name, { available: enough ? filled - count : filled, at: now });
    return enough;
  }
}

function hintFor(option: string): Record<string, string> {
  return {
    [hintHeader]: `The option ${option} simulates this error. Repeat the call after a while.`,
  };
}

function check(name: string, value: number, least: number): void {
  if (value >= least && value < Infinity) return;
  throw new StoreError(
    "ValidationFailed",
    `${name} must be a number of at least ${least}, not ${value}.`,
  );
}
