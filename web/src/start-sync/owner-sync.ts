// What syncs a store in the tab that owns it: in this thread (store-sync.ts), or in the store's
// worker (worker-store-sync.ts).

import { listOf } from "../util/list-of.ts";
import type { MethodCall } from "./tab-messages.ts";
import type {
  LostWrite,
  ParkedWrites,
  Sync,
  SyncCoverage,
  SyncListOptions,
  SyncReport,
  SyncWrite,
} from "./types.ts";

export interface OwnerSync extends Omit<Sync, "estimate"> {
  /** How many requests a scan of the table needs at least. Undefined: not known yet. */
  stretchesOf?(table: string): number | undefined;
}

/** The methods that are only calls of what syncs, in another tab or thread. */
export abstract class SyncCalls
  implements Omit<OwnerSync, "status" | "subscribe" | "pause" | "resume" | "stop" | "endTable">
{
  protected abstract call<T>(call: MethodCall): Promise<T>;

  now(): Promise<SyncReport> {
    return this.call({ method: "now" });
  }

  async *pending({ top }: SyncListOptions = {}): AsyncGenerator<SyncWrite> {
    yield* await this.call<SyncWrite[]>({ method: "pending", top });
  }

  async *parked({ top }: SyncListOptions = {}): AsyncGenerator<ParkedWrites> {
    yield* await this.call<ParkedWrites[]>({ method: "parked", top });
  }

  async *lost({ top }: SyncListOptions = {}): AsyncGenerator<LostWrite> {
    yield* await this.call<LostWrite[]>({ method: "lost", top });
  }

  retry(id: string): Promise<void> {
    return this.call({ method: "retry", id });
  }

  discard(id: string): Promise<void> {
    return this.call({ method: "discard", id });
  }

  restore(id: string): Promise<void> {
    return this.call({ method: "restore", id });
  }

  confirmDeletes(id: string): Promise<boolean> {
    return this.call({ method: "confirmDeletes", id });
  }

  coverage(): Promise<readonly SyncCoverage[]> {
    return this.call({ method: "coverage" });
  }
}

/** Makes a call of another tab or thread. Lists are read to their ends, or to `top`. */
export function run(sync: OwnerSync, call: MethodCall): Promise<unknown> {
  const { id = "", method, pending, top } = call;
  switch (method) {
    case "now":
    case "coverage":
      return sync[method]();
    case "pending":
    case "parked":
    case "lost":
      return listOf<unknown>(firstOf<unknown>(sync[method]({ top }), top));
    case "endTable":
      return sync.endTable(id, pending && { pending });
    default:
      return sync[method](id);
  }
}

export async function* firstOf<T>(
  items: AsyncIterable<T>,
  top = Number.POSITIVE_INFINITY,
): AsyncGenerator<T> {
  let count = 0;
  if (top > 0)
    for await (const item of items) {
      yield item;
      count += 1;
      if (count >= top) return;
    }
}
