// Loads the cities with several transactions in flight, and can pause. The progress is stored in a
// row of a table, so a load that is interrupted by closing the page resumes there. Every write is
// an upsert, so it is safe to write a batch twice.
import type { Store } from "entitable";
import { cityTableHandle, fetchBatches } from "./cities.ts";

export interface CityLoadProgress {
  stored: number; // cities
  total: number;
  perSecond: number;
  state: "loading" | "paused" | "done";
}

const inFlight = 24;
const saveEvery = 40; // batches between two writes of the progress row

interface SavedProgress {
  batches: number;
  complete: boolean;
}

export class CityLoader {
  #store: Store;
  #report: (progress: CityLoadProgress) => void;
  #paused = false;
  #resume: () => void = () => {};

  constructor(store: Store, report: (progress: CityLoadProgress) => void) {
    this.#store = store;
    this.#report = report;
  }

  static async isComplete(store: Store): Promise<boolean> {
    return (await readProgress(store))?.complete ?? false;
  }

  get paused(): boolean {
    return this.#paused;
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#resume();
  }

  async run(): Promise<void> {
    const { cities, batches } = await fetchBatches();
    const table = cityTableHandle(this.#store);
    await table.createTable();
    await progressTable(this.#store).createTable();
    const first = (await readProgress(this.#store))?.batches ?? 0;
    let stored = batches.slice(0, first).reduce((sum, batch) => sum + batch.length, 0);
    let done = first;
    let savedBatches = first;
    const rate = new Rate();
    const report = (state: CityLoadProgress["state"]) =>
      this.#report({ stored, total: cities, perSecond: rate.perSecond(), state });
    report("loading");

    const waiting: Promise<void>[] = [];
    for (const batch of batches.slice(first)) {
      if (this.#paused) {
        await Promise.all(waiting.splice(0));
        await this.#saveProgress({ batches: done, complete: false });
        report("paused");
        await new Promise<void>((resolve) => {
          this.#resume = resolve;
        });
        rate.restart();
      }
      waiting.push(
        table.submitTransaction(batch).then(() => {
          stored += batch.length;
          done += 1;
          rate.add(batch.length);
        }),
      );
      if (waiting.length >= inFlight) {
        await Promise.all(waiting.splice(0));
        if (done - savedBatches >= saveEvery) {
          savedBatches = done;
          await this.#saveProgress({ batches: done, complete: false });
        }
        report("loading");
      }
    }
    await Promise.all(waiting);
    await this.#saveProgress({ batches: done, complete: true });
    report("done");
  }

  async #saveProgress(progress: SavedProgress): Promise<void> {
    await progressTable(this.#store).upsertEntity(
      { partitionKey: "load", rowKey: "cities", ...progress },
      "Replace",
    );
  }
}

function progressTable(store: Store) {
  return store.table<SavedProgress>("progress");
}

async function readProgress(store: Store): Promise<SavedProgress | undefined> {
  try {
    return await progressTable(store).getEntity("load", "cities");
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return undefined;
    throw error;
  }
}

// Measures entities a second over the last two seconds.
class Rate {
  #marks: { at: number; count: number }[] = [];

  add(count: number): void {
    const at = performance.now();
    this.#marks.push({ at, count });
    while (this.#marks[0] !== undefined && this.#marks[0].at < at - 2000) this.#marks.shift();
  }

  restart(): void {
    this.#marks = [];
  }

  perSecond(): number {
    const [oldest] = this.#marks;
    if (oldest === undefined) return 0;
    const seconds = Math.max(0.05, (performance.now() - oldest.at) / 1000);
    return this.#marks.reduce((sum, mark) => sum + mark.count, 0) / seconds;
  }
}
