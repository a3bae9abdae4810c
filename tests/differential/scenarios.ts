// The scenarios of the generator. Each has an operation, an Edm type, an error code (or "ok"), and
// a function that makes such a request. Scenarios are dealt like cards: all of them are used before
// one is used again, so that none is missed by chance.

import type { EdmType, Step } from "./request.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { StoreModel } from "./store-model.ts";

export interface Scenario {
  operation: string;
  type: EdmType | "-";
  code: string;
  // Returns a request; undefined if the model does not have the required data yet.
  make(model: StoreModel, random: SeededRandom): Step | undefined;
}

// The unit of coverage: responses to an operation are counted by the type of a value in the request
// and by their code.
export type CoverageCell = Pick<Scenario, "operation" | "type" | "code">;

export const nameOf = ({ operation, type, code }: CoverageCell) => `${operation}|${type}|${code}`;

export class ScenarioDeck {
  rounds = 0; // how often all scenarios were dealt
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

// Counts responses: by coverage cell, and by scenario, because several scenarios can belong to one
// cell.
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

  // Counts a response that was as the scenario expects.
  countExpected(scenario: Scenario): void {
    this.#expected.set(scenario, (this.#expected.get(scenario) ?? 0) + 1);
  }

  // Returns the lowest count of expected responses of any scenario.
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

  // Returns a line for each operation and code, with the count for each type. Cells that never
  // occurred have the count 0.
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
