// Decides by the fault rules (types.ts) which requests fail, and how.

import { StoreError } from "../errors.ts";
import { hintHeader } from "../hints/hint-header.ts";
import type { RequestDescription } from "../types.ts";
import { isRegExp } from "../util/platform-objects.ts";
import type { SimulatedError } from "../wasm/engine.ts";
import { checkDelay } from "./delay.ts";
import { isOperation, operations as known, matches } from "./request-match.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { Fault, FaultRule, Faults } from "./types.ts";

export const faultHint = "Repeat the call as for a real failure, or remove the fault rule.";

const networkFaults: ReadonlySet<unknown> = new Set([
  "offline",
  "reset",
  "timeout",
  "timeout-after-commit",
  "truncate",
]);

const simulatedHint = `A fault rule simulates this error. ${faultHint}`;

type FaultResponse = NonNullable<FaultRule["respond"]>;

interface ActiveRule {
  readonly rule: FaultRule;
  matchCount: number; // how many requests have matched
  hits: number;
}

// Everything that next() depends on, except the random generator's state.
export type FaultRulesState = readonly Readonly<ActiveRule>[];

export class FaultRules implements Faults {
  readonly #random: SeededRandom;
  readonly #buildError: (refusal: SimulatedError) => void;
  #rules: ActiveRule[] = [];

  // `buildError` builds the error response of a rule, and throws if that is not possible.
  constructor(random: SeededRandom, buildError: (refusal: SimulatedError) => void) {
    this.#random = random;
    this.#buildError = buildError;
  }

  add(rule: FaultRule): Fault {
    checkRule(rule);
    if (rule.respond !== undefined) this.#checkBuildable(refusalOf(rule.respond));
    const active = { rule: { ...rule }, matchCount: 0, hits: 0 };
    this.#rules.push(active);
    return this.#handle(active);
  }

  all(): readonly Fault[] {
    return this.#rules.map((active) => this.#handle(active));
  }

  clear(): void {
    this.#rules = [];
  }

  get state(): FaultRulesState {
    return this.#rules.map((active) => ({ ...active }));
  }
  set state(state: FaultRulesState) {
    this.#rules = state.map((active) => ({ ...active }));
  }

  // Returns the rule that applies to a request; undefined: none. Must be called once for each
  // request, because rules count requests.
  next(request: RequestDescription): FaultRule | undefined {
    for (const active of this.#rules) {
      const { rule } = active;
      if (!matches(rule, request) || (rule.when !== undefined && !rule.when(request))) continue;
      active.matchCount += 1;
      if (active.matchCount <= (rule.skip ?? 0) || active.hits >= (rule.times ?? Infinity))
        continue;
      if (rule.probability !== undefined && this.#random.fraction() >= rule.probability) continue;
      active.hits += 1;
      return rule;
    }
    return undefined;
  }

  // Throws ValidationFailed if the rule's error response cannot be built. Checked when the rule is
  // added, not at the first matching request.
  #checkBuildable(refusal: SimulatedError): void {
    try {
      this.#buildError(refusal);
    } catch (error) {
      if ((error as StoreError).code === "StoreClosed") throw error;
      throw invalid(`respond: ${(error as Error).message}`);
    }
  }

  // Returns the caller's handle of a rule. After the rule was removed or rolled back, the handle
  // returns its last state.
  #handle(active: ActiveRule): Fault {
    const remove = () => {
      this.#rules = this.#rules.filter(({ rule }) => rule !== active.rule);
    };
    const now = () => this.#rules.find(({ rule }) => rule === active.rule) ?? active;
    return {
      rule: active.rule,
      get hits() {
        return now().hits;
      },
      remove,
    };
  }
}

export function refusalOf({ retryAfter, headers, ...response }: FaultResponse): SimulatedError {
  const all: Record<string, string> = { [hintHeader]: simulatedHint, ...headers };
  if (retryAfter !== undefined) all["Retry-After"] = String(retryAfter);
  return { ...response, headers: all };
}

// Throws StoreError ValidationFailed if the rule is invalid. Types alone do not suffice, because
// rules also come from files.
export function checkRule(rule: FaultRule): void {
  const { times = 0, skip = 0, probability = 0, delayMs = 0, respond, network } = rule;
  checkMatch(rule);
  if (!isCount(times)) throw invalid(`times must be a whole number, not ${times}.`);
  if (!isCount(skip)) throw invalid(`skip must be a whole number, not ${skip}.`);
  if (!isWithin(probability, 1)) {
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
  if (respond === undefined) return;
  if (Object(respond) !== respond) throw invalid(`respond must say an answer, not ${respond}.`);
  checkResponse(respond);
}

function checkMatch({ on, table, partitionKey, rowKey }: FaultRule): void {
  const operations: readonly unknown[] = Array.isArray(on) ? on : [on];
  if (on === undefined || operations.length === 0)
    throw invalid("on must say which operations fail.");
  for (const operation of operations) {
    if (isOperation(operation)) continue;
    const names = Object.keys(known).join(", ");
    throw invalid(`on: there is no operation ${operation}. There are ${names}.`);
  }
  for (const [name, text] of Object.entries({ table, partitionKey, rowKey })) {
    if (text === undefined || typeof text === "string" || isRegExp(text)) continue;
    throw invalid(`${name} must be a text or a regular expression, not ${text}.`);
  }
}

function checkResponse({
  code,
  status = 500,
  message = "",
  retryAfter = 0,
  headers,
}: FaultResponse): void {
  if (typeof code !== "string" || !/^\w+$/.test(code)) {
    throw invalid(`respond.code must be a code of the service, such as ServerBusy, not ${code}.`);
  }
  if (!(Number.isInteger(status) && status >= 300 && status <= 599)) {
    throw invalid(`respond.status must be from 300 to 599, not ${status}.`);
  }
  if (typeof message !== "string") throw invalid(`respond.message must be a text.`);
  if (!isWithin(retryAfter, Number.MAX_SAFE_INTEGER))
    throw invalid(`respond.retryAfter must be seconds, not ${retryAfter}.`);
  if (headers !== undefined && Object(headers) !== headers) {
    throw invalid(`respond.headers must be texts by their names, not ${headers}.`);
  }
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (typeof value !== "string") throw invalid(`respond.headers: ${name} must be a text.`);
  }
}

// Also checks the type, because comparisons accept text and null, which rules from files may have.
function isWithin(value: unknown, most: number): boolean {
  return typeof value === "number" && value >= 0 && value <= most;
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0;
}

function invalid(message: string): StoreError {
  return new StoreError("ValidationFailed", `Fault rule: ${message}`);
}
