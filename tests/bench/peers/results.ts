// The results of all rounds of one size.

import { type Level, levelLetters } from "./database-adapter.ts";
import type { ComparedDatabase, DatabaseId } from "./databases.ts";
import { databases } from "./databases.ts";
import type { Profile } from "./profile.ts";
import type { RoundResult } from "./round.ts";
import type { Row } from "./rows.ts";
import { median } from "./timing.ts";

export interface Measured {
  median: number;
  min: number;
  max: number;
}

export class Results {
  readonly entities: number;
  readonly rounds: number;
  readonly #rounds = new Map<DatabaseId, RoundResult[]>();

  constructor(entities: number, rounds: number) {
    this.entities = entities;
    this.rounds = rounds;
  }

  add(id: DatabaseId, result: RoundResult): void {
    const rounds = this.#rounds.get(id);
    if (rounds === undefined) this.#rounds.set(id, [result]);
    else rounds.push(result);
  }

  get entries(): ComparedDatabase[] {
    return databases.filter(({ id }) => this.#rounds.has(id));
  }

  of(id: DatabaseId, row: string): Measured | undefined {
    const rounds = this.#rounds.get(id) ?? [];
    const values = rounds.flatMap(({ values: { [row]: value } }) => value ?? []);
    if (values.length === 0) return undefined;
    return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
  }

  // Returns at which step and why a database stopped; undefined if it did not stop.
  stopped(id: DatabaseId): RoundResult["stopped"] {
    return this.#rounds.get(id)?.find(({ stopped }) => stopped !== undefined)?.stopped;
  }

  // Returns how many rounds a database took part in, and the median duration of a round.
  participation(id: DatabaseId): { rounds: number; seconds: number } {
    const all = (this.#rounds.get(id) ?? []).map(({ seconds }) => seconds);
    return { rounds: all.length, seconds: all.length === 0 ? 0 : median(all) };
  }

  // Returns the profiles of a database's first round, by row.
  profiles(id: DatabaseId): Record<string, Profile> {
    return this.#rounds.get(id)?.[0]?.profiles ?? {};
  }

  // Returns the durability level at which a database does what the row measures.
  level(id: DatabaseId, row: Row): Level {
    const levels = this.#rounds.get(id)?.[0]?.levels ?? [];
    const exact = levels.find((level) => level === row.level);
    return exact ?? levels[0] ?? "memory";
  }

  // Returns the fastest peer whose writes are acknowledged at one of these levels. Plain JavaScript
  // is not a peer.
  best(row: Row, levels: readonly Level[]): { entry: ComparedDatabase; value: number } | undefined {
    let best: { entry: ComparedDatabase; value: number } | undefined;
    for (const entry of this.entries) {
      if (entry.ours || entry.id === "plain") continue;
      const value = this.of(entry.id, row.id)?.median;
      if (value === undefined || !levels.includes(this.level(entry.id, row))) continue;
      if (best === undefined || value < best.value) best = { entry, value };
    }
    return best;
  }

  // Returns the fastest peer that entitable is compared with in a row. For writes, these are the
  // peers that acknowledge at the same level; for reads, all peers that store their data.
  bestComparable(row: Row): { entry: ComparedDatabase; value: number } | undefined {
    if (row.isReference) return undefined;
    return this.best(row, row.level === undefined ? persistentLevels : [row.level]);
  }

  letter(id: DatabaseId, row: Row): string {
    return levelLetters[this.level(id, row)];
  }
}

const persistentLevels: readonly Level[] = ["deferred", "relaxed", "strict"];
