// Tests real Chromium on a disk that is really full: the profile is on a small file system of its
// own, which the test fills. Skipped without the permission to mount a file system;
// tests/web/storage.test.ts injects the same faults.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync, statfsSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { newProfile } from "./support/browser.ts";
import { staging } from "./support/package-site.ts";
import { serve } from "./support/server.ts";

type Package = typeof import("../../web/src/index.ts");
declare function entitable(): Promise<Package>; // a function of the page

const disk = mkdtempSync(join(tmpdir(), "entitable-disk-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=256m", "tmpfs", disk]).status === 0;
const ballast = join(disk, "ballast");

after(() => {
  if (mounted) spawnSync("umount", ["-l", disk]);
  rmSync(disk, { recursive: true, force: true });
});

// Fills the disk until about this many bytes are free.
function fill(roomBytes: number): void {
  const { bavail, bsize } = statfsSync(disk);
  const bytes = bavail * bsize - roomBytes;
  try {
    if (bytes > 0) appendFileSync(ballast, new Uint8Array(bytes));
  } catch (error) {
    // the browser has filled the disk already
    assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
  }
}

// Frees the disk in small steps. After each, Chromium has some space, but too little for a new log.
async function freeGradually(): Promise<void> {
  const { size } = statSync(ballast);
  for (let step = 1; step <= 40; ++step) {
    truncateSync(ballast, size - step * 8192);
    await sleep(50);
  }
  rmSync(ballast);
}

test("a full disk rejects writes, loses nothing, and writes succeed again when there is space", {
  skip: mounted ? false : "no right to mount a file system",
}, async (t) => {
  const elsewhere = process.env.TMPDIR;
  process.env.TMPDIR = disk;
  const profile = await newProfile();
  if (elsewhere === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = elsewhere;
  let context = await profile.open();
  const site = await serve(staging, {
    override: (path) => (path === "/" ? { body: "<!doctype html>" } : undefined),
  });
  t.after(async () => {
    await context.close();
    await site.close();
  });
  const openPage = async () => {
    const opened = await context.newPage();
    await opened.addInitScript(() => {
      (globalThis as { entitable?: unknown }).entitable = () => import("/dist/index.js" as string);
    });
    await opened.goto(site.url);
    return opened;
  };
  let page = await openPage();
  await page.evaluate(async () => {
    const { openStore } = await entitable();
    const store = await openStore({ name: "full" });
    const table = store.table("rows");
    await table.createTable();
    const errors: unknown[] = [];
    store.on("persist-error", ({ error }) => errors.push((error as { code?: string }).code));
    const noise = () => crypto.getRandomValues(new Uint8Array(60_000)); // does not compress
    const row = (i: number) => ({
      partitionKey: "p",
      rowKey: String(i).padStart(5, "0"),
      ...Object.fromEntries(Array.from({ length: 8 }, (_, k) => [`b${k}`, noise()])),
    });
    const count = async () => {
      let rows = 0;
      for await (const _ of table.listEntities()) ++rows;
      return rows;
    };
    Object.assign(globalThis, { state: () => ({ store, table, errors, row, count }) });
  });

  fill(12 * 1024 * 1024);
  const full = await page.evaluate(async () => {
    const { store, table, row, count } = state();
    let written = 0;
    for (; ; ++written) {
      const error = await table.createEntity(row(written)).catch((e) => e);
      if (error instanceof Error) {
        const { name, code } = error as Error & { code: string };
        return { written, name, code, visible: await count(), state: store.status.state };
      }
      if (written > 200) throw new Error("the disk does not fill");
    }
  });
  assert.deepEqual([full.name, full.code], ["StoreError", "QuotaExceeded"]);
  assert.equal(full.visible, full.written, "readers see what is stored, no more and no less");
  assert.equal(full.state, "open");

  // Now not even the browser's own bookkeeping fits on the disk, so it may close the connection. It
  // may also free space by compacting. The disk is therefore filled again until a write fails.
  let deferredRows = 0;
  const writeDeferred = () =>
    page.evaluate(async (n) => {
      const { store, table, row, errors } = state();
      await table.createEntity(row(1000 + n), { durability: "deferred" });
      const flush = await store.flush().catch((e: { code: string }) => e.code);
      return { flush, errors, pending: store.status.pendingBytes > 0 };
    }, deferredRows++);
  fill(0);
  let deferred = await writeDeferred();
  while (deferred.flush === undefined && deferredRows < 100) {
    fill(0);
    deferred = await writeDeferred();
  }
  const room = ["QuotaExceeded", "ConnectionLost"];
  assert(room.includes(String(deferred.flush)), String(deferred.flush));
  assert(deferred.errors.every((code) => room.includes(String(code))));
  assert.equal(deferred.pending, true, "what was acknowledged is kept");

  await freeGradually();
  const relieved = await page.evaluate(async () => {
    const { store, table, row, count } = state();
    while (store.status.pendingBytes > 0 && store.status.state === "open") {
      await new Promise((resolve) => setTimeout(resolve, 100)); // the store retries by itself
    }
    await table.createEntity(row(2000));
    return { visible: await count(), state: store.status.state };
  });
  assert.deepEqual(relieved, { visible: full.written + deferredRows + 1, state: "open" });

  // The browser reads what it stored only when it starts again. It may find its files damaged then,
  // or one start later.
  for (let starts = 0; starts < 2; ++starts) {
    await context.close();
    context = await profile.open();
    page = await openPage();
    const found = await page.evaluate(async () => {
      const { openStore } = await entitable();
      // Rejects if IndexedDB cannot be used. By default, the store would be in memory, so empty.
      await using store = await openStore({ name: "full", persistence: "indexeddb" });
      let rows = 0;
      for await (const _ of store.table("rows").listEntities()) ++rows;
      return { rows, state: store.status.state };
    });
    assert.deepEqual(found, { rows: full.written + deferredRows + 1, state: "open" });
  }
});

// In the page: the state that the first step left, and helpers.
declare function state(): {
  store: Awaited<ReturnType<Package["openStore"]>>;
  table: ReturnType<Awaited<ReturnType<Package["openStore"]>>["table"]>;
  errors: (string | undefined)[];
  row(i: number): { partitionKey: string; rowKey: string };
  count(): Promise<number>;
};
