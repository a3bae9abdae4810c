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

// What is counted: answers to an operation, by a type of the values in the request, and by code.
export type Cell = Pick<Claim, "operation" | "type" | "code">;

export const nameOf = ({ operation, type, code }: Cell) => `${operation}|${type}|${code}`;

export class Pack {
  rounds = 0; // how often the whole pack was dealt
  readonly #claims: readonly Claim[];
  #left: Claim[] = [];

  constructor(claims: readonly Claim[]) {
    this.#claims = claims;
  }

  next(dice: Dice): Claim {
    if (this.#left.length === 0) this.#left = dice.shuffle(this.#claims);
    const claim = this.#left.pop() as Claim;
    if (this.#left.length === 0) this.rounds++;
    return claim;
  }

  putBack(claim: Claim): void {
    if (this.#left.length === 0) this.rounds--;
    this.#left.unshift(claim);
  }
}

// Counts what was answered: by cell, and by claim, since several claims may fall into the same cell.
export class Coverage {
  readonly #counts = new Map<string, number>();
  readonly #kept = new Map<Claim, number>();

  constructor(claims: readonly Claim[], followed: readonly Cell[]) {
    for (const cell of [...claims, ...followed]) this.#counts.set(nameOf(cell), 0);
    for (const claim of claims) this.#kept.set(claim, 0);
  }

  count(operation: string, types: readonly EdmType[], code: string): void {
    for (const type of ["-", ...new Set(types)]) {
      const cell = `${operation}|${type}|${code}`;
      this.#counts.set(cell, (this.#counts.get(cell) ?? 0) + 1);
    }
  }

  // A request of `claim` was answered as the claim says.
  keep(claim: Claim): void {
    this.#kept.set(claim, (this.#kept.get(claim) ?? 0) + 1);
  }

  // How often the claim was answered as it says that was so least often.
  least(): number {
    return Math.min(...this.#kept.values());
  }

  // What was claimed, and never seen.
  missed(): string[] {
    const cells = [...this.#counts].filter(([, count]) => count === 0).map(([cell]) => cell);
    const claims = [...this.#kept]
      .map(([claim, count], i) => ({ name: `${nameOf(claim)} (claim ${i})`, count }))
      .filter(({ count }) => count === 0)
      .map(({ name }) => name);
    return [...cells, ...claims];
  }

  // A line per operation and code, with its count for each type; what was claimed and never seen is there with its 0.
  lines(): string[] {
    const rows = new Map<string, string[]>();
    for (const [cell, count] of [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const [operation, type, code] = cell.split("|") as [string, string, string];
      const row = `${operation.padEnd(32)} ${code.padEnd(39)}`;
      const counts = rows.get(row) ?? [];
      counts.push(type === "-" ? `${count}`.padStart(5) : ` ${type} ${count}`);
      rows.set(row, counts);
    }
    return [...rows].map(([row, counts]) => row + counts.join(""));
  }
}
