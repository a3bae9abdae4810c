// Tests the log in a folder when system calls fail, and when the process ends between two of them:
// what was acknowledged is there when the folder is opened again, and an owner that repeats its
// calls is never fenced by its own files.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { makeFolder } from "../../web/src/storage/log-folder.ts";
import { StorageError } from "../../web/src/storage/log-storage.ts";
import { NodeFilesStorage } from "../../web/src/storage/node-files.ts";
import { eachStep } from "./support/each-step.ts";
import { intercepted } from "./support/intercepted-fs.ts";
import { SmallLog } from "./support/small-log.ts";

let root: string;
let folders = 0;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "entitable-"));
});
after(() => rm(root, { recursive: true }));

const working = intercepted((_, proceed) => proceed());

// A folder whose owner's system calls fail as `shouldFail` says, once they are counted.
class FaultyFolder {
  readonly folder = join(root, String(++folders));
  readonly #how: "before" | "after";
  readonly #shouldFail: (call: number) => boolean;
  #calls = 0;
  failed: string | undefined; // the first call that failed
  counting = false;

  // `how`: whether a failing call fails before or after it has done its work.
  constructor(how: "before" | "after", shouldFail: (call: number) => boolean) {
    this.#how = how;
    this.#shouldFail = shouldFail;
  }

  readonly #system = intercepted(async (call, proceed) => {
    if (!this.counting || !this.#shouldFail(++this.#calls)) return proceed();
    this.failed ??= call;
    // A handle is closed in any case, so that none is left open.
    if (this.#how === "after" || call.startsWith("close")) await proceed();
    throw Object.assign(new Error("EIO"), { code: "EIO" });
  });

  async openOwner(): Promise<SmallLog> {
    await makeFolder(this.folder, working);
    const log = new SmallLog(await NodeFilesStorage.open(this.folder, this.#system), "owner");
    await log.load();
    return log;
  }

  async reopen(name: string): Promise<SmallLog> {
    const log = new SmallLog(await NodeFilesStorage.open(this.folder, working), name);
    await log.load();
    return log;
  }
}

// Makes a call; goes on without it if nothing was stored. A claim is repeated.
async function tolerating(call: () => Promise<void>, isClaim = false): Promise<void> {
  for (let attempts = 1; ; ++attempts) {
    try {
      return await call();
    } catch (error) {
      const failure = error instanceof StorageError ? error.failure : "";
      if (failure === "aborted" && !isClaim) return;
      if (attempts === 2 || !["aborted", "unknown"].includes(failure)) throw error;
    }
  }
}

// What the owner does while calls fail.
async function work(owner: SmallLog, run: typeof tolerating) {
  await run(() => owner.claim(), true);
  await run(() => owner.write("strict"));
  await run(() => owner.write("relaxed", "relaxed"));
  await run(() => owner.checkpoint(2));
  await run(() => owner.write("relaxed after a checkpoint", "relaxed"));
  await run(() => owner.write("also relaxed", "relaxed"));
  await run(() => owner.write("strict after a checkpoint"));
  await run(() => owner.checkpoint(1));
  await run(() => owner.write("last", "relaxed"));
}

const allRows = [
  "earlier",
  "strict",
  "relaxed",
  "relaxed after a checkpoint",
  "also relaxed",
  "strict after a checkpoint",
  "last",
];

// The folder has a manifest and a segment of an earlier owner, if `isNew` is false.
async function openPrepared(files: FaultyFolder, isNew: boolean): Promise<SmallLog> {
  await makeFolder(files.folder, working);
  const earlier = await files.reopen("earlier");
  await earlier.claim();
  if (!isNew) await earlier.checkpoint();
  await earlier.write("earlier");
  await earlier.storage.close();
  const owner = await files.openOwner();
  files.counting = true;
  return owner;
}

// Returns false if the owner makes fewer than `n` calls.
async function runWithFailure(n: number, how: "before" | "after", isNew: boolean) {
  const files = new FaultyFolder(how, (call) => call === n);
  const owner = await openPrepared(files, isNew);
  const error = await work(owner, tolerating).catch((thrown: unknown) => thrown);
  const at = `call ${n}, ${files.failed}, failed ${how} its work`;
  if (error !== undefined) {
    // The outcome of a claim may be unknown; its repetition may then be fenced by the first call.
    const { failure } = error as StorageError;
    assert.equal(failure, "fenced", `${at}: ${error}`);
    assert.deepEqual(owner.rows, ["earlier"], `${at}: fenced by its own files`);
  }
  await owner.storage.close();
  const next = await files.reopen("next").catch((cause: Error) => {
    throw new Error(`${at}: ${cause.message}`, { cause });
  });
  assert.deepEqual(next.rows, owner.rows, at);
  assert(error !== undefined || next.rows.length >= allRows.length - 1, at);
  await next.claim();
  await next.write("next");
  await next.storage.close();
  await rm(files.folder, { recursive: true });
  return files.failed !== undefined;
}

// Returns false if the owner makes fewer than `n` calls.
async function runKilled(n: number, isNew: boolean): Promise<boolean> {
  const files = new FaultyFolder("before", (call) => call >= n);
  const owner = await openPrepared(files, isNew);
  await work(owner, (call) => call()).catch(() => {});
  if (files.failed === undefined) return false;
  const at = `killed before call ${n}, ${files.failed}`;
  const next = await files.reopen("next").catch((cause: Error) => {
    throw new Error(`${at}: ${cause.message}`, { cause });
  });
  // The write that was under way may be stored.
  const stored = next.rows.length;
  assert(stored >= owner.rows.length && stored <= owner.rows.length + 1, `${at}: ${next.rows}`);
  assert.deepEqual(next.rows, allRows.slice(0, stored), at);
  await next.claim();
  await next.storage.deleteParts(next.orphans);
  await next.write("next");
  await next.checkpoint();
  await next.storage.close();
  assert.deepEqual((await files.reopen("last")).rows, [...allRows.slice(0, stored), "next"], at);
  await rm(files.folder, { recursive: true });
  return true;
}

for (const isNew of [true, false]) {
  describe(`a folder ${isNew ? "without" : "with"} a manifest, at every system call`, () => {
    for (const how of ["before", "after"] as const) {
      test(`a failure ${how} its work loses nothing, and does not fence the owner`, async (t) => {
        const calls = await eachStep(t, (call) => runWithFailure(call, how, isNew));
        assert(calls > 100, `${calls} calls`);
      });
    }

    test("the end of the process loses nothing that was acknowledged", async (t) => {
      const calls = await eachStep(t, (call) => runKilled(call, isNew));
      assert(calls > 100, `${calls} calls`);
    });
  });
}
