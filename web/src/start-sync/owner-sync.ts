// What syncs a store in the tab that owns it: in this thread (store-sync.ts), or in the store's
// worker (worker-store-sync.ts).

import type { MethodCall } from "./tab-messages.ts";
import type { Sync } from "./types.ts";

export interface OwnerSync extends Omit<Sync, "estimate"> {
  /** How many requests a scan of the table needs at least. Undefined: not known yet. */
  stretchesOf?(table: string): number | undefined;
}

/** Makes a call of another tab or thread. Lists are read to their ends. */
export function run(sync: OwnerSync, call: MethodCall): Promise<unknown> {
  const { id = "", method, pending } = call;
  switch (method) {
    case "now":
    case "coverage":
      return sync[method]();
    case "pending":
    case "parked":
    case "lost":
      return listOf<unknown>(sync[method]());
    case "endTable":
      return sync.endTable(id, pending && { pending });
    default:
      return sync[method](id);
  }
}

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
