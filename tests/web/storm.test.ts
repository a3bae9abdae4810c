// The durability contract between tabs: support/storm.ts makes trouble, support/verdict.ts judges.

import assert from "node:assert/strict";
import { test } from "node:test";
import { forceCloseDatabase } from "fake-indexeddb";
import { IdbfsPlace, OpeningStorage } from "./support/idbfs-place.ts";
import { type Random, randomOf } from "./support/random.ts";
import { type StormOptions, storm } from "./support/storm.ts";
import { unfenced } from "./support/unfenced.ts";

const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);
const rounds = Number(process.env["ENTITABLE_ROUNDS"] ?? (process.env["ENTITABLE_ALL"] ? 30 : 4));

interface Disk {
  storage?: StormOptions["storage"];
  end(): void;
}

// Connections break too.
function inIndexedDb(random: Random, faults: boolean): Disk {
  const place = new IdbfsPlace();
  const breaking = setInterval(() => {
    const database = place.databases[random.below(place.databases.length)];
    if (faults && database !== undefined) forceCloseDatabase(database as never);
  }, 20);
  return {
    storage: () => new OpeningStorage(place.open(() => performance.now())),
    end: () => clearInterval(breaking),
  };
}

const inMemory = (): Disk => ({ end() {} });

for (const [where, begin] of [
  ["in memory", inMemory],
  ["in IndexedDB", inIndexedDb],
] as const) {
  for (const faults of [false, true]) {
    test(`tabs that die, freeze and sleep at random on a disk that ${faults ? "fails" : "is slow"}, ${where}: nothing is lost, halved, done twice or out of order`, async (t) => {
      t.diagnostic(`ENTITABLE_SEED=${seed}`);
      const random = randomOf(seed);
      const all = new Map<string, number>();
      const expected = faults
        ? ["done", "unanswered", "refused", "unknown"]
        : ["done", "unanswered"];
      const unseen = () => expected.filter((outcome) => !all.has(outcome));
      // Chance decides what happens in a round, so there are as many as it takes to see everything.
      for (let round = 0; round < rounds || (unseen().length > 0 && round < 60); ++round) {
        const { storage, end } = begin(random, faults);
        const { wrong, told } = await storm({ random, faults, storage }).finally(end);
        assert.deepEqual(wrong, [], `round ${round}`);
        for (const [outcome, count] of told) all.set(outcome, (all.get(outcome) ?? 0) + count);
      }
      t.diagnostic(JSON.stringify(Object.fromEntries(all)));
      assert.deepEqual(unseen(), []);
    });
  }
}

test("a canary: without fencing the same storms lose writes, and that is noticed", async (t) => {
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const random = randomOf(seed);
  for (let round = 1; round <= 30; ++round) {
    const { wrong } = await storm({ random, faults: false, storage: unfenced, patienceMs: 3000 });
    if (wrong.length === 0) continue;
    t.diagnostic(`in round ${round}: ${wrong[0]}`);
    return;
  }
  assert.fail("not noticed in 30 rounds");
});
