// The script of a page with one database. The driver (round.ts) calls its steps.

import { trackWasmMemories, wasmMemoryBytes } from "../peers/wasm-memory.ts";
import { liveAdapters } from "./adapters/index.ts";
import { insertsWithHistory, resumeFeed } from "./feed-steps.ts";
import {
  type InsertOptions,
  insertsAfterFeed,
  insertsUnderQuery,
  insertsWithFeed,
} from "./insert-steps.ts";
import { inLargeTable, load, opening, updates } from "./list-steps.ts";
import type { LiveDatabase, LiveDatabaseId } from "./live-adapter.ts";
import { ManyQueries } from "./many-steps.ts";
import { type ListSource, ReactList } from "./react-steps.ts";
import { clockOffset, FollowingTab, fillShared, writeShared } from "./tab-steps.ts";

trackWasmMemories();
const databases: LiveDatabase[] = [];
let many: ManyQueries;
let list: ReactList;
const tab = new FollowingTab();

const database = (i = 0): LiveDatabase => {
  const found = databases[i];
  if (found === undefined) throw new Error("it is not open");
  return found;
};

export const bench = {
  // Opens this many databases.
  async open(id: LiveDatabaseId, count: number, shared: boolean) {
    const adapter = liveAdapters[id];
    await adapter.prepare();
    for (let i = 0; i < count; ++i) databases.push(await adapter.open(`live-${i}`, shared));
  },

  load: (rows: number) => load(database(), rows),
  updates: (rows: number) => updates(database(), rows),
  opening: (rows: number) => opening(database(), rows),
  largeTable: (rows: number, total: number) => inLargeTable(database(), rows, total),

  inserts: (isGrouped: boolean, reads: boolean, options: InsertOptions) =>
    insertsUnderQuery(database(), isGrouped, reads, options),
  insertsWithFeed: (options: InsertOptions) => insertsWithFeed(database(), options),
  insertsAfterFeed: (options: InsertOptions) =>
    insertsAfterFeed([database(0), database(1), database(2)], options),
  resumeFeed: (rows: number) => resumeFeed(database(), rows),
  insertsWithHistory: (options: InsertOptions) =>
    insertsWithHistory([database(0), database(1), database(2)], options),

  async loadMany(queries: number) {
    // one database is enough to measure memory
    many = new ManyQueries([database(0), databases[1] ?? database(0)], queries);
    await many.load();
  },
  openMany: (counts: boolean) => many.open(counts),
  checkMany: () => many.check(),
  measureMany: () => many.measure(),

  wasmMegabytes: () => wasmMemoryBytes() / 1024 / 1024,

  fillShared: () => fillShared(database()),
  follow: () => tab.follow(database()),
  writeShared: (first: number, count: number) => writeShared(database(), first, count),
  clockOffset: (messages: number) => clockOffset(messages),
  times: () => tab.times(),

  async loadList(rows: number) {
    list = new ReactList(database(), rows);
    await list.load();
  },
  showList: (source: ListSource, isWindowed: boolean) => list.show(source, isWindowed),
  checkList: () => list.check(),
  runList: (perSecond: number, ms: number) => list.run(perSecond, ms),
  hideList: () => list.hide(),
};

Object.assign(globalThis, { bench });
