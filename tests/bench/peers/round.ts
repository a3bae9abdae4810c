// One round of one contestant: a fresh page or process, fresh storage, and everything that is measured of it.

import type { Browser } from "puppeteer-core";
import { Child } from "./child.ts";
import type { Level } from "./contestant.ts";
import { entityBytes, insertBytes } from "./contestants/floor.ts";
import { compare, WrongResult } from "./expected.ts";
import { OverBudget, type Place } from "./place.ts";
import { type Profile, profiled } from "./profile.ts";
import type { Entry } from "./roster.ts";
import { readRows, unitOf } from "./rows.ts";
import {
  type Beside,
  type Inserts,
  inFlight,
  type Load,
  type PutFloor,
  type RawPuts,
  type SessionOptions,
  type Values,
  type Writes,
} from "./session.ts";
import type { PeerSite } from "./site.ts";
import { Tab } from "./tab.ts";
import type { Waited } from "./waits.ts";
import { type Digest, groupRows, shuffled } from "./workload.ts";

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
  seconds: number;
  longest: { step: string; seconds: number }; // what took most of them
  profiles: Record<string, Profile>; // by row
  stopped?: { at: string; why: string }; // what would have come after it is missing
}

interface LoadOptions {
  together?: number; // transactions at a time
  enough?: number; // ms
  watch?: boolean; // also what each waits for
}

// Loads at the levels that it is not read at are of no more than so many entities, and end after so long.
const otherLoads = 100_000;
const enoughMs = 3000;
const inFlightPuts = 100;

export async function runRound(options: RoundOptions): Promise<RoundResult> {
  const round = new Round(options);
  try {
    await round.run();
  } catch (error) {
    if (error instanceof WrongResult) throw error;
    const why = error instanceof OverBudget ? "over budget" : `failed: ${firstLine(error)}`;
    round.result.stopped = { at: round.step, why };
  } finally {
    await round.end();
  }
  return round.result;
}

const firstLine = (error: unknown) => String(error).split("\n")[0] ?? "";

// The row that a load or an insert at that level belongs to.
const rowLevel = (level: Level) => (level === "memory" ? "deferred" : level);

class Round {
  readonly result: RoundResult = {
    values: {},
    levels: [],
    profiles: {},
    seconds: 0,
    longest: { step: "start", seconds: 0 },
  };
  readonly #o: RoundOptions;
  #step = "start";
  #place: Place | undefined;
  #since = performance.now();

  constructor(options: RoundOptions) {
    this.#o = options;
  }

  async run(): Promise<void> {
    const { entry, site } = this.#o;
    await this.#open();
    site.takeSent();
    const before = await this.#there.megabytes();
    await this.#there.call("prepare");
    const levels = (await this.#there.call("levels")) as Level[];
    this.result.levels = levels;
    const [first, ...others] = levels as [Level, ...Level[]];
    await this.#loadMain(first, before);
    await this.#read();
    await this.#writeToMain(first);
    for (const level of others) await this.#loadOther(level);
    if (entry.place !== "node") this.#note("transfer", site.takeSent());
    if (first !== "memory") await this.#coldOpen(first);
    if (entry.id === "entitable") await this.#floor();
  }

  // What it is at.
  get step(): string {
    return this.#step;
  }

  async end(): Promise<void> {
    this.#begin("end");
    await this.#place?.close().catch(() => {}); // it may have crashed
    this.#place = undefined;
  }

  // ---- Parts ------------------------------------------------------------------------------------------------------------

  async #loadMain(level: Level, before: number): Promise<void> {
    const { entities } = this.#o.session;
    await this.#ask("open", "main", level, true);
    const load = await this.#load(`load-${rowLevel(level)}`, entities, {
      enough: Number.MAX_VALUE,
    });
    this.#note("growth", load.growth);
    await this.#ask("settle");
    await this.#ask("rest");
    this.#note("memory-load", (await this.#there.megabytes()) - before);
    const wasm = await this.#there.wasmMegabytes();
    if (wasm > 0) this.#note("wasm", wasm); // what a library's own worker has is not seen
    const checked = (await this.#ask("check")) as Record<string, Digest>;
    compare(this.#o.entry.title, checked, this.#o.expected);
  }

  async #read(): Promise<void> {
    for (const row of shuffled(readRows, this.#o.session.seed)) {
      await this.#time(row, () => this.#there.call("read", row));
    }
    const page = this.#there;
    if (this.#o.entry.place === "worker" && page instanceof Tab) {
      await this.#time("get-from-page", () => page.readFromPage());
    }
  }

  async #writeToMain(level: Level): Promise<void> {
    await this.#ask("checkWrites");
    await this.#insert(level);
    await this.#merge("merge");
    await this.#merge("merge-if");
    await this.#ask("close");
  }

  async #insert(level: Level): Promise<void> {
    const row = `insert-${rowLevel(level)}`;
    if (level === "memory" || level === "deferred") {
      const measure = () => this.#there.call("insert") as Promise<Inserts>;
      const { each, median, first } = await this.#profiled(row, measure);
      this.#note(row, each);
      this.#note("insert-median", median);
      this.#note("insert-first", first);
      return;
    }
    const { ours } = this.#o.entry;
    const measure = () => this.#there.call("insertBesideFloor", level, ours) as Promise<Beside>;
    const { insert, put, puts, file, waited } = await this.#profiled(row, measure);
    this.#noteWaited(row, waited);
    this.#note(row, insert * 1000);
    this.#note(`put-${level}`, put * 1000);
    this.#note(`insert-puts-${level}`, puts);
    if (file === undefined) return;
    this.#note(`put-file-${level}`, file.put * 1000);
    this.#note(`insert-put-files-${level}`, file.puts);
    this.#noteWaited(`put-file-${level}`, file.waited);
  }

  // What the writes before have left to be done is over, and no part of it.
  async #merge(row: "merge" | "merge-if"): Promise<void> {
    await this.#ask("settle");
    await this.#ask("rest");
    const merge = () => this.#there.call("merge", row === "merge-if") as Promise<Writes>;
    const { each, median } = await this.#profiled(row, merge);
    this.#note(row, each);
    this.#note(`${row}-median`, median);
  }

  async #loadOther(level: Level): Promise<void> {
    const count = Math.min(this.#o.session.entities, otherLoads);
    await this.#ask("open", "other", level, true);
    const { ours, place } = this.#o.entry;
    await this.#load(`load-${level}`, count, { watch: ours === true && place === "page" });
    await this.#ask("rest");
    const group = { level, bytes: entityBytes, together: groupRows, count };
    if (ours) await this.#putWrites("put-group", group);
    await this.#ask("rest");
    await this.#insert(level);
    if (level === "strict") {
      await this.#time("in-flight", () => this.#there.call("insertInFlight"));
      const thousand = { level, bytes: insertBytes, together: inFlight };
      if (ours)
        await this.#putWrites("put-in-flight", { ...thousand, count: inFlightPuts * inFlight });
      await this.#ask("close");
      await this.#ask("open", "other", level, true);
      await this.#load("load-ten-strict", count, { together: 10 });
      if (ours) await this.#putWrites("put-ten-groups", { ...group, together: 10 * groupRows });
    }
    await this.#ask("close");
    await this.#ask("remove", "other");
  }

  // The floor of so many writes, if so many are stored together.
  async #putWrites(row: string, puts: Omit<RawPuts, "enoughMs">): Promise<void> {
    const { put, file, waited } = (await this.#ask("putWrites", { ...puts, enoughMs })) as PutFloor;
    const id = `${row}-${puts.level}`;
    this.#note(id, put);
    if (file !== undefined) this.#note(`${row}-file-${puts.level}`, file);
    this.#noteWaited(`${row}-file-${puts.level}`, waited);
  }

  // In a page that knows nothing of the data yet.
  async #coldOpen(level: Level): Promise<void> {
    await this.#open();
    const before = await this.#there.megabytes();
    await this.#time("open", () => this.#there.coldOpen("main", level));
    this.#note("memory-open", (await this.#there.megabytes()) - before);
    await this.#ask("close");
    await this.#ask("remove", "main");
  }

  // What the browser alone takes for a load, for what stores a burst of writes, and for a cold open, in pages without a store.
  async #floor(): Promise<void> {
    await this.#open("floor");
    const before = await this.#there.megabytes();
    await this.#ask("open", "floor-main", "relaxed", true);
    await this.#ask("load", this.#o.session.entities, 1, Number.MAX_VALUE, false);
    this.#note("memory-floor", (await this.#there.megabytes()) - before);
    this.#note("hand-over", (await this.#ask("handOver")) as number);
    await this.#ask("rest");
    await this.#ask("close");
    await this.#open("floor");
    await this.#time("open-floor", () => this.#there.coldOpen("floor-main", "relaxed"));
    await this.#ask("close");
    await this.#ask("remove", "floor-main");
  }

  // In a page or process of its own; one that was open is over.
  async #open(id: SessionOptions["id"] = this.#o.entry.id): Promise<void> {
    await this.end();
    const { browser, site, entry } = this.#o;
    const session = { ...this.#o.session, id };
    this.#place =
      entry.place === "node"
        ? await Child.start(session)
        : await Tab.open(browser, site.urlOf(id), entry, session);
  }

  get #there(): Place {
    if (this.#place === undefined) throw new Error("nothing is open");
    return this.#place;
  }

  async #ask(step: Parameters<Place["call"]>[0], ...args: unknown[]): Promise<unknown> {
    this.#begin(step);
    return await this.#there.call(step, ...args);
  }

  async #load(row: string, count: number, how: LoadOptions = {}): Promise<Load> {
    const { together = 1, enough = enoughMs, watch = false } = how;
    const load = () => this.#there.call("load", count, together, enough, watch) as Promise<Load>;
    const loaded = await this.#profiled(row, load);
    this.#note(row, loaded.each);
    this.#noteWaited(row, loaded.waited);
    return loaded;
  }

  // Notes what `measure` says in milliseconds.
  async #time(row: string, measure: () => Promise<unknown>): Promise<void> {
    const ms = (await this.#profiled(row, measure)) as number;
    this.#note(row, unitOf(row) === "ms" ? ms : ms * 1000);
  }

  async #profiled<T>(row: string, work: () => Promise<T>): Promise<T> {
    this.#begin(row);
    if (!this.#o.profile) return await work();
    const { value, profile } = await profiled(this.#there, work);
    if (profile !== undefined) this.result.profiles[row] = profile;
    return value;
  }

  // Takes note of how long what was done before took.
  #begin(step: string): void {
    const seconds = (performance.now() - this.#since) / 1000;
    if (seconds > this.result.longest.seconds) this.result.longest = { step: this.#step, seconds };
    this.result.seconds += seconds;
    this.#since = performance.now();
    this.#step = step;
  }

  // No rows of the table, but what remarks say of them (remarks.ts).
  #noteWaited(row: string, waited: Waited | undefined): void {
    if (waited === undefined) return;
    for (const [part, ms] of Object.entries(waited)) this.#note(`${row}-${part}`, ms);
  }

  #note(row: string, value: number): void {
    this.result.values[row] = value;
  }
}
