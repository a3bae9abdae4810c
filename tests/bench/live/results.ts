// The results of all rounds.

import { median } from "../peers/timing.ts";
import type { LiveDatabaseId } from "./live-adapter.ts";
import type { GroupResult, LiveGroup } from "./round.ts";

export interface Measured {
  median: number;
  min: number;
  max: number;
  rounds: number;
}

export class LiveResults {
  readonly #values = new Map<string, number[]>(); // by database and row
  readonly #stopped = new Map<string, { id: LiveDatabaseId; group: LiveGroup; why: string }>();

  add(id: LiveDatabaseId, group: LiveGroup, { values, stopped }: GroupResult): void {
    for (const [row, value] of Object.entries(values)) {
      const key = `${id} ${row}`;
      const all = this.#values.get(key);
      if (all === undefined) this.#values.set(key, [value]);
      else all.push(value);
    }
    if (stopped !== undefined) this.#stopped.set(`${id} ${group}`, { id, group, why: stopped });
  }

  of(id: LiveDatabaseId, row: string): Measured | undefined {
    const all = this.#values.get(`${id} ${row}`);
    if (all === undefined) return undefined;
    return {
      median: median(all),
      min: Math.min(...all),
      max: Math.max(...all),
      rounds: all.length,
    };
  }

  // Which groups of which databases have stopped, and why.
  get stopped(): { id: LiveDatabaseId; group: LiveGroup; why: string }[] {
    return [...this.#stopped.values()];
  }
}
