// The time after which changes of the remote are here, as estimate() says, holds in 10,000 trials
// with a simulated clock.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { estimateOf } from "../../web/src/start-sync/estimate.ts";
import type { Settings } from "../../web/src/start-sync/options.ts";
import type { BudgetLimits } from "../../web/src/sync-session/account-budget.ts";
import { seededRandom } from "../web/support/random.ts";
import { key, minute, second, text, World } from "./session-world.ts";

const trials = 2500; // of each configuration
const keys = 50;
const tickMs = 10 * second;

const poll = { minMs: 15 * second, maxMs: 5 * minute, hiddenMs: 15 * minute };
const maxAgeMs = 60 * minute;

interface Configuration {
  /** How many the table has, for the budget. */
  readonly rows: number;
  readonly limits: BudgetLimits;
  /** Between two changes of the remote, on average. */
  readonly gapMs: number;
}

/** Changes entities of the remote, and notes how long each change takes. */
class Changes {
  readonly #world: World;
  /** By entity, the time of each change. Later values are greater. */
  readonly #awaited = new Map<string, { readonly value: number; readonly at: number }[]>();
  longestMs = 0;
  count = 0;

  constructor(world: World) {
    this.#world = world;
  }

  change(name: string): void {
    this.count += 1;
    const value = this.count;
    this.#world.change(key(name), text(String(value)));
    const awaited = this.#awaited.get(name) ?? [];
    this.#awaited.set(name, [...awaited, { value, at: this.#world.scheduler.now }]);
  }

  look(): void {
    const { now } = this.#world.scheduler;
    for (const [name, awaited] of this.#awaited) {
      const local = Number(this.#world.local(key(name)));
      for (const { at, value } of awaited)
        if (value <= local) this.longestMs = Math.max(this.longestMs, now - at);
      this.#awaited.set(
        name,
        awaited.filter(({ value }) => value > local),
      );
    }
  }

  get areHere(): boolean {
    return [...this.#awaited.values()].every((awaited) => awaited.length === 0);
  }
}

/** Returns the estimate, and the longest time that a change has taken. */
async function run(t: TestContext, { gapMs, limits, rows }: Configuration) {
  const table = { direction: "both", beacon: undefined, maxAgeMs };
  const settings = { tables: new Map([["people", table]]), poll, ...limits };
  const sizes = new Map([["people", { rows, stretches: 1, isFollowed: false }]]);
  const { stalenessMs } = estimateOf(settings as unknown as Settings, sizes);
  const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const { below } = seededRandom(seed);
  const world = new World({ poll, maxAgeMs }, limits);
  world.rows = rows;
  const changes = new Changes(world);
  const change = (): void => {
    changes.change(String(below(keys)));
    const gap = -Math.log((1 + below(1_000_000)) / 1_000_001) * gapMs;
    if (changes.count < trials) world.scheduler.after(gap, change);
  };
  world.session.start();
  await world.pass(minute);
  world.scheduler.after(0, change);
  while (changes.count < trials || !changes.areHere) {
    await world.pass(tickMs);
    changes.look();
    assert(changes.longestMs <= stalenessMs + 2 * tickMs, `${changes.longestMs} > ${stalenessMs}`);
  }
  void world.session.stop();
  await world.pass(minute);
  const share = changes.longestMs / stalenessMs;
  t.diagnostic(`${trials} changes: at most ${changes.longestMs} of ${stalenessMs} ms`);
  return share;
}

const noLimit = { entitiesPerSecond: 2000, transactionsPerDay: Number.POSITIVE_INFINITY };

describe("a change of the remote is here within the time that estimate() says", () => {
  const configurations: Readonly<Record<string, Configuration>> = {
    "in a small table": { rows: 50, limits: noLimit, gapMs: 2 * minute },
    "in a table that changes often": { rows: 500, limits: noLimit, gapMs: 20 * second },
    "in a table that is large for its budget": {
      rows: 100_000,
      limits: { ...noLimit, entitiesPerSecond: 200 },
      gapMs: 2 * minute,
    },
    "if changes use up the requests of a day": {
      rows: 50,
      limits: { ...noLimit, transactionsPerDay: 2000 },
      gapMs: 2 * minute,
    },
  };
  for (const [name, configuration] of Object.entries(configurations))
    test(name, async (t) => {
      const share = await run(t, configuration);
      assert(share > 0.3, `the estimate is far too high: ${share}`);
    });
});
