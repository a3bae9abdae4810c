// One round of one database: all its measurements, in a new page or process with empty storage.

import type { Browser } from "puppeteer-core";
import { entityBytes, insertBytes } from "./adapters/floor.ts";
import type { CommitPhases } from "./commit-timing.ts";
import type { Level } from "./database-adapter.ts";
import type { ComparedDatabase } from "./databases.ts";
import { compare, WrongResult } from "./expected.ts";
import { PageRunner } from "./page-runner.ts";
import { ProcessRunner } from "./process-runner.ts";
import { type Profile, profiled } from "./profile.ts";
import { readRows, unitOf } from "./rows.ts";
import { OverBudget, type Runner } from "./runner.ts";
import {
  type Inserts,
  type InterleavedTimes,
  inFlight,
  type Load,
  type PutFloor,
  type RawPuts,
  type SessionOptions,
  type Values,
  type Writes,
} from "./session.ts";
import type { PeerSite } from "./site.ts";
import { type Digest, groupRows, shuffled } from "./workload.ts";

export interface RoundOptions {
  browser: Browser;
  site: PeerSite;
  entry: ComparedDatabase;
  session: SessionOptions;
  expected: Record<string, Digest>;
  profile: boolean; // also records profiles, which makes the times longer
}

export interface RoundResult {
  values: Values; // by row, in the row's unit
  levels: readonly Level[];
  seconds: number;
  longest: { step: string; seconds: number }; // the step that took longest
  profiles: Record<string, Profile>; // by row
  stopped?: { at: string; why: string }; // the results of this step and later ones are missing
}

interface LoadOptions {
  together?: number; // transactions in flight
  enough?: number; // after this many milliseconds, no further transaction starts
  watch?: boolean; // whether to measure the phases of commits
}

// Loads at levels that are not used for reading have at most this many entities, and end after this
// time.
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

// Returns the level in the id of a row for loads or inserts at this level.
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
  #runner: Runner | undefined;
  #since = performance.now();

  constructor(options: RoundOptions) {
    this.#o = options;
  }

  async run(): Promise<void> {
    const { entry, site } = this.#o;
    await this.#open();
    site.takeSent();
    const before = await this.#current.megabytes();
    await this.#current.call("prepare");
    const levels = (await this.#current.call("levels")) as Level[];
    this.result.levels = levels;
    const [first, ...others] = levels as [Level, ...Level[]];
    await this.#loadMain(first, before);
    await this.#read();
    await this.#writeToMain(first);
    for (const level of others) await this.#loadOther(level);
    if (entry.runsIn !== "node") this.#record("transfer", site.takeSent());
    if (first !== "memory") await this.#coldOpen(first);
    if (entry.id === "entitable") await this.#floor();
  }

  // The name of the current step.
  get step(): string {
    return this.#step;
  }

  async end(): Promise<void> {
    this.#startStep("end");
    await this.#runner?.close().catch(() => {}); // it may have crashed
    this.#runner = undefined;
  }

  // ---- Parts ------------------------------------------------------------------------------------

  async #loadMain(level: Level, before: number): Promise<void> {
    const { entities } = this.#o.session;
    await this.#call("open", "main", level, true);
    const load = await this.#load(`load-${rowLevel(level)}`, entities, {
      enough: Number.MAX_VALUE,
    });
    this.#record("growth", load.growth);
    await this.#call("flush");
    await this.#call("idle");
    this.#record("memory-load", (await this.#current.megabytes()) - before);
    const wasm = await this.#current.wasmMegabytes();
    // does not include the memory of a worker that the library starts itself
    if (wasm > 0) this.#record("wasm", wasm);
    const checked = (await this.#call("check")) as Record<string, Digest>;
    compare(this.#o.entry.title, checked, this.#o.expected);
  }

  async #read(): Promise<void> {
    for (const row of shuffled(readRows, this.#o.session.seed)) {
      await this.#time(row, () => this.#current.call("read", row));
    }
    const page = this.#current;
    if (this.#o.entry.runsIn === "worker" && page instanceof PageRunner) {
      await this.#time("get-from-page", () => page.readFromPage());
    }
  }

  async #writeToMain(level: Level): Promise<void> {
    await this.#call("checkWrites");
    await this.#insert(level);
    await this.#merge("merge");
    await this.#merge("merge-if");
    await this.#call("close");
  }

  async #insert(level: Level): Promise<void> {
    const row = `insert-${rowLevel(level)}`;
    if (level === "memory" || level === "deferred") {
      const measure = () => this.#current.call("insert") as Promise<Inserts>;
      const { each, median, first } = await this.#profiled(row, measure);
      this.#record(row, each);
      this.#record("insert-median", median);
      this.#record("insert-first", first);
      return;
    }
    const { ours } = this.#o.entry;
    const measure = () =>
      this.#current.call("insertInterleavedWithFloor", level, ours) as Promise<InterleavedTimes>;
    const { insert, put, puts, file, phases } = await this.#profiled(row, measure);
    this.#recordPhases(row, phases);
    this.#record(row, insert * 1000);
    this.#record(`put-${level}`, put * 1000);
    this.#record(`insert-puts-${level}`, puts);
    if (file === undefined) return;
    this.#record(`put-file-${level}`, file.put * 1000);
    this.#record(`insert-put-files-${level}`, file.puts);
    this.#recordPhases(`put-file-${level}`, file.phases);
  }

  // Waits first until the work that earlier writes left behind is done, so that it is not measured.
  async #merge(row: "merge" | "merge-if"): Promise<void> {
    await this.#call("flush");
    await this.#call("idle");
    const merge = () => this.#current.call("merge", row === "merge-if") as Promise<Writes>;
    const { each, median } = await this.#profiled(row, merge);
    this.#record(row, each);
    this.#record(`${row}-median`, median);
  }

  async #loadOther(level: Level): Promise<void> {
    const count = Math.min(this.#o.session.entities, otherLoads);
    await this.#call("open", "other", level, true);
    const { ours, runsIn } = this.#o.entry;
    await this.#load(`load-${level}`, count, { watch: ours === true && runsIn === "page" });
    await this.#call("idle");
    const group = { level, bytes: entityBytes, together: groupRows, count };
    if (ours) await this.#putWrites("put-group", group);
    await this.#call("idle");
    await this.#insert(level);
    if (level === "strict") {
      await this.#time("in-flight", () => this.#current.call("insertInFlight"));
      const thousand = { level, bytes: insertBytes, together: inFlight };
      if (ours)
        await this.#putWrites("put-in-flight", { ...thousand, count: inFlightPuts * inFlight });
      await this.#call("close");
      await this.#call("open", "other", level, true);
      await this.#load("load-ten-strict", count, { together: 10 });
      if (ours) await this.#putWrites("put-ten-groups", { ...group, together: 10 * groupRows });
    }
    await this.#call("close");
    await this.#call("remove", "other");
  }

  // Measures the floor: the time of raw puts, if entitable stores that many writes together.
  async #putWrites(row: string, puts: Omit<RawPuts, "enoughMs">): Promise<void> {
    const { put, file, phases } = (await this.#call("putWrites", {
      ...puts,
      enoughMs,
    })) as PutFloor;
    const id = `${row}-${puts.level}`;
    this.#record(id, put);
    if (file !== undefined) this.#record(`${row}-file-${puts.level}`, file);
    this.#recordPhases(`${row}-file-${puts.level}`, phases);
  }

  // Opens the database in a new page, which has nothing in memory.
  async #coldOpen(level: Level): Promise<void> {
    await this.#open();
    const before = await this.#current.megabytes();
    await this.#time("open", () => this.#current.coldOpen("main", level));
    this.#record("memory-open", (await this.#current.megabytes()) - before);
    await this.#call("close");
    await this.#call("remove", "main");
  }

  // Measures the browser alone, in pages without a store: for a load, for storing a burst of
  // writes, and for a cold open.
  async #floor(): Promise<void> {
    await this.#open("floor");
    const before = await this.#current.megabytes();
    await this.#call("open", "floor-main", "relaxed", true);
    await this.#call("load", this.#o.session.entities, 1, Number.MAX_VALUE, false);
    this.#record("memory-floor", (await this.#current.megabytes()) - before);
    this.#record("hand-over", (await this.#call("handOver")) as number);
    await this.#call("idle");
    await this.#call("close");
    await this.#open("floor");
    await this.#time("open-floor", () => this.#current.coldOpen("floor-main", "relaxed"));
    await this.#call("close");
    await this.#call("remove", "floor-main");
  }

  // Starts a new page or process. Ends the previous one.
  async #open(id: SessionOptions["id"] = this.#o.entry.id): Promise<void> {
    await this.end();
    const { browser, site, entry } = this.#o;
    const session = { ...this.#o.session, id };
    this.#runner =
      entry.runsIn === "node"
        ? await ProcessRunner.start(session)
        : await PageRunner.open(browser, site.urlOf(id), entry, session);
  }

  get #current(): Runner {
    if (this.#runner === undefined) throw new Error("nothing is open");
    return this.#runner;
  }

  async #call(step: Parameters<Runner["call"]>[0], ...args: unknown[]): Promise<unknown> {
    this.#startStep(step);
    return await this.#current.call(step, ...args);
  }

  async #load(row: string, count: number, how: LoadOptions = {}): Promise<Load> {
    const { together = 1, enough = enoughMs, watch = false } = how;
    const load = () => this.#current.call("load", count, together, enough, watch) as Promise<Load>;
    const loaded = await this.#profiled(row, load);
    this.#record(row, loaded.each);
    this.#recordPhases(row, loaded.phases);
    return loaded;
  }

  // Records the result of `measure`, which is in milliseconds.
  async #time(row: string, measure: () => Promise<unknown>): Promise<void> {
    const ms = (await this.#profiled(row, measure)) as number;
    this.#record(row, unitOf(row) === "ms" ? ms : ms * 1000);
  }

  async #profiled<T>(row: string, work: () => Promise<T>): Promise<T> {
    this.#startStep(row);
    if (!this.#o.profile) return await work();
    const { value, profile } = await profiled(this.#current, work);
    if (profile !== undefined) this.result.profiles[row] = profile;
    return value;
  }

  // Records the duration of the previous step and starts the next one.
  #startStep(step: string): void {
    const seconds = (performance.now() - this.#since) / 1000;
    if (seconds > this.result.longest.seconds) this.result.longest = { step: this.#step, seconds };
    this.result.seconds += seconds;
    this.#since = performance.now();
    this.#step = step;
  }

  // Records figures that are not rows of the table but appear in the remarks (missed-targets.ts).
  #recordPhases(row: string, phases: CommitPhases | undefined): void {
    if (phases === undefined) return;
    for (const [part, ms] of Object.entries(phases)) this.#record(`${row}-${part}`, ms);
  }

  #record(row: string, value: number): void {
    this.result.values[row] = value;
  }
}
