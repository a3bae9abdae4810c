// Which request fails next, and how.

import { StoreError } from "../errors.ts";
import type { RequestDescription } from "../types.ts";
import { checkDelay } from "./delay.ts";
import { matches } from "./request-match.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { Fault, FaultRule, Faults } from "./types.ts";

const networkFaults: ReadonlySet<unknown> = new Set([
  "offline",
  "reset",
  "timeout",
  "timeout-after-commit",
  "truncate",
]);

interface Active {
  readonly rule: FaultRule;
  seen: number; // requests that matched
  hits: number;
}

// All that next() depends on, but for the seed.
export type FaultState = readonly Readonly<Active>[];

export class FaultRules implements Faults {
  readonly #random: SeededRandom;
  #active: Active[] = [];

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  add(rule: FaultRule): Fault {
    check(rule);
    const active = { rule: { ...rule }, seen: 0, hits: 0 };
    this.#active.push(active);
    return this.#handle(active);
  }

  all(): readonly Fault[] {
    return this.#active.map((active) => this.#handle(active));
  }

  clear(): void {
    this.#active = [];
  }

  get state(): FaultState {
    return this.#active.map((active) => ({ ...active }));
  }
  set state(state: FaultState) {
    this.#active = state.map((active) => ({ ...active }));
  }

  // The rule that strikes now. To be asked once for each request.
  next(request: RequestDescription): FaultRule | undefined {
    for (const active of this.#active) {
      const { rule } = active;
      if (!matches(rule, request) || rule.when?.(request) === false) continue;
      active.seen += 1;
      if (active.seen <= (rule.skip ?? 0) || active.hits >= (rule.times ?? Infinity)) continue;
      if (rule.probability !== undefined && this.#random.fraction() >= rule.probability) continue;
      active.hits += 1;
      return rule;
    }
    return undefined;
  }

  // What is removed or rolled back stays as it was.
  #handle(active: Active): Fault {
    const remove = () => {
      this.#active = this.#active.filter(({ rule }) => rule !== active.rule);
    };
    const now = () => this.#active.find(({ rule }) => rule === active.rule) ?? active;
    return {
      rule: active.rule,
      get hits() {
        return now().hits;
      },
      remove,
    };
  }
}

function check(rule: FaultRule): void {
  const { times = 0, skip = 0, probability = 0, delayMs = 0, respond, network } = rule;
  if (rule.on === undefined) throw invalid("on must say which operations fail.");
  if (!isCount(times)) throw invalid(`times must be a whole number, not ${times}.`);
  if (!isCount(skip)) throw invalid(`skip must be a whole number, not ${skip}.`);
  if (!(probability >= 0 && probability <= 1)) {
    throw invalid(`probability must be from 0 to 1, not ${probability}.`);
  }
  checkDelay("Fault rule: delayMs", delayMs);
  if (network !== undefined && !networkFaults.has(network)) {
    throw invalid(`network must be one of ${[...networkFaults].join(", ")}, not ${network}.`);
  }
  if (respond !== undefined && network !== undefined) {
    throw invalid("A request fails by an answer (respond) or for lack of one (network), not both.");
  }
  if (respond === undefined && network === undefined && rule.delayMs === undefined) {
    throw invalid("A fault has respond, network or delayMs.");
  }
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0;
}

function invalid(message: string): StoreError {
  return new StoreError("ValidationFailed", `Fault rule: ${message}`);
}
