// One simulation: clients, other writers and accidents around one weak table, and then rest, in
// which all must become equal.

import type { Conflict, ConflictAnswer } from "../../web/src/sync/conflict.ts";
import { consistentReading } from "../../web/src/sync/consistent-reading.ts";
import type { KeyRange } from "../../web/src/sync/keys.ts";
import type { RowFilter } from "../../web/src/sync/partition-log.ts";
import { plainReading } from "../../web/src/sync/plain-reading.ts";
import { Client, type ClientRules, type World } from "./client.ts";
import { type Config, drawConfig } from "./config.ts";
import { type Counts, Ledger } from "./ledger.ts";
import { Network } from "./network.ts";
import { RemoteFeed } from "./remote-feed.ts";
import { Scheduler } from "./scheduler.ts";
import { WeakTable } from "./weak-table.ts";
import { int32, Workload } from "./workload.ts";

export interface SimulationResult extends Counts {
  readonly steps: number;
  readonly hash: number;
  readonly requests: number;
  readonly crashes: number;
  readonly misses: number;
}

const restMs = 9000; // at most, without faults, until all is equal or fewer operations wait
const sliceMs = 200;
const requestsPerSecondMax = 1000; // of one client: more is a livelock

export interface SimulationOptions {
  /** Gets each line of the trace. */
  readonly onTrace?: ((line: string) => void) | undefined;
  /** Makes each commit in the real engine, too. */
  readonly mirrorOf?: World["mirrorOf"];
  /** Config.durationMs. */
  readonly durationMs?: number | undefined;
}

/** Throws a Violation. */
export async function simulate(
  seed: number,
  { onTrace, mirrorOf, durationMs }: SimulationOptions = {},
): Promise<SimulationResult> {
  const scheduler = new Scheduler(seed);
  scheduler.onTrace = onTrace;
  const config = drawConfig(scheduler, seed, durationMs);
  scheduler.trace(JSON.stringify(config));
  const keeps: RowFilter = (_, properties) => config.filter === "none" || !properties.has("hidden");
  const table = new WeakTable(scheduler, { ...config, keeps });
  const network = new Network(scheduler, table, {
    ...config,
    latencyMs: 15,
    timeoutMs: 60,
    dateSkewMs: config.skewMs,
  });
  const ledger = new Ledger(scheduler, table, config);
  const feed = config.hasFeed ? new RemoteFeed(scheduler, table, network) : undefined;
  ledger.feed = feed;
  const world: World = { scheduler, table, network, ledger, feed, mirrorOf };
  const workload = new Workload(world, config, keeps);
  if (config.isFilled) workload.fillTable();
  const clients = Array.from(
    { length: config.clients },
    (_, index) => new Client(index, world, rulesOf(world, config, keeps)),
  );
  for (const client of clients) workload.startUser(client);
  for (const client of clients) workload.startConfirming(client);
  workload.startForeignWriter();
  workload.startAccidents();
  await scheduler.run(config.durationMs);
  network.hasFaults = false;
  network.hasPortal = false;
  for (const client of clients) {
    client.wallOffsetMs = 0;
    client.stopFailures();
  }
  // Requests from before may still arrive.
  await scheduler.run(config.durationMs + config.lateMs + config.visibleMs + sliceMs);
  let fewest = Number.POSITIVE_INFINITY; // how many operations waited
  let endMs = config.durationMs + restMs;
  while (differences(world, clients).length > 0 && scheduler.now < endMs) {
    const waiting = clients.reduce((sum, { store }) => sum + store.keys("outbox").length, 0);
    if (waiting < fewest) endMs = scheduler.now + restMs;
    fewest = Math.min(fewest, waiting);
    for (const client of clients) workload.decideParkedAtRest(client);
    await scheduler.run(scheduler.now + sliceMs);
  }
  await check(world, config, clients);
  return resultOf(world, clients);
}

const differences = ({ ledger }: World, clients: readonly Client[]): string[] =>
  clients.flatMap(({ id, store }) => ledger.differences(id, store));

async function check(world: World, config: Config, clients: readonly Client[]): Promise<void> {
  const { ledger, scheduler } = world;
  const [difference] = differences(world, clients);
  if (difference) ledger.fail("I12", difference);
  for (const client of clients) {
    client.store.compareWithEngine();
    ledger.checkOutcomes(client.id, client.store);
    const perSecond = (client.requests * 1000) / scheduler.now;
    if (perSecond > requestsPerSecondMax) {
      ledger.fail("I14", `${client.id} sent ${client.requests} requests`);
    }
    const isSafe = !config.breaksBounds && !config.narrowsScope;
    if (isSafe && client.status.missesRepaired > 0) {
      ledger.fail("I10", `${client.id} missed ${client.status.missesRepaired} changes`);
    }
  }
  await scheduler.run(scheduler.now + 1); // throws the failure
}

function resultOf({ ledger, scheduler }: World, clients: readonly Client[]): SimulationResult {
  const sum = (of: (client: Client) => number) => clients.reduce((all, one) => all + of(one), 0);
  return {
    ...ledger.counts,
    steps: scheduler.steps,
    hash: scheduler.hash,
    requests: sum(({ requests }) => requests),
    crashes: sum(({ crashes }) => crashes),
    misses: sum(({ status }) => status.missesRepaired),
  };
}

function rulesOf(world: World, config: Config, keeps: RowFilter): ClientRules {
  return {
    ...config,
    keeps,
    policy: config.policy === "resolve" ? resolver(world) : config.policy,
    limits: { operations: config.operationsMax, bytes: 1 << 22 },
    sendsFilter: config.filter === "sent",
    retry: { firstMs: 5, mostMs: 40 },
    deleteLimits: { few: config.fewDeletes, share: 0.3 },
    ranges: [],
    drawRanges: () => rangesOf(config.ranges || 1 + world.scheduler.below(3)),
    pushesAtOnce: config.pushesAtOnce,
    consistent: readingOf(config),
    traits: {
      hasTimestampFilter: config.profile !== "cosmos",
      isSorted: config.profile !== "cosmos",
      staleReadMs: config.staleReadMs,
    },
  };
}

function readingOf({ consistent }: Config): ClientRules["consistent"] {
  if (consistent === "no") return undefined;
  return consistentReading(plainReading, { rows: consistent === "small" ? 2 : 1000, bytes: 1 });
}

const rangesOf = (count: number): KeyRange[] => {
  const bounds = ["", "p\u00003", "q\u00002"].slice(0, count);
  return bounds.map((from, index) => ({ from, to: bounds[index + 1] }));
};

/** An application that decides after a while, at random, but never tears the rows 0 and 1. */
function resolver({ scheduler }: World): (conflict: Conflict) => Promise<ConflictAnswer> {
  const answers = ["remote", "local", "park"] as const;
  return async ({ key, local, remote }) => {
    const pick = scheduler.below(10);
    await new Promise<void>((resolve) => scheduler.after(scheduler.fraction(20), resolve));
    if (/[01]$/.test(key)) return { kind: "local" };
    if (pick === 9) throw new Error("The application fails.");
    if (pick === 8) return { kind: "store", properties: undefined };
    if (pick >= 6) {
      const merged = new Map([...(remote?.properties ?? []), ...(local ?? []), ["b", int32(-1)]]);
      merged.delete("poison");
      return { kind: "store", properties: merged };
    }
    return { kind: answers[pick % 3] ?? "remote" };
  };
}
