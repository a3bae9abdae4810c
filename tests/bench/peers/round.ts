// One round of one contestant: a fresh page, fresh storage, and everything that is measured of it.

import type { Browser } from "puppeteer-core";
import type { Level } from "./contestant.ts";
import { compare, WrongResult } from "./expected.ts";
import type { Share } from "./profile.ts";
import type { Entry } from "./roster.ts";
import { readRows, unitOf } from "./rows.ts";
import type { Load, SessionOptions, Values } from "./session.ts";
import type { PeerSite } from "./site.ts";
import { OverBudget, Tab } from "./tab.ts";
import { type Digest, shuffled } from "./workload.ts";

export interface RoundOptions {
  browser: Browser;
  site: PeerSite;
  entry: Entry;
  session: SessionOptions;
  expected: Record<string, Digest>;
  profile: boolean; // also where the time goes; the times themselves are longer then
}

export interface RoundResult {
  values: Values; // by row, in its unit
  levels: readonly Level[];
  profiles: Record<string, Share[]>; // by row
  stopped?: { at: string; why: string }; // what would have come after it is missing
}

// Loads at the levels that it is not read at are of no more than so many entities, and end after so long.
const otherLoads = 100_000;
const enoughMs = 5000;

export async function runRound(options: RoundOptions): Promise<RoundResult> {
  const round = new Round(options);
  try {
    await round.run();
  } catch (error) {
    if (error instanceof WrongResult) throw error;
    const why = error instanceof OverBudget ? "over budget" : `failed: ${firstLine(error)}`;
    round.result.stopped = { at: round.doing, why };
  } finally {
    await round.end();
  }
  return round.result;
}

const firstLine = (error: unknown) => String(error).split("\n")[0] ?? "";

// The row that a load or an insert at that level belongs to.
const rowLevel = (level: Level) => (level === "memory" ? "deferred" : level);

class Round {
  readonly result: RoundResult = { values: {}, levels: [], profiles: {} };
  doing = "start";
  readonly #o: RoundOptions;
  #tab: Tab | undefined;

  constructor(options: RoundOptions) {
    this.#o = options;
  }

  async run(): Promise<void> {
    const { entry, site } = this.#o;
    await this.#open();
    if (entry.id === "floor") return await this.#measureFloor();
    site.takeSent();
    const before = await this.#page.megabytes();
    await this.#page.call("prepare");
    const levels = (await this.#page.call("levels")) as Level[];
    this.result.levels = levels;
    const [first, ...others] = levels as [Level, ...Level[]];
    await this.#loadMain(first, before);
    await this.#read();
    await this.#writeToMain(first);
    for (const level of others) await this.#loadOther(level);
    this.#note("transfer", site.takeSent());
    await this.end();
    if (first !== "memory") await this.#coldOpen(first);
  }

  async end(): Promise<void> {
    await this.#tab?.close().catch(() => {}); // it may have crashed
    this.#tab = undefined;
  }

  // ---- Parts ------------------------------------------------------------------------------------------------------------

  async #loadMain(level: Level, before: number): Promise<void> {
    const { entities, budgetMs } = this.#o.session;
    await this.#step("open", "main", level, true);
    this.#note(
      "growth",
      (await this.#load(`load-${rowLevel(level)}`, entities, 1, 2 * budgetMs)).growth,
    );
    await this.#step("settle");
    this.#note("memory-load", (await this.#page.megabytes()) - before);
    const wasm = await this.#page.wasmMegabytes();
    if (wasm > 0) this.#note("wasm", wasm); // what a library's own worker has is not seen
    const checked = (await this.#step("check")) as Record<string, Digest>;
    compare(this.#o.entry.title, checked, this.#o.expected);
  }

  async #read(): Promise<void> {
    for (const row of shuffled(readRows, this.#o.session.seed)) {
      await this.#time(row, () => this.#page.call("read", row));
    }
    if (this.#o.entry.place === "worker") {
      await this.#time("get-from-page", () => this.#page.readFromPage());
    }
  }

  async #writeToMain(level: Level): Promise<void> {
    await this.#step("checkWrites");
    await this.#insert(level);
    await this.#time("merge", () => this.#page.call("merge", false));
    await this.#time("merge-if", () => this.#page.call("merge", true));
    await this.#step("close");
  }

  async #insert(level: Level): Promise<void> {
    await this.#time(`insert-${rowLevel(level)}`, () => this.#page.call("insert", level));
  }

  async #loadOther(level: Level): Promise<void> {
    const count = Math.min(this.#o.session.entities, otherLoads);
    await this.#step("open", "other", level, true);
    await this.#load(`load-${level}`, count, 1);
    await this.#insert(level);
    if (level === "strict") {
      await this.#time("in-flight", () => this.#page.call("insertInFlight"));
      await this.#step("close");
      await this.#step("open", "other", level, true);
      await this.#load("load-ten-strict", count, 10);
    }
    await this.#step("close");
    await this.#step("remove", "other");
  }

  // In a page that knows nothing of the data yet.
  async #coldOpen(level: Level): Promise<void> {
    await this.#open();
    const before = await this.#page.megabytes();
    await this.#time("open", () => this.#page.coldOpen("main", level));
    this.#note("memory-open", (await this.#page.megabytes()) - before);
    await this.#step("close");
    await this.#step("remove", "main");
  }

  async #measureFloor(): Promise<void> {
    for (const level of ["relaxed", "strict"] as const) {
      await this.#time(`insert-${level}`, () => this.#page.call("put", level));
    }
  }

  async #open(): Promise<void> {
    const { browser, site, entry, session } = this.#o;
    this.#tab = await Tab.open(browser, site.urlOf(entry.id), entry, session);
  }

  get #page(): Tab {
    if (this.#tab === undefined) throw new Error("there is no page");
    return this.#tab;
  }

  async #step(step: Parameters<Tab["call"]>[0], ...args: unknown[]): Promise<unknown> {
    this.doing = step;
    return await this.#page.call(step, ...args);
  }

  async #load(row: string, count: number, together: number, enough = enoughMs): Promise<Load> {
    const load = () => this.#page.call("load", count, together, enough) as Promise<Load>;
    const loaded = await this.#profiled(row, load);
    this.#note(row, loaded.each);
    return loaded;
  }

  // Notes what `measure` says in milliseconds.
  async #time(row: string, measure: () => Promise<unknown>): Promise<void> {
    const ms = (await this.#profiled(row, measure)) as number;
    this.#note(row, unitOf(row) === "ms" ? ms : ms * 1000);
  }

  async #profiled<T>(row: string, work: () => Promise<T>): Promise<T> {
    this.doing = row;
    if (!this.#o.profile) return await work();
    const { value, shares } = await this.#page.profiled(work);
    this.result.profiles[row] = shares;
    return value;
  }

  #note(row: string, value: number): void {
    this.result.values[row] = value;
  }
}
