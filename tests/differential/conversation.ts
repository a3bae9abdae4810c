// Two sides that are asked the same.

import { type Cell, type Claim, Coverage, Pack } from "./claims.ts";
import { compare } from "./compare.ts";
import { Dice } from "./dice.ts";
import type { Exception } from "./exceptions.ts";
import { fill, Memory, normalise } from "./normalise.ts";
import { breaches } from "./oughts.ts";
import { fillTable, nextPage } from "./page-claims.ts";
import type { Difference, RawRequest, RawResponse, Seen, Side, Step } from "./request.ts";
import { resetProperties } from "./service-claims.ts";
import { signed } from "./sign.ts";
import { entityPath, makeStep } from "./steps.ts";
import { createTable, deleteTable } from "./table-claims.ts";
import { Walk } from "./walk.ts";
import { World } from "./world.ts";

const tablesMin = 4;
const attemptsMax = 5; // to make a request of a claim
const claimsMax = 50; // to find one that can be made

export interface Terms {
  seed: number;
  sides: readonly [Side, Side];
  claims: readonly Claim[];
  followed: readonly Cell[]; // that the claims' answers bring with them
  exceptions: readonly Exception[];
  judges: boolean; // whether the first side's codes must be those that the claims name
}

export interface Failure {
  step: Step;
  difference: Difference;
  requests: [RawRequest, RawRequest];
  responses: [RawResponse, RawResponse];
}

interface Asked {
  step: Step;
  claim?: Claim;
}

const asked = (...steps: readonly Step[]): Asked[] => steps.map((step) => ({ step }));

export class Conversation {
  readonly coverage: Coverage;
  readonly hits: Map<Exception, number>;
  readonly failures: Failure[] = [];
  requests = 0;
  pagesMax = 0; // of one query
  readonly #dice: Dice;
  readonly #pack: Pack;
  readonly #world = new World();
  readonly #sides: readonly [Side, Side];
  readonly #judges: boolean;
  readonly #memories: readonly [Memory, Memory];
  readonly #queue: Asked[] = []; // what comes before anything new
  #walk: Walk | undefined; // along the pages of a query that both sides have more for

  constructor({ seed, sides, claims, followed, exceptions, judges }: Terms) {
    this.#dice = new Dice(seed);
    this.#pack = new Pack(claims);
    this.coverage = new Coverage(claims, followed);
    this.#sides = sides;
    this.#judges = judges;
    this.#memories = [new Memory(sides[0]), new Memory(sides[1])];
    this.hits = new Map(exceptions.map((exception) => [exception, 0]));
  }

  get rounds(): number {
    return this.#pack.rounds;
  }

  // May ask a few more, to come to the end of what it began.
  async run(requests: number, failuresMax: number): Promise<void> {
    await this.#settle(resetProperties(this.#dice));
    this.#queue.push(...asked(...fillTable(this.#dice)));
    while (this.failures.length < failuresMax) {
      if (this.#queue.length === 0) {
        if (this.requests >= requests) break;
        this.#queue.push(...this.#deal());
      }
      await this.#ask(this.#queue.shift() as Asked);
    }
  }

  // What to ask when nothing waits: mostly a claim's request, with those before and behind it.
  #deal(): Asked[] {
    const dice = this.#dice;
    const { tables } = this.#world;
    const newTable = () => asked(createTable(dice, this.#world.newName(dice)));
    if (tables.size < tablesMin) return newTable();
    const full = this.#world.fullTable();
    if (full !== undefined) return asked(deleteTable(dice, full));
    for (let tried = 0; tried < claimsMax; tried++) {
      const claim = this.#pack.next(dice);
      const step = this.#make(claim);
      if (step !== undefined) {
        const { first = [], after = [] } = step;
        const claimed = { step: { ...step, expected: claim.code }, claim };
        return [...asked(...first), claimed, ...asked(...after)];
      }
      this.#pack.putBack(claim);
    }
    return newTable(); // something else to find
  }

  #make(claim: Claim): Step | undefined {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const step = claim.make(this.#world, this.#dice);
      if (step !== undefined) return step;
    }
    return undefined;
  }

  async #ask({ step, claim }: Asked): Promise<void> {
    this.requests++;
    const requests = this.#memories.map((memory) => rawOf(step, memory)) as [
      RawRequest,
      RawRequest,
    ];
    const responses = (await Promise.all(
      this.#sides.map((side, i) => side.send(requests[i as 0 | 1])),
    )) as [RawResponse, RawResponse];
    const seen = responses.map((response, i) =>
      normalise(step, response, this.#memories[i] as Memory),
    ) as [Seen, Seen];
    const code = seen[0].code || (seen[0].status < 400 ? "ok" : `${seen[0].status}`);
    this.coverage.count(step.operation, step.types, code);
    if (claim !== undefined && code === claim.code) this.coverage.keep(claim);
    const differences = [...compare(...seen), ...this.#follow(step, seen)];
    if (this.#judges) {
      differences.push(...breaches(step, responses[0], seen[0]));
      if (code !== (step.expected ?? code)) {
        differences.push({ path: "ought.claim", ours: code, theirs: step.expected });
      }
    }
    for (const difference of differences) {
      if (this.#isAllowed(difference, step, ...seen)) continue;
      this.failures.push({ step, difference, requests, responses });
    }
    if (step.writes) await this.#keepTogether(step, ...seen);
  }

  // The store's own duties are not a matter of comparison.
  #isAllowed(difference: Difference, step: Step, ours: Seen, theirs: Seen): boolean {
    if (difference.path.startsWith("ought.")) return false;
    for (const [exception, count] of this.hits) {
      if (!exception.allows(difference, step, ours, theirs)) continue;
      this.hits.set(exception, count + 1);
      return true;
    }
    return false;
  }

  // Asks for the next page as soon as it can, or says how the pages together differ.
  #follow(step: Step, seen: readonly [Seen, Seen]): Difference[] {
    if (step.pages === undefined || seen.some(({ status }) => status !== 200)) {
      this.#walk = undefined;
      return [];
    }
    this.#walk ??= new Walk();
    this.#walk.add(seen);
    const more = this.#memories.every(({ next }) => next !== undefined);
    if (more && this.#walk.advances) {
      this.#queue.unshift({ step: nextPage(step) });
      return [];
    }
    const walk = this.#walk;
    this.#walk = undefined;
    this.pagesMax = Math.max(this.pagesMax, walk.count);
    return walk.differences(step, this.#judges);
  }

  // Both sides hold the same after every request: what only one of them did is undone, and what both did is remembered.
  async #keepTogether(step: Step, ours: Seen, theirs: Seen): Promise<void> {
    const [a, b] = [ours, theirs].map(({ status, code }) => status < 300 && code === "");
    if (a && b) this.#world.apply(step);
    if (a === b || step.leaves === true) return;
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
