// Tests the durability contract between tabs. support/stress.ts causes failures at random, and
// support/history-check.ts checks the result.

import assert from "node:assert/strict";
import { test } from "node:test";
import { forceCloseDatabase } from "fake-indexeddb";
import type { LogStorage } from "../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import { checkHistory, type Write } from "./support/history-check.ts";
import { IdbfsFixture, OpeningStorage } from "./support/idbfs-fixture.ts";
import type { Random } from "./support/random.ts";
import { Origin, Tab } from "./support/simulated-tabs.ts";
import { seed, simulate, simulatedTest } from "./support/simulated-test.ts";
import { Simulation, until } from "./support/simulation.ts";
import { row, runStress, type StressOptions } from "./support/stress.ts";
import { unfencedStorage } from "./support/unfenced-storage.ts";

const rounds = Number(process.env["ENTITABLE_ROUNDS"] ?? (process.env["ENTITABLE_ALL"] ? 100 : 8));

const inOrder = { isRandom: false };

interface Disk {
  storage?: StressOptions["storage"];
  end(): void;
}

// A disk in a simulated IndexedDB, whose connections also break.
function inIndexedDb(random: Random, faults: boolean): Disk {
  const fixture = new IdbfsFixture();
  const breaking = setInterval(() => {
    const database = fixture.databases[random.below(fixture.databases.length)];
    if (faults && database !== undefined) forceCloseDatabase(database as never);
  }, 20);
  return {
    storage: () => new OpeningStorage(fixture.open(() => performance.now())),
    end: () => clearInterval(breaking),
  };
}

const inMemory = (): Disk => ({ end() {} });

const disks = [
  ["in memory", inMemory],
  ["in IndexedDB", inIndexedDb],
] as const;

function runOn(begin: (typeof disks)[number][1], random: Random, faults: boolean) {
  const { storage, end } = begin(random, faults);
  return runStress({ random, faults, storage }).finally(end);
}

for (const [where, begin] of disks) {
  for (const faults of [false, true]) {
    test(`tabs failing at random, disk ${faults ? "fails" : "is slow"}, ${where}: writes stay correct`, async (t) => {
      const all = new Map<string, number>();
      const expected = faults
        ? ["done", "unanswered", "rejected", "unknown"]
        : ["done", "unanswered"];
      const unseen = () => expected.filter((outcome) => !all.has(outcome));
      // Each round is random, so rounds continue until every kind of event has occurred.
      let round = 0;
      for (; round < rounds || (unseen().length > 0 && round < 60); ++round) {
        const outcomes = await simulate(t, seed + round, async ({ random }) => {
          const { violations, outcomes } = await runOn(begin, random, faults);
          assert.deepEqual(violations, []);
          return outcomes;
        });
        for (const [outcome, count] of outcomes) all.set(outcome, (all.get(outcome) ?? 0) + count);
      }
      const counts = JSON.stringify(Object.fromEntries(all));
      t.diagnostic(`${round} rounds from ENTITABLE_SEED=${seed}: ${counts}`);
      assert.deepEqual(unseen(), []);
    });
  }
}

for (const [where, begin] of disks) {
  test(`the same seed gives the same run, and another seed another, ${where}`, async () => {
    const run = async (seedOfRun: number) => {
      const simulation = new Simulation(seedOfRun);
      const { outcomes } = await simulation.run(({ random }) => runOn(begin, random, true));
      return { trace: simulation.trace, outcomes };
    };
    const first = await run(seed);
    const second = await run(seed + 1);
    assert.deepEqual(await run(seed), first, `ENTITABLE_SEED=${seed}`);
    assert.deepEqual(await run(seed + 1), second, `ENTITABLE_SEED=${seed + 1}`);
    assert.notEqual(first.trace, second.trace);
  });
}

test("canary: without fencing, a run soon loses a write, and the same seed loses it again", async (t) => {
  const violationsOf = (seedOfRun: number) =>
    new Simulation(seedOfRun).run(async ({ random }) => {
      const options = { random, faults: false, storage: unfencedStorage };
      return (await runStress(options)).violations;
    });
  for (let round = 0; ; ++round) {
    assert(round < 300, `ENTITABLE_SEED=${seed}`); // about every tenth run finds it
    const violations = await violationsOf(seed + round);
    if (violations.length === 0) continue;
    t.diagnostic(`round ${round}: ${violations[0]}`);
    assert.deepEqual(await violationsOf(seed + round), violations);
    return;
  }
});

test("canary: the check finds lost, reordered and repeated deferred writes", () => {
  const write = (kind: Write["kind"], key: string, i: number): Write => ({
    kind,
    keys: [key],
    i,
    durability: "deferred",
    outcome: "done",
  });
  const inserts = ["a", "b", "c"].map((key, i) => write("insert", key, i));
  const puts = [1, 2].map((i) => write("put", "p", i));
  const violations = (
    writes: Write[],
    rows: [string, number][],
    isClosed = false,
    reportedLost = 0,
  ) => {
    const stored = new Map(rows.map(([key, n], i) => [key, { n, timestamp: `${9 - i}` }]));
    return checkHistory([{ name: "u", writes, isClosed, reportedLost }], stored, true);
  };
  assert.deepEqual(violations(inserts, []), []);
  assert.match(violations(inserts, [["b", 1]])[0] ?? "", /^not a prefix: b is stored, a before/);
  assert.match(violations(inserts, [["a", 0]], true)[0] ?? "", /^lost: b/);
  const reordered = violations(inserts, [
    ["a", 0],
    ["b", 1],
  ]);
  assert.match(reordered[0] ?? "", /^not in order: a .*, b/);
  const updated = [write("insert", "a", 0), write("update", "a", 0)];
  assert.deepEqual(violations(updated, [["a", 1000]], true), []);
  assert.deepEqual(violations(updated, [["a", 0]], true, 1), []);
  assert.match(violations(updated, [["a", 0]], true)[0] ?? "", /^lost: updates of a; 0 reported/);
  assert.deepEqual(violations(puts, [["p", 1]]), []);
  assert.match(violations(puts, [["p", 1]], true)[0] ?? "", /^put p: 1, allowed: 2/);
  const [a, c] = [write("insert", "a", 0), write("insert", "c", 9)];
  const rowA: [string, number] = ["a", 0];
  const rowC: [string, number] = ["c", 9];
  for (const [between, row] of [
    [puts, undefined],
    [puts, ["p", 1]],
    [
      [write("temporary insert", "t", 3), write("delete", "t", 4)],
      ["t", 3],
    ],
  ] as [Write[], [string, number] | undefined][]) {
    const rows = row === undefined ? [rowA] : [row, rowA];
    assert.deepEqual(violations([...between, a], rows.slice(0, -1)), []);
    const found = violations([...between, a], rows);
    assert.match(found.join(), /not a prefix: a is stored, (put|delete) \d of . before it is not/);
  }
  const inOrder = [a, write("put", "p", 1), write("put", "p", 2), c];
  const reordered2 = violations(inOrder, [rowA, ["p", 2], rowC]);
  assert.match(reordered2[0] ?? "", /^not in order: a .*, put 2 of p /);
  assert.deepEqual(violations(inOrder, [rowC, ["p", 2], rowA]), []);
});

// The owner freezes while it stores a write. Another tab takes over and stores a write. Then the
// first owner wakes. Resolves to what the check finds in the log.
async function staleOwner(storage: (files: Map<string, Uint8Array>) => LogStorage) {
  const origin = new Origin();
  origin.disk = () => storage(origin.files);
  const [a, b, c] = [new Tab(origin), new Tab(origin), new Tab(origin)];
  const first = new StoreHandle("shop", await a.open());
  await first.table("rows").createTable();
  const second = new StoreHandle("shop", await b.open());
  let isEnded = false;
  const end = () => {
    isEnded = true;
  };
  first.table("rows").createEntity(row("x", 1)).then(end, end);
  await Promise.resolve(); // the write is being stored
  a.freeze();
  await second.table("rows").createEntity(row("y", 2));
  b.kill();
  a.thaw();
  await until(() => isEnded);
  a.kill();
  const last = new StoreHandle("shop", await c.open());
  const stored = new Map<string, { n: number; timestamp: string }>();
  for await (const { rowKey, n, timestamp } of last.table("rows").listEntities())
    stored.set(rowKey as string, { n: n as number, timestamp: timestamp as string });
  const write: Write = {
    kind: "insert",
    keys: ["y"],
    i: 2,
    durability: "strict",
    outcome: "done",
  };
  const user = { name: "b", writes: [write], isClosed: false, reportedLost: 0 };
  return checkHistory([user], stored, false);
}

simulatedTest("a stale owner's write does not replace a stored one", async () => {
  assert.deepEqual(await staleOwner((files) => new MemoryStorage(files)), []);
});

simulatedTest("canary: without fencing it does, and the check finds this", inOrder, async () => {
  assert.match((await staleOwner(unfencedStorage))[0] ?? "", /^lost: y/);
});
