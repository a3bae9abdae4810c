// Sends the same requests to two backends and compares the responses.

import { compare } from "./compare.ts";
import type { KnownDifference } from "./known-differences.ts";
import { BackendState, fillPlaceholders, normalise } from "./normalise.ts";
import { fillTable, nextPage } from "./page-scenarios.ts";
import { PagedResult } from "./paged-result.ts";
import type {
  Backend,
  Difference,
  NormalisedResponse,
  RawRequest,
  RawResponse,
  Step,
} from "./request.ts";
import { ruleViolations } from "./response-rules.ts";
import { Coverage, type CoverageCell, type Scenario, ScenarioDeck } from "./scenarios.ts";
import { SeededRandom } from "./seeded-random.ts";
import { resetProperties } from "./service-scenarios.ts";
import { signed } from "./sign.ts";
import { entityPath, makeStep } from "./steps.ts";
import { StoreModel } from "./store-model.ts";
import { createTable, deleteTable } from "./table-scenarios.ts";

const tablesMin = 4;
const attemptsMax = 5; // to make a request of one scenario
const scenariosMax = 50; // to find a scenario that is possible now

export interface SessionOptions {
  seed: number;
  backends: readonly [Backend, Backend];
  scenarios: readonly Scenario[];
  followed: readonly CoverageCell[]; // cells that responses to the scenarios' requests cover
  knownDifferences: readonly KnownDifference[];
  enforcesRules: boolean; // whether the first backend's codes must be those that the scenarios name
}

export interface Failure {
  step: Step;
  difference: Difference;
  requests: [RawRequest, RawRequest];
  responses: [RawResponse, RawResponse];
}

interface QueuedRequest {
  step: Step;
  scenario?: Scenario;
}

const queued = (...steps: readonly Step[]): QueuedRequest[] => steps.map((step) => ({ step }));

export class DifferentialSession {
  readonly coverage: Coverage;
  readonly hits: Map<KnownDifference, number>;
  readonly failures: Failure[] = [];
  requests = 0;
  pagesMax = 0; // of a single query
  readonly #random: SeededRandom;
  readonly #deck: ScenarioDeck;
  readonly #model = new StoreModel();
  readonly #backends: readonly [Backend, Backend];
  readonly #enforcesRules: boolean;
  readonly #states: readonly [BackendState, BackendState];
  readonly #queue: QueuedRequest[] = []; // requests to send before any new one
  // A query for which both backends have further pages.
  #pagedResult: PagedResult | undefined;

  constructor({
    seed,
    backends,
    scenarios,
    followed,
    knownDifferences,
    enforcesRules,
  }: SessionOptions) {
    this.#random = new SeededRandom(seed);
    this.#deck = new ScenarioDeck(scenarios);
    this.coverage = new Coverage(scenarios, followed);
    this.#backends = backends;
    this.#enforcesRules = enforcesRules;
    this.#states = [new BackendState(backends[0]), new BackendState(backends[1])];
    this.hits = new Map(knownDifferences.map((knownDifference) => [knownDifference, 0]));
  }

  get rounds(): number {
    return this.#deck.rounds;
  }

  // Sends requests. May send a few more than `requests`, to complete what it has begun.
  async run(requests: number, failuresMax: number): Promise<void> {
    await this.#sendToBoth(resetProperties(this.#random));
    this.#queue.push(...queued(...fillTable(this.#random)));
    while (this.failures.length < failuresMax) {
      if (this.#queue.length === 0) {
        if (this.requests >= requests) break;
        this.#queue.push(...this.#nextRequests());
      }
      await this.#send(this.#queue.shift() as QueuedRequest);
    }
  }

  // Returns the next requests if none is queued: usually a scenario's request, with those that must
  // precede and follow it.
  #nextRequests(): QueuedRequest[] {
    const random = this.#random;
    const { tables } = this.#model;
    const newTable = () => queued(createTable(random, this.#model.newName(random)));
    if (tables.size < tablesMin) return newTable();
    const full = this.#model.fullTable();
    if (full !== undefined) return queued(deleteTable(random, full));
    for (let tried = 0; tried < scenariosMax; tried++) {
      const scenario = this.#deck.next(random);
      const step = this.#make(scenario);
      if (step !== undefined) {
        const { first = [], after = [] } = step;
        const scenarioRequest = { step: { ...step, expected: scenario.code }, scenario };
        return [...queued(...first), scenarioRequest, ...queued(...after)];
      }
      this.#deck.returnToDeck(scenario);
    }
    return newTable(); // creates new data, so that another scenario becomes possible
  }

  #make(scenario: Scenario): Step | undefined {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const step = scenario.make(this.#model, this.#random);
      if (step !== undefined) return step;
    }
    return undefined;
  }

  async #send({ step, scenario }: QueuedRequest): Promise<void> {
    this.requests++;
    const requests = this.#states.map((state) => rawOf(step, state)) as [RawRequest, RawRequest];
    const responses = (await Promise.all(
      this.#backends.map((backend, i) => backend.send(requests[i as 0 | 1])),
    )) as [RawResponse, RawResponse];
    const normalised = responses.map((response, i) =>
      normalise(step, response, this.#states[i] as BackendState),
    ) as [NormalisedResponse, NormalisedResponse];
    const code =
      normalised[0].code || (normalised[0].status < 400 ? "ok" : `${normalised[0].status}`);
    this.coverage.count(step.operation, step.types, code);
    if (scenario !== undefined && code === scenario.code) this.coverage.countExpected(scenario);
    const differences = [...compare(...normalised), ...this.#followPages(step, normalised)];
    if (this.#enforcesRules) {
      differences.push(...ruleViolations(step, responses[0], normalised[0]));
      if (code !== (step.expected ?? code)) {
        differences.push({ path: "rule.scenario", ours: code, theirs: step.expected });
      }
    }
    for (const difference of differences) {
      if (this.#isAllowed(difference, step, ...normalised)) continue;
      this.failures.push({ step, difference, requests, responses });
    }
    if (step.writes) await this.#resynchronise(step, ...normalised);
  }

  // Returns whether a difference is a known one. A code that the scenario requires of the first
  // backend is never a known difference.
  #isAllowed(
    difference: Difference,
    step: Step,
    ours: NormalisedResponse,
    theirs: NormalisedResponse,
  ): boolean {
    if (difference.path.startsWith("rule.")) return false;
    for (const [knownDifference, count] of this.hits) {
      if (!knownDifference.allows(difference, step, ours, theirs)) continue;
      this.hits.set(knownDifference, count + 1);
      return true;
    }
    return false;
  }

  // Queues the request for the next page, if there is one. At the last page, returns the
  // differences of all pages together.
  #followPages(
    step: Step,
    normalised: readonly [NormalisedResponse, NormalisedResponse],
  ): Difference[] {
    if (step.pages === undefined || normalised.some(({ status }) => status !== 200)) {
      this.#pagedResult = undefined;
      return [];
    }
    this.#pagedResult ??= new PagedResult();
    this.#pagedResult.add(normalised);
    const more = this.#states.every(({ next }) => next !== undefined);
    if (more && this.#pagedResult.hasProgress) {
      this.#queue.unshift({ step: nextPage(step) });
      return [];
    }
    const pagedResult = this.#pagedResult;
    this.#pagedResult = undefined;
    this.pagesMax = Math.max(this.pagesMax, pagedResult.count);
    return pagedResult.differences(step, this.#enforcesRules);
  }

  // Makes the contents of both backends equal after a request: undoes what only one of them did.
  // Remembers what both did.
  async #resynchronise(
    step: Step,
    ours: NormalisedResponse,
    theirs: NormalisedResponse,
  ): Promise<void> {
    const [a, b] = [ours, theirs].map(({ status, code }) => status < 300 && code === "");
    if (a && b) this.#model.apply(step);
    if (a === b || step.isUndoneByFollowUps === true) return;
    if (step.operation === "set properties") await this.#sendToBoth(resetProperties(this.#random));
    for (const table of step.tables) await this.#drop(table);
    if (step.operation === "set acl") await this.#drop(step.table ?? "");
    else for (const key of step.entities) await this.#remove(step.table ?? "", key);
  }

  async #drop(table: string): Promise<void> {
    this.#model.tables.delete(table);
    await this.#sendToBoth(deleteTable(this.#random, table));
  }

  async #remove(table: string, key: { pk: string; rk: string }): Promise<void> {
    this.#model.forget(table, key);
    await this.#sendToBoth(
      makeStep({
        operation: "delete",
        method: "DELETE",
        target: entityPath(table, key),
        headers: [
          ["If-Match", "*"],
          ["Accept", "application/json"],
        ],
      }),
    );
  }

  // Sends a request to both backends and ignores the responses.
  async #sendToBoth(step: Step): Promise<void> {
    await Promise.all(
      this.#backends.map((backend, i) =>
        backend.send(rawOf(step, this.#states[i] as BackendState)),
      ),
    );
  }
}

function rawOf(step: Step, state: BackendState): RawRequest {
  const url = state.base + fillPlaceholders(step.target, step, state);
  const headers = step.headers.map(
    ([name, value]) => [name, fillPlaceholders(value, step, state)] as const,
  );
  const asIs =
    step.tags.has("unsigned") ||
    step.tags.has("sas") ||
    headers.some(([name]) => name === "Authorization");
  return {
    method: step.method,
    url,
    headers: asIs ? headers : [...headers, ...signed(url)],
    body: step.body === undefined ? undefined : fillPlaceholders(step.body, step, state),
  };
}
