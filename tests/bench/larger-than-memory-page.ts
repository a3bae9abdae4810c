// The part of larger-than-memory.ts that runs in the page.

import { LargeStore, type Step } from "./larger-than-memory-steps.ts";

type Package = typeof import("../../web/src/index.ts");

const load = () => import("/dist/index.js" as string) as Promise<Package>;
let store: LargeStore | undefined;

export const bench = {
  async start(entities: number, memoryLimit: number): Promise<void> {
    store = new LargeStore(await load(), { memoryLimit }, entities);
  },
  async run(step: Step): Promise<string> {
    if (store === undefined) throw new Error("not started");
    return await store[step]();
  },
};
Object.assign(globalThis, { bench });
