// Tests that a stale owner of a folder harms nothing, wherever it was stopped. The lock of the
// folder does not see owners in other containers, so it is not used here.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { makeFolder } from "../../web/src/storage/log-folder.ts";
import { NodeFilesStorage } from "../../web/src/storage/node-files.ts";
import { eachStep } from "./support/each-step.ts";
import { type FileSystem, intercepted } from "./support/intercepted-fs.ts";
import { SmallLog } from "./support/small-log.ts";

let root: string;
let folders = 0;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "entitable-"));
});
after(() => rm(root, { recursive: true }));

async function newFolder(): Promise<string> {
  const folder = join(root, String(++folders));
  await makeFolder(folder, unflushed);
  return folder;
}

// A file system that calls `before` with a call's name before each of its calls.
function observed(before: (call: string) => Promise<void>): FileSystem {
  return intercepted(async (call, proceed) => {
    await before(call);
    return proceed();
  });
}

const unflushed = observed(async () => {});

async function openLog(folder: string, name: string, system = unflushed): Promise<SmallLog> {
  const log = new SmallLog(await NodeFilesStorage.open(folder, system), name);
  await log.load();
  return log;
}

// Stops an owner before its call number `stopAt`, from start() on.
class Stopper {
  readonly #stopAt: number;
  #calls = 0;
  #started = false;
  #resume: () => void = () => {};
  readonly #resumed: Promise<void>;
  #onStopped: (call: string) => void = () => {};
  readonly stopped: Promise<string>; // the name of the call before which the owner was stopped

  constructor(stopAt: number) {
    this.#stopAt = stopAt;
    this.#resumed = new Promise((resolve) => {
      this.#resume = resolve;
    });
    this.stopped = new Promise((resolve) => {
      this.#onStopped = resolve;
    });
  }

  readonly system = observed(async (call) => {
    if (!this.#started) return;
    this.#calls += 1;
    if (this.#calls < this.#stopAt) return;
    this.#onStopped(call);
    await this.#resumed;
  });

  start(): void {
    this.#started = true;
  }

  resume(): void {
    this.#resume();
  }
}

// What the owner does while it may be stopped. Ends at the first error, with which it resolves.
async function workOf(owner: SmallLog): Promise<unknown> {
  try {
    await owner.write("strict");
    await owner.write("relaxed", "relaxed");
    await owner.storage.deleteParts([await owner.putOrphan()]);
    await owner.checkpoint(3);
    await owner.write("relaxed after the checkpoint", "relaxed");
    await owner.write("strict after the checkpoint");
    await owner.checkpoint();
    return undefined;
  } catch (error) {
    return error;
  }
}

const fenced = { failure: "fenced", code: "StoreLocked" };

// Returns false if the owner makes fewer calls than `stopAt`. `checkpoints`: how many the successor
// writes.
async function runStopped(stopAt: number, checkpoints: number): Promise<boolean> {
  const folder = await newFolder();
  const stopper = new Stopper(stopAt);
  const stale = await openLog(folder, "stale", stopper.system);
  await stale.claim();
  await stale.write("before");
  await stale.checkpoint();
  stopper.start();
  const working = workOf(stale);
  const call = await Promise.race([stopper.stopped, working.then(() => undefined)]);
  if (call === undefined) return false;
  const at = `stopped before call ${stopAt}, ${call}, with ${checkpoints} checkpoints`;

  const successor = await openLog(folder, "successor");
  await successor.claim();
  if (checkpoints > 0) await successor.storage.deleteParts(successor.orphans);
  for (let n = 0; n < 6; ++n) {
    await successor.write(`successor ${n}`);
    if (n % 2 === 1 && n / 2 < checkpoints) await successor.checkpoint();
  }
  stopper.resume();
  const error = await working;
  if (error !== undefined) assert.equal((error as { failure?: string }).failure, "fenced", at);
  await assert.rejects(stale.write("late"), fenced, at);
  await assert.rejects(stale.checkpoint(), fenced, at);
  await assert.rejects(stale.storage.deleteParts([1]), fenced, at);
  await stale.storage.close();

  const lost = stale.rows.filter((row) => !successor.rows.includes(row));
  assert.deepEqual(lost, [], `${at}: acknowledged to the stale owner`);
  const reader = await openLog(folder, "reader").catch((cause: Error) => {
    throw new Error(`${at}: ${cause.message}`, { cause });
  });
  assert.deepEqual(reader.rows, successor.rows, at);
  await successor.write("after the stale owner");
  await successor.checkpoint();
  await successor.write("last");
  await successor.storage.close();
  const last = await openLog(folder, "last");
  assert.deepEqual(last.rows, successor.rows, at);
  await last.claim();
  await last.storage.deleteParts(last.orphans);
  await last.checkpoint();
  await last.storage.close();
  await rm(folder, { recursive: true });
  return true;
}

describe("an owner that is stopped before any system call, and continues after its successor", () => {
  for (const checkpoints of [0, 1, 3]) {
    test(`harms nothing that the successor wrote, with ${checkpoints} checkpoints`, async (t) => {
      const calls = await eachStep(t, (call) => runStopped(call, checkpoints));
      assert(calls > 50, `${calls} calls`);
    });
  }
});

test("a checkpoint that was stopped before its manifest removes none of 100 strict writes", async () => {
  const folder = await newFolder();
  let files = Number.POSITIVE_INFINITY; // until the owner is stopped
  const [stopped, onStopped] = later();
  const [resumed, resume] = later();
  const system = observed(async (call) => {
    if (!call.startsWith("open tmp")) return;
    files -= 1;
    if (files > 0) return;
    onStopped();
    await resumed;
  });
  const stale = await openLog(folder, "stale", system);
  await stale.claim();
  await stale.write("before");
  await stale.checkpoint();
  await stale.write("second");
  files = 3; // two parts and the manifest: the checks are over
  const checkpoint = stale.checkpoint().catch((error: unknown) => error);
  await stopped;
  const successor = await openLog(folder, "successor");
  await successor.claim();
  for (let n = 0; n < 100; ++n) await successor.write(`successor ${n}`);
  await successor.checkpoint();
  resume();
  const error = await checkpoint;
  const reader = await openLog(folder, "reader");
  assert.equal(reader.rows.length, 102);
  assert.deepEqual(reader.rows, successor.rows);
  assert.equal((error as { failure?: string }).failure, "fenced");
  await assert.rejects(stale.write("late"), fenced);
});

test("an owner is not disturbed by a program that only loads the log", async () => {
  const folder = await newFolder();
  let loading = false;
  const owner = await openLog(
    folder,
    "owner",
    observed(async (call) => {
      if (loading || !call.startsWith("link")) return;
      loading = true;
      await openLog(folder, "reader");
    }),
  );
  await owner.claim();
  await owner.write("relaxed", "relaxed");
  loading = false;
  await owner.write("strict");
  loading = false;
  await owner.checkpoint();
  assert.deepEqual((await openLog(folder, "reader")).rows, ["relaxed", "strict"]);
});

describe("a checkpoint of another owner while a log is loaded", () => {
  // Loads a log. Before the call that matches `when`, the owner writes a checkpoint, at most
  // `times` times.
  async function loadBeside(when: RegExp, times: number): Promise<SmallLog> {
    const folder = await newFolder();
    const owner = await openLog(folder, "owner");
    await owner.claim();
    await owner.write("first");
    await owner.checkpoint();
    await owner.write("second");
    let checkpoints = 0;
    const system = observed(async (call) => {
      if (!when.test(call) || checkpoints >= times) return;
      checkpoints += 1;
      await owner.checkpoint();
      await owner.write(`third ${checkpoints}`);
    });
    const log = await openLog(folder, "reader", system);
    assert.equal(checkpoints, times);
    assert.deepEqual(log.rows, owner.rows);
    return log;
  }

  for (const when of [/^stat manifest/, /^readFile manifest/, /^readFile wal/]) {
    test(`is no damage, before ${when.source}`, async () => {
      const log = await loadBeside(when, 1);
      await log.claim();
      await log.write("fourth");
    });
  }

  test("is no damage if it is repeated, and the load ends if it never stops", async () => {
    await loadBeside(/^readFile wal/, 5);
    await assert.rejects(loadBeside(/^readFile wal/, 1000), fenced);
  });

  test("fences a reader of parts, and a reader of everything", async () => {
    const folder = await newFolder();
    const stale = await openLog(folder, "stale");
    await stale.claim();
    await stale.checkpoint();
    await stale.write("second");
    const successor = await openLog(folder, "successor");
    let checkpoints = 0;
    const system = observed(async (call) => {
      if (!call.startsWith("readFile wal") || checkpoints > 0) return;
      checkpoints += 1;
      await successor.claim();
      await successor.checkpoint();
    });
    const storage = await NodeFilesStorage.open(folder, system);
    const onPart = () => assert.fail("a part was reported");
    const reader = {
      onManifest: () => ({ parts: [], firstSegment: 2 }),
      onPart,
      onSegment: () => assert.fail("a segment was reported"),
    };
    await assert.rejects(storage.readWhileInUse(reader), fenced);
    await assert.rejects(stale.storage.readParts([1], onPart), fenced);
  });
});

test("writing 200 parts reads no manifest, and lists the folder as often as writing one", async () => {
  const readsOf = async (parts: number) => {
    const folder = await newFolder();
    let [reads, listings] = [0, 0];
    const system = observed(async (call) => {
      if (call.startsWith("readFile manifest")) reads += 1;
      if (call.startsWith("readdir")) listings += 1;
    });
    const log = await openLog(folder, "owner", system);
    await log.claim();
    await log.write("first");
    await log.checkpoint();
    [reads, listings] = [0, 0];
    await log.checkpoint(parts);
    return [reads, listings];
  };
  const [reads, listings] = await readsOf(200);
  assert.equal(reads, 0);
  assert.deepEqual([reads, listings], await readsOf(1));
});

function later(): [Promise<void>, () => void] {
  let resolve = () => {};
  const promise = new Promise<void>((r) => {
    resolve = r;
  });
  return [promise, resolve];
}
