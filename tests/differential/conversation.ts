// Two sides that are asked the same.

import { type Claim, Coverage, Pack } from "./claims.ts";
import { compare } from "./compare.ts";
import { Dice } from "./dice.ts";
import type { Exception } from "./exceptions.ts";
import { fill, Memory, normalise } from "./normalise.ts";
import { breaches } from "./oughts.ts";
import { nextPage } from "./query-claims.ts";
import type { Difference, RawRequest, RawResponse, Seen, Side, Step } from "./request.ts";
import { resetProperties } from "./service-claims.ts";
import { signed } from "./sign.ts";
import { entityPath, makeStep } from "./steps.ts";
import { createTable, deleteTable } from "./table-claims.ts";
import { World } from "./world.ts";

const tablesMin = 4;

export interface Terms {
  seed: number;
  sides: readonly [Side, Side];
  claims: readonly Claim[];
  exceptions: readonly Exception[];
  judges: boolean; // whether the first side's codes must be those that the claims name
}

export interface Failure {
  step: Step;
  difference: Difference;
  requests: [RawRequest, RawRequest];
  responses: [RawResponse, RawResponse];
}

export class Conversation {
  readonly coverage = new Coverage();
  readonly hits: Map<Exception, number>;
  readonly failures: Failure[] = [];
  requests = 0;
  readonly #dice: Dice;
  readonly #pack: Pack;
  readonly #world = new World();
  readonly #sides: readonly [Side, Side];
  readonly #judges: boolean;
  readonly #memories: readonly [Memory, Memory];
  #following: Step | undefined; // a query that both sides have more for

  constructor({ seed, sides, claims, exceptions, judges }: Terms) {
    this.#dice = new Dice(seed);
    this.#pack = new Pack(claims);
    this.#sides = sides;
    this.#judges = judges;
    this.#memories = [new Memory(sides[0].base), new Memory(sides[1].base)];
    this.hits = new Map(exceptions.map((exception) => [exception, 0]));
  }

  async run(requests: number, failuresMax: number): Promise<void> {
    await this.#settle(resetProperties(this.#dice));
    while (this.requests < requests && this.failures.length < failuresMax) {
      await this.#ask(this.#next());
    }
  }

  #next(): Step {
    const dice = this.#dice;
    const { tables } = this.#world;
    const following = this.#following;
    if (following !== undefined) return nextPage(following);
    if (tables.size < tablesMin) return createTable(dice, this.#world.newName(dice));
    const full = this.#world.fullTable();
    if (full !== undefined) return deleteTable(dice, full);
    const claim = this.#pack.next(dice);
    for (let attempt = 0; attempt < 5; attempt++) {
      const step = claim.make(this.#world, dice);
      if (step !== undefined) return { ...step, expected: claim.code };
    }
    this.#pack.putBack(claim);
    return this.#next();
  }

  async #ask(step: Step): Promise<void> {
    this.requests++;
    const requests = this.#memories.map((memory) => rawOf(step, memory)) as [
      RawRequest,
      RawRequest,
    ];
    const responses = (await Promise.all(
      this.#sides.map((side, i) => side.send(requests[i as 0 | 1])),
    )) as [RawResponse, RawResponse];
    const [ours, theirs] = responses.map((response, i) =>
      normalise(step, response, this.#memories[i] as Memory),
    ) as [Seen, Seen];
    for (const difference of compare(ours, theirs)) {
      const exception = [...this.hits.keys()].find((e) => e.allows(difference, step, ours, theirs));
      if (exception === undefined) this.failures.push({ step, difference, requests, responses });
      else this.hits.set(exception, (this.hits.get(exception) ?? 0) + 1);
    }
    const code = ours.code || (ours.status < 400 ? "ok" : `${ours.status}`);
    this.coverage.count(step.operation, step.types, code);
    if (this.#judges) {
      const told = breaches(step, responses[0], ours);
      if (code !== (step.expected ?? code)) {
        told.push({ path: "code", ours: code, theirs: `${step.expected}, by the claim` });
      }
      for (const difference of told) this.failures.push({ step, difference, requests, responses });
    }
    const more = this.#memories.every(({ next }) => next !== undefined);
    this.#following =
      more && (step.operation === "query" || step.operation === "query tables") ? step : undefined;
    if (step.writes) await this.#keepTogether(step, ours, theirs);
  }

  // Both sides hold the same after every request: what only one of them did is undone, and what both did is remembered.
  async #keepTogether(step: Step, ours: Seen, theirs: Seen): Promise<void> {
    const [a, b] = [ours, theirs].map(({ status, code }) => status < 300 && code === "");
    if (a && b) this.#world.apply(step);
    if (a === b) return;
    if (step.operation === "set properties") await this.#settle(resetProperties(this.#dice));
    for (const table of step.tables) await this.#drop(table);
    if (step.operation === "set acl") await this.#drop(step.table ?? "");
    else for (const key of step.entities) await this.#remove(step.table ?? "", key);
  }

  async #drop(table: string): Promise<void> {
    this.#world.tables.delete(table);
    await this.#settle(deleteTable(this.#dice, table));
  }

  async #remove(table: string, key: { pk: string; rk: string }): Promise<void> {
    this.#world.forget(table, key);
    await this.#settle(
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

  // To both, whatever they say.
  async #settle(step: Step): Promise<void> {
    await Promise.all(
      this.#sides.map((side, i) => side.send(rawOf(step, this.#memories[i] as Memory))),
    );
  }
}

function rawOf(step: Step, memory: Memory): RawRequest {
  const url = memory.base + fill(step.target, step, memory);
  const headers = step.headers.map(([name, value]) => [name, fill(value, step, memory)] as const);
  const asIs =
    step.about.has("unsigned") ||
    step.about.has("sas") ||
    headers.some(([name]) => name === "Authorization");
  return {
    method: step.method,
    url,
    headers: asIs ? headers : [...headers, ...signed(url)],
    body: step.body === undefined ? undefined : fill(step.body, step, memory),
  };
}
