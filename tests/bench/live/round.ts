// One round of one database: groups of measurements, each in new pages with empty storage.

import type { Browser } from "puppeteer-core";
import type { PeerSite } from "../peers/site.ts";
import type { ComparedLiveDatabase } from "./databases.ts";
import type { InsertOptions } from "./insert-steps.ts";
import type { Values } from "./list-steps.ts";
import type { LiveDatabaseId } from "./live-adapter.ts";
import { LivePage, OverBudget } from "./live-page.ts";
import type { ListSource } from "./react-steps.ts";
import type { Times } from "./tab-steps.ts";

export interface LiveSizes {
  rows: number; // in the live query
  total: number; // in the large table
  queries: number;
  watches: number; // whose memory is measured
  list: number; // rows of the React list
  inserts: number;
  insertsMs: number; // how long inserts are repeated at most
  messages: number; // to another tab
  listMs: number;
}

export interface RoundOptions {
  browser: Browser;
  site: PeerSite;
  entry: ComparedLiveDatabase;
  round: number;
  sizes: LiveSizes;
  budgetMs: number; // for a step
}

type Opener = (count: number, shared?: boolean) => Promise<LivePage>;
type Group = (sizes: LiveSizes, open: Opener, add: (values: Values) => void) => Promise<void>;

export interface GroupResult {
  values: Values;
  seconds: number;
  stopped?: string; // why the group has no further results
}

export async function runGroup(
  name: LiveGroup,
  { browser, site, entry, round, sizes, budgetMs }: RoundOptions,
): Promise<GroupResult> {
  const pages: LivePage[] = [];
  const url = site.urlOf(`${entry.id}-${name}-${round}`);
  const open: Opener = async (count, shared = false) => {
    const page = await LivePage.open(browser, url, `${entry.title}, ${name}`, budgetMs);
    pages.push(page);
    await page.call("open", entry.id, count, shared);
    return page;
  };
  const result: GroupResult = { values: {}, seconds: 0 };
  const began = performance.now();
  try {
    await liveGroups[name](sizes, open, (values) => Object.assign(result.values, values));
  } catch (error) {
    if (String(error).includes("wrong result")) throw error;
    const [line] = String(error).split("\n");
    result.stopped = error instanceof OverBudget ? "over budget" : `failed: ${line}`;
  } finally {
    for (const page of pages) await page.close();
  }
  result.seconds = (performance.now() - began) / 1000;
  return result;
}

// ---- Groups -------------------------------------------------------------------------------------

const list: Group = async ({ rows }, open, add) => {
  const page = await open(1);
  await page.call("load", rows);
  add(await page.call("updates", rows));
  add(await page.call("opening", rows));
};

const largeTable: Group = async ({ rows, total }, open, add) => {
  const page = await open(1);
  add(await page.call("largeTable", rows, total));
};

const insertOptions = ({ inserts, insertsMs }: LiveSizes): InsertOptions => ({
  rows: inserts,
  enoughMs: insertsMs,
});

const inserts: Group = async (sizes, open, add) => {
  const page = await open(1);
  for (const isGrouped of [true, false])
    for (const reads of [false, true])
      add(await page.call("inserts", isGrouped, reads, insertOptions(sizes)));
};

const feed: Group = async (sizes, open, add) => {
  const page = await open(1);
  add(await page.call("insertsWithFeed", insertOptions(sizes)));
};

const closedFeed: Group = async (sizes, open, add) => {
  const page = await open(3);
  add(await page.call("insertsAfterFeed", insertOptions(sizes)));
};

const resumedFeed: Group = async (sizes, open, add) => {
  const page = await open(1);
  add(await page.call("resumeFeed", sizes.rows));
};

// In a group of its own: a durable reader waits until no other page of the origin has it, and the
// page of resumeFeed is open until its group ends.
const history: Group = async (sizes, open, add) => {
  const page = await open(3);
  add(await page.call("insertsWithHistory", insertOptions(sizes)));
};

const many: Group = async ({ queries }, open, add) => {
  const page = await open(2);
  await page.call("loadMany", queries);
  const before = await page.megabytes();
  const opened = await page.call("openMany", false);
  const memory = (await page.megabytes()) - before;
  add({ ...opened, "many-memory": (memory * 1024) / queries });
  await page.call("checkMany");
  add(await page.call("measureMany"));
};

const watches: Group = async ({ watches }, open, add) => {
  const page = await open(1);
  await page.call("loadMany", watches);
  const before = [await page.megabytes(), await page.call("wasmMegabytes")] as const;
  await page.call("openMany", true);
  const after = [await page.megabytes(), await page.call("wasmMegabytes")] as const;
  add({ watches: after[0] - before[0], "watches-wasm": after[1] - before[1] });
};

const tabs: Group = async ({ messages }, open, add) => {
  const writer = await open(1, true);
  const follower = await open(1, true);
  await writer.call("fillShared");
  await follower.call("follow");
  const offset = await writer.call("clockOffset", messages);
  const warmUp = messages / 10;
  await writer.call("writeShared", 0, warmUp);
  const { written, sent } = await writer.call("writeShared", warmUp, messages);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const { seen, heard } = await follower.call("times");
  const latencies = delays(written, seen, offset);
  const floor = delays(sent, heard, offset);
  add({
    tab: quantile(latencies, 0.95),
    "tab-median": quantile(latencies, 0.5),
    "tab-floor": quantile(floor, 0.95),
    "tab-floor-median": quantile(floor, 0.5),
  });
};

// A number that the other tab has not seen was skipped: the delay is that of the next one.
function delays(sent: Times, seen: Times, offset: number): number[] {
  const numbers = Object.keys(sent).map(Number);
  let next = Number.POSITIVE_INFINITY;
  const result: number[] = [];
  for (const n of numbers.reverse()) {
    next = seen[n] ?? next;
    result.push(next - offset - (sent[n] as number));
  }
  if (!result.every(Number.isFinite)) throw new Error("the other tab has not seen the last write");
  return result;
}

function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(q * sorted.length) - 1] as number;
}

const react: Group = async (sizes, open, add) => {
  const page = await open(1);
  await page.call("loadList", sizes.list);
  add(await shownList(page, sizes, "live", false, "react", ""));
  add(await shownList(page, sizes, "live", true, "react-window", ""));
};

const reactFloor: Group = async (sizes, open, add) => {
  const page = await open(1);
  await page.call("loadList", sizes.list);
  add(await shownList(page, sizes, "array", false, "react", "-array"));
  add(await shownList(page, sizes, "none", false, "react", "-none"));
};

async function shownList(
  page: LivePage,
  { listMs }: LiveSizes,
  source: ListSource,
  isWindowed: boolean,
  before: string,
  after: string,
): Promise<Values> {
  await page.call("showList", source, isWindowed);
  if (source === "live") await page.call("checkList");
  await page.call("runList", 100, listMs / 3); // a warm-up
  await page.scriptSeconds();
  const { updates, frames, ms } = await page.call("runList", 100, listMs);
  const script = await page.scriptSeconds();
  await page.call("hideList");
  return {
    [`${before}-frames${after}`]: (frames * 1000) / ms,
    [`${before}-script${after}`]: (script * 1000) / updates,
  };
}

export const liveGroups = {
  list,
  largeTable,
  inserts,
  feed,
  closedFeed,
  resumedFeed,
  history,
  many,
  watches,
  tabs,
  react,
  reactFloor,
} satisfies Record<string, Group>;

export type LiveGroup = keyof typeof liveGroups;

const ofEntitable: readonly LiveGroup[] = [
  "largeTable",
  "closedFeed",
  "resumedFeed",
  "history",
  "watches",
  "reactFloor",
];

// Whether a database has what a group measures. Some groups are only for entitable.
export function isMeasured(id: LiveDatabaseId, group: LiveGroup): boolean {
  if (group === "feed") return id !== "dexie"; // it has no list of changes
  if (group === "tabs") return id !== "signaldb"; // its collections are in one page
  return id === "entitable" || !ofEntitable.includes(group);
}
