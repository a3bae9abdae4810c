// The service's temporary rejections: requests beyond its targets, and new tables with the name of
// a table that is being deleted.

import { StoreError } from "../errors.ts";
import type { RequestDescription } from "../types.ts";
import type { SimulatedError } from "../wasm/engine.ts";
import type { ServiceLimitsOptions, Throttle } from "./types.ts";
import type { VirtualClock } from "./virtual-clock.ts";

// The service's published targets: entities per second for a partition, requests per second for an
// account.
const azure: Throttle = { partitionOpsPerSecond: 2000, accountOpsPerSecond: 20_000 };

// A token bucket: holds one second's allowance and refills as time passes.
interface Bucket {
  readonly available: number;
  readonly at: number;
}

const accountBucket = "";

export interface LimitsState {
  readonly buckets: ReadonlyMap<string, Bucket>;
  readonly deleted: ReadonlyMap<string, number>;
}

export class ServiceLimits {
  readonly #clock: VirtualClock;
  readonly #throttle: Throttle;
  readonly #tableDeletionMs: number;
  #buckets = new Map<string, Bucket>(); // by table and partition
  #deleted = new Map<string, number>(); // deletion times by table name in lower case
  readonly options: ServiceLimitsOptions;

  // Throws StoreError ValidationFailed.
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

  get state(): LimitsState {
    return { buckets: new Map(this.#buckets), deleted: new Map(this.#deleted) };
  }
  set state({ buckets, deleted }: LimitsState) {
    this.#buckets = new Map(buckets);
    this.#deleted = new Map(deleted);
  }

  // Returns the error with which the service would reject the request now. Call once for each
  // request: the call counts.
  refusal(request: RequestDescription): SimulatedError | undefined {
    const { operation, table = "", partitionKey } = request;
    if (operation === "createTable" && this.#isBeingDeleted(table)) {
      return { code: "TableBeingDeleted" };
    }
    const { partitionOpsPerSecond, accountOpsPerSecond } = this.#throttle;
    const entities = request.operations?.length ?? 1;
    const partition = `${table.toLowerCase()}\n${partitionKey}`;
    const allowed =
      this.#consume(accountBucket, 1, accountOpsPerSecond) &&
      (partitionKey === undefined || this.#consume(partition, entities, partitionOpsPerSecond));
    return allowed ? undefined : { code: "ServerBusy", headers: { "Retry-After": "1" } };
  }

  // Records the request's outcome.
  note({ operation, table = "" }: RequestDescription, failed: boolean): void {
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
    // a batch above one second's allowance goes into debt; otherwise it could never pass
    const enough = filled >= Math.min(count, perSecond);
    this.#buckets.set(name, { available: enough ? filled - count : filled, at: now });
    return enough;
  }
}

function check(name: string, value: number, least: number): void {
  if (value >= least && value < Infinity) return;
  throw new StoreError(
    "ValidationFailed",
    `${name} must be a number of at least ${least}, not ${value}.`,
  );
}
