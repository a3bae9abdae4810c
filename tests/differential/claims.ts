// What the generator claims to exercise: operation, Edm type, and error code (or "ok"), each with a way to make such a
// request. The run deals from the whole pack before it deals a claim again, so that none is left to luck.

import type { Dice } from "./dice.ts";
import type { EdmType, Step } from "./request.ts";
import type { World } from "./world.ts";

export interface Claim {
  operation: string;
  type: EdmType | "-";
  code: string;
  // undefined: the world has not what it takes yet.
  make(world: World, dice: Dice): Step | undefined;
}

export class Pack {
  readonly #claims: readonly Claim[];
  #left: Claim[] = [];

  constructor(claims: readonly Claim[]) {
    this.#claims = claims;
  }

  next(dice: Dice): Claim {
    if (this.#left.length === 0) this.#left = dice.shuffle(this.#claims);
    return this.#left.pop() as Claim;
  }

  putBack(claim: Claim): void {
    this.#left.unshift(claim);
  }
}

// Counts what was answered.
export class Coverage {
  readonly #counts = new Map<string, number>();

  count(operation: string, types: readonly EdmType[], code: string): void {
    for (const type of ["-", ...new Set(types)]) {
      const cell = `${operation}|${type}|${code}`;
      this.#counts.set(cell, (this.#counts.get(cell) ?? 0) + 1);
    }
  }

  of({ operation, type, code }: Omit<Claim, "make">): number {
    return this.#counts.get(`${operation}|${type}|${code}`) ?? 0;
  }

  // A line per operation and code, with its count for each type.
  lines(): string[] {
    const rows = new Map<string, string[]>();
    for (const [cell, count] of [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const [operation, type, code] = cell.split("|") as [string, string, string];
      const row = `${operation.padEnd(18)} ${code.padEnd(34)}`;
      const counts = rows.get(row) ?? [];
      counts.push(type === "-" ? `${count}`.padStart(5) : ` ${type} ${count}`);
      rows.set(row, counts);
    }
    return [...rows].map(([row, counts]) => row + counts.join(""));
  }
}
