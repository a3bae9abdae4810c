// What the service refuses for a while: requests beyond its targets, and tables of the name of one that was just deleted.

import { StoreError } from "../errors.ts";
import type { RequestDescription } from "../types.ts";
import type { SimulatedError } from "../wasm/engine.ts";
import type { ServiceLimitsOptions, Throttle } from "./types.ts";
import type { VirtualClock } from "./virtual-clock.ts";

// The service's published targets: entities of one partition, requests of an account.
const azure: Throttle = { partitionOpsPerSecond: 2000, accountOpsPerSecond: 20_000 };

// Holds what may be done in a second, and fills up as time passes.
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
  #deleted = new Map<string, number>(); // when each table was, by its name in lower case
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

  // How the service would refuse the request now. To be asked once for each: it counts.
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

  // What became of it.
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
    const enough = filled >= Math.min(count, perSecond); // a larger batch than a second's worth is owed for, or it would never pass
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
