// The part of sync.ts that runs in a page.

import { Client, type ClientOptions } from "./client.ts";

const load = (path: string) => import(path);

let client: Client | undefined;
let longestTaskMs = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) longestTaskMs = Math.max(longestTaskMs, duration);
}).observe({ type: "longtask" });

export const bench = {
  async open(options: ClientOptions): Promise<void> {
    const { openStore } = await load("/dist/index.js");
    const { startSync } = await load("/dist/start-sync/index.js");
    client = new Client({ openStore, startSync }, options);
    await client.open();
  },
  /** Loads what startSync() would load. */
  async preload(): Promise<void> {
    await load("/dist/start-sync/begin.js");
  },
  async run(step: string, args: readonly number[]): Promise<unknown> {
    longestTaskMs = 0;
    return await (client as unknown as Record<string, (...args: unknown[]) => unknown>)[step]?.(
      ...args,
    );
  },
  longestTaskMs: () => longestTaskMs,
};
Object.assign(globalThis, { bench });
