// Tests the checkpointer by calling its functions at random times. Only one checkpoint runs at a
// time. A caller that awaits a checkpoint must not depend on a timer, because hidden pages delay
// timers.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Checkpointer, type CheckpointerOptions } from "../../web/src/host/checkpointer.ts";
import { SpaceReserve } from "../../web/src/host/space-reserve.ts";
import { StorageError } from "../../web/src/storage/log-storage.ts";
import { PartsNeeded } from "../../web/src/wasm/engine.ts";
import { type Random, seededRandom } from "./support/random.ts";

// A fake engine that throws if its functions are called in a wrong order.
class Engine {
  readonly #random: Random;
  open = false;
  #parts = 0;
  #nextId = 1;

  constructor(random: Random) {
    this.#random = random;
  }

  #begin(): boolean {
    assert(!this.open, "two at a time");
    if (this.#random.below(10) === 0) return false;
    this.#parts = this.#random.below(20);
    this.open = true;
    return true;
  }

  get options(): CheckpointerOptions["engine"] {
    const requireOpen = () => assert(this.open, "none is open");
    const end = () => {
      this.open = false;
    };
    const stats = {
      segmentsSinceCheckpoint: this.#random.below(300),
      segmentBytesSinceCheckpoint: 0,
      bytes: 0,
      memoryBytes: 0,
    };
    return {
      isDamaged: false,
      stats: () => stats as ReturnType<CheckpointerOptions["engine"]["stats"]>,
      estimateCheckpointBytes: () => this.#random.below(1024 * 1024),
      beginCheckpoint: () => this.#begin(),
      beginReplace: () => this.#begin(),
      nextCheckpointPart: () => {
        requireOpen();
        if (--this.#parts < 0) return undefined;
        if (this.#random.below(5) === 0) return new PartsNeeded([1]);
        return { id: this.#nextId++, bytes: new Uint8Array(1) };
      },
      markCheckpointPartStored: requireOpen,
      interimCheckpoint: () => undefined,
      markInterimCheckpointCommitted: requireOpen,
      finishCheckpoint: () => {
        requireOpen();
        return { manifest: new Uint8Array(1), segmentsBelow: 1, obsoleteParts: [] };
      },
      markCheckpointCommitted: () => {
        requireOpen();
        end();
      },
      abandonCheckpoint: () => {
        end();
        return [this.#nextId - 1];
      },
    };
  }
}

async function live(t: TestContext, random: Random): Promise<void> {
  const engine = new Engine(random);
  const call = async () => {
    for (let turns = random.below(4); turns > 0; --turns) await turn();
    if (random.below(30) === 0) throw new StorageError("quota", "injected");
  };
  const checkpointer = new Checkpointer({
    engine: engine.options,
    storage: { putPart: call, commitManifest: call, deleteParts: call },
    space: noReserve(),
    clock: Date,
    parts: {
      async loadForCheckpoint<T>(_needed: PartsNeeded, next: () => T | PartsNeeded): Promise<T> {
        for (;;) {
          await call();
          const result = next();
          if (!(result instanceof PartsNeeded)) return result;
        }
      },
      waitForLoads: call,
      pauseWhile: (work) => call().then(work),
      trim() {},
    },
    memory: { isFull: random.below(4) === 0, update() {}, allowWrites() {} },
    orphans: [99],
    automatic: true,
    onFailure() {},
    onCheckpoint() {},
  });
  checkpointer.allowCheckpoints();
  const pendingCalls: Promise<unknown>[] = [];
  const ask = (answer: Promise<void>) => pendingCalls.push(answer.catch((error: unknown) => error));
  for (let step = 0; step < 200; ++step) {
    const what = random.below(100);
    if (what < 40)
      for (let n = random.below(80); n > 0; --n)
        checkpointer.onSegmentsStored({ segments: 1, bytes: 1000 });
    else if (what < 60) t.mock.timers.tick(random.below(300));
    else if (what < 61) ask(checkpointer.compact());
    else if (what < 62) ask(checkpointer.replaceAllData(undefined));
    else if (what < 64) checkpointer.startForMemory();
    else for (let turns = random.below(5); turns > 0; --turns) await turn();
  }
  let over = false;
  const ending = (random.below(2) === 0 ? checkpointer.checkpointOnClose() : Promise.resolve())
    .then(() => checkpointer.stop())
    .then(() => Promise.all(pendingCalls))
    .then(() => {
      over = true;
    });
  for (let turns = 0; turns < 3000 && !over; ++turns) await turn();
  assert(over, "it hangs");
  await ending;
  assert(!engine.open, "one is left open");
}

test("checkpoints run one at a time, and end promptly if a caller waits", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const random = seededRandom(seed);
  const rounds = process.env["ENTITABLE_ALL"] ? 1000 : 100;
  for (let round = 0; round < rounds; ++round) await live(t, random);
});

function noReserve(): SpaceReserve {
  return new SpaceReserve({ reserve: undefined, size: () => ({ rows: 0, log: 0 }) });
}

// A checkpointer without changes to write. `replaced` replaces some of its options.
function idleCheckpointer(replaced: Partial<CheckpointerOptions>): Checkpointer {
  return new Checkpointer({
    space: noReserve(),
    clock: Date,
    engine: {
      ...new Engine(seededRandom(1)).options,
      beginCheckpoint: () => false,
      beginReplace: () => true,
      nextCheckpointPart: () => undefined,
      finishCheckpoint: () => ({
        manifest: new Uint8Array(1),
        segmentsBelow: 1,
        obsoleteParts: [],
      }),
      abandonCheckpoint: () => [1, 2],
    },
    storage: {
      putPart: async () => {},
      commitManifest: async () => {},
      deleteParts: async () => {},
    },
    parts: {
      loadForCheckpoint: () => assert.fail("no part is needed"),
      waitForLoads: async () => {},
      pauseWhile: (work) => work(),
      trim() {},
    },
    memory: { isFull: false, update() {}, allowWrites() {} },
    orphans: [],
    automatic: true,
    onFailure() {},
    onCheckpoint() {},
    ...replaced,
  });
}

test("parts are kept if the manifest that names them may be stored", async () => {
  const deleted: number[] = [];
  let commits = 0;
  const checkpointer = idleCheckpointer({
    storage: {
      putPart: async () => {},
      commitManifest: async () => {
        commits += 1;
        throw new StorageError("unknown", "injected");
      },
      deleteParts: async (ids) => void deleted.push(...ids),
    },
  });
  checkpointer.allowCheckpoints();
  await turn();
  const replacing = assert.rejects(checkpointer.replaceAllData(undefined), { failure: "unknown" });
  while (commits === 0) await turn();
  await checkpointer.stop();
  await replacing;
  assert.deepEqual(deleted, []);
});

// A checkpoint of four parts of 300 kB, with an interim manifest after every second part. Resolves
// to the calls of the storage.
async function checkpointOfFourParts(isFull: boolean): Promise<string[]> {
  const calls: string[] = [];
  const part = (id: number) => ({ id, bytes: new Uint8Array(300 * 1024) });
  const parts = [1, 2, 3, 4].map(part);
  const checkpointer = idleCheckpointer({
    space: { isFull, storeForCheckpoint: (store) => store() },
    engine: {
      ...new Engine(seededRandom(1)).options,
      beginCheckpoint: () => true,
      nextCheckpointPart: () => parts.shift(),
      markCheckpointPartStored() {},
      interimCheckpoint: () => ({
        manifest: Uint8Array.of(0),
        extraPart: part(10 + parts.length),
        obsoleteParts: [20 + parts.length],
      }),
      markInterimCheckpointCommitted: () => void calls.push("mark"),
      finishCheckpoint: () => ({
        manifest: Uint8Array.of(1),
        segmentsBelow: 9,
        obsoleteParts: [30],
      }),
      markCheckpointCommitted() {},
    },
    storage: {
      putPart: async (id) => void calls.push(`part ${id}`),
      commitManifest: async ([kind], { segmentsBelow, obsoleteParts, flushesSegments }) => {
        const flush = flushesSegments ? "flush, " : "";
        calls.push(`${flush}manifest ${kind} -${obsoleteParts} <${segmentsBelow}`);
      },
      deleteParts: async () => {},
    },
  });
  checkpointer.allowCheckpoints();
  await checkpointer.compact();
  return calls;
}

test("a full storage gets interim manifests between the parts", async () => {
  assert.deepEqual(await checkpointOfFourParts(true), [
    ...["part 1", "part 2", "part 12", "flush, manifest 0 -22 <0", "mark"],
    ...["part 3", "part 4", "part 10", "flush, manifest 0 -20 <0", "mark"],
    "manifest 1 -30 <9",
  ]);
});

test("a storage that is not full gets one manifest", async () => {
  const parts = ["part 1", "part 2", "part 3", "part 4"];
  assert.deepEqual(await checkpointOfFourParts(false), [...parts, "manifest 1 -30 <9"]);
});

test("memory is measured after other work during which it was full", async () => {
  let measured = 0;
  let endDeleting = () => {};
  const checkpointer = idleCheckpointer({
    orphans: [99],
    storage: {
      putPart: async () => {},
      commitManifest: async () => {},
      deleteParts: () =>
        new Promise((resolve) => {
          endDeleting = resolve;
        }),
    },
    memory: {
      isFull: true,
      update() {
        measured += 1;
      },
      allowWrites() {},
    },
  });
  assert.equal(checkpointer.startForMemory(), false, "before the log is owned");
  checkpointer.allowCheckpoints();
  await turn();
  assert.equal(checkpointer.startForMemory(), true);
  endDeleting();
  for (let turns = 0; turns < 100 && measured === 0; ++turns) await turn();
  assert.ok(measured > 0);
  await checkpointer.stop();
});
