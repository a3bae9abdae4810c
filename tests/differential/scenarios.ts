// The scenarios that the generator exercises: operation, Edm type, and error code (or "ok"), each
// with a way to make such a request. The run deals from the whole deck before it deals a scenario
// again, so that none is left to luck.

import type { EdmType, Step } from "./request.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { StoreModel } from "./store-model.ts";

export interface Scenario {
  operation: string;
  type: EdmType | "-";
  code: string;
  // undefined: the model has not what it takes yet.
  make(model: StoreModel, random: SeededRandom): Step | undefined;
}

// What is counted: answers to an operation, by a type of the values in the request, and by code.
export type CoverageCell = Pick<Scenario, "operation" | "type" | "code">;

export const nameOf = ({ operation, type, code }: CoverageCell) => `${operation}|${type}|${code}`;

export class ScenarioDeck {
  rounds = 0; // how often the whole deck was dealt
  readonly #scenarios: readonly Scenario[];
  #left: Scenario[] = [];

  constructor(scenarios: readonly Scenario[]) {
    this.#scenarios = scenarios;
  }

  next(random: SeededRandom): Scenario {
    if (this.#left.length === 0) this.#left = random.shuffle(this.#scenarios);
    const scenario = this.#left.pop() as Scenario;
    if (this.#left.length === 0) this.rounds++;
    return scenario;
  }

  returnToDeck(scenario: Scenario): void {
    if (this.#left.length === 0) this.rounds--;
    this.#left.unshift(scenario);
  }
}

// Counts what was answered: by cell, and by scenario, since several scenarios may fall into the
// same cell.
export class Coverage {
  readonly #counts = new Map<string, number>();
  readonly #expected = new Map<Scenario, number>();

  constructor(scenarios: readonly Scenario[], followed: readonly CoverageCell[]) {
    for (const cell of [...scenarios, ...followed]) this.#counts.set(nameOf(cell), 0);
    for (const scenario of scenarios) this.#expected.set(scenario, 0);
  }

  count(operation: string, types: readonly EdmType[], code: string): void {
    for (const type of ["-", ...new Set(types)]) {
      const cell = `${operation}|${type}|${code}`;
      this.#counts.set(cell, (this.#counts.get(cell) ?? 0) + 1);
    }
  }

  // A request of `scenario` was answered as the scenario says.
  countExpected(scenario: Scenario): void {
    this.#expected.set(scenario, (this.#expected.get(scenario) ?? 0) + 1);
  }

  // How often the scenario was answered as it says that was so least often.
  leastExpected(): number {
    return Math.min(...this.#expected.values());
  }

  // The expected cells and scenarios that never occurred.
  uncovered(): string[] {
    const cells = [...this.#counts].filter(([, count]) => count === 0).map(([cell]) => cell);
    const scenarios = [...this.#expected]
      .map(([scenario, count], i) => ({ name: `${nameOf(scenario)} (scenario ${i})`, count }))
      .filter(({ count }) => count === 0)
      .map(({ name }) => name);
    return [...cells, ...scenarios];
  }

  // A line per operation and code, with its count for each type; what was claimed and never seen is
  // there with its 0.
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
