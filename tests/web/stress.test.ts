// Tests the durability contract between tabs. support/stress.ts causes failures at random, and
// support/history-check.ts checks the result.

import assert from "node:assert/strict";
import { test } from "node:test";
import { forceCloseDatabase } from "fake-indexeddb";
import { IdbfsFixture, OpeningStorage } from "./support/idbfs-fixture.ts";
import { type Random, seededRandom } from "./support/random.ts";
import { runStress, type StressOptions } from "./support/stress.ts";
import { unfencedStorage } from "./support/unfenced-storage.ts";

const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);
const rounds = Number(process.env["ENTITABLE_ROUNDS"] ?? (process.env["ENTITABLE_ALL"] ? 30 : 4));

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

for (const [where, begin] of [
  ["in memory", inMemory],
  ["in IndexedDB", inIndexedDb],
] as const) {
  for (const faults of [false, true]) {
    test(`tabs failing at random, disk ${faults ? "fails" : "is slow"}, ${where}: writes stay correct`, async (t) => {
      t.diagnostic(`ENTITABLE_SEED=${seed}`);
      const random = seededRandom(seed);
      const all = new Map<string, number>();
      const expected = faults
        ? ["done", "unanswered", "rejected", "unknown"]
        : ["done", "unanswered"];
      const unseen = () => expected.filter((outcome) => !all.has(outcome));
      // Each round is random, so rounds continue until every kind of event has occurred.
      for (let round = 0; round < rounds || (unseen().length > 0 && round < 60); ++round) {
        const { storage, end } = begin(random, faults);
        const { violations, outcomes } = await runStress({ random, faults, storage }).finally(end);
        assert.deepEqual(violations, [], `round ${round}`);
        for (const [outcome, count] of outcomes) all.set(outcome, (all.get(outcome) ?? 0) + count);
      }
      t.diagnostic(JSON.stringify(Object.fromEntries(all)));
      assert.deepEqual(unseen(), []);
    });
  }
}

test("canary: without fencing the same runs lose writes, and the check finds this", async (t) => {
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const random = seededRandom(seed);
  for (let round = 1; round <= 30; ++round) {
    const { violations } = await runStress({
      random,
      faults: false,
      storage: unfencedStorage,
      hangTimeoutMs: 3000,
    });
    if (violations.length === 0) continue;
    t.diagnostic(`in round ${round}: ${violations[0]}`);
    return;
  }
  assert.fail("not noticed in 30 rounds");
});
