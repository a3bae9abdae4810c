// Tests how marked keys are read: together or one by one.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { SyncRules } from "../../web/src/sync/context.ts";
import { type Key, keyAfter } from "../../web/src/sync/keys.ts";
import { markKey } from "../../web/src/sync/marks.ts";
import { readMarked } from "../../web/src/sync/read-marked.ts";
import type { ScanRequest } from "../../web/src/sync/remote.ts";
import { key, remoteRow, type Scripted, scripted } from "./scripted.ts";

const names = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => String(at).padStart(4, "0"));

/** The remote has changed `count` keys, which are marked. */
async function marked(count: number, rules: Partial<SyncRules> = {}) {
  const world = await scripted(rules);
  world.store.transact((draft) => {
    for (const name of names(count)) {
      world.remote.rows.set(key(name), remoteRow(1, `new ${name}`));
      markKey(draft, key(name));
    }
  });
  const scans: ScanRequest[] = [];
  const reads: Key[] = [];
  const { read, scan } = world.remote;
  world.remote.scan = (request) => {
    scans.push(request);
    return scan(request);
  };
  world.remote.read = (of) => {
    reads.push(of);
    return read(of);
  };
  return { ...world, scans, reads };
}

async function readAll({ context, requests, scheduler }: Scripted): Promise<boolean | undefined> {
  let result: boolean | undefined;
  readMarked(context, requests).then((areRead) => {
    result = areRead;
  });
  await scheduler.run(scheduler.now + 5000);
  return result;
}

test("many are read by one scan of their stretch, and what it does not have one by one", async () => {
  const world = await marked(200);
  world.remote.rows.delete(key("0100"));
  assert.equal(await readAll(world), true);
  const range = { from: key("0000"), to: keyAfter(key("0199")) };
  const request = { range, keysOnly: false, isFiltered: false, token: undefined };
  assert.deepEqual(world.scans, [request]);
  assert.deepEqual(world.reads, [key("0100")]);
  assert.deepEqual(world.store.keys("marks"), []);
  assert.equal(world.store.view.get("rows", key("0199"))?.version?.etag, "new 0199");
  assert.equal(world.store.view.get("rows", key("0100")), undefined);
});

test("the filter is sent with the scan if the remote evaluates it", async () => {
  const world = await marked(5, { sendsFilter: true });
  assert.equal(await readAll(world), true);
  assert.deepEqual(
    world.scans.map(({ isFiltered }) => isFiltered),
    [true],
  );
});

test("a few are read one by one", async () => {
  const world = await marked(4);
  assert.equal(await readAll(world), true);
  assert.deepEqual(
    world.reads,
    names(4).map((name) => key(name)),
  );
  assert.deepEqual(world.scans, []);
});

test("a scan ends with a page that has few of them", async () => {
  const world = await marked(7);
  const { remote, scans } = world;
  // Pages of 40 rows, of which the first has two marked ones, and the second has one.
  for (let i = 0; i < 1000; ++i) remote.rows.set(key(`0001 ${i}`), remoteRow(1, "other"));
  const { scan } = remote;
  remote.scan = async (request) => {
    const page = await scan(request);
    if (page.kind !== "page") return page;
    const from = Number(request.token ?? 0);
    const rows = page.rows.slice(from, from + 40);
    return { kind: "page", rows, token: from + 40 < page.rows.length ? `${from + 40}` : undefined };
  };
  assert.equal(await readAll(world), true);
  assert.deepEqual(
    scans.map(({ token }) => token),
    [undefined, "40"],
  );
  assert.deepEqual(
    world.reads,
    names(7)
      .slice(2)
      .map((name) => key(name)),
  );
  assert.equal(world.store.view.get("rows", key("0001 7")), undefined); // it was not marked
});

test("a scan does not leave a key range that is synced", async () => {
  const ranges = [
    { from: key("0000"), to: key("0010") },
    { from: key("0020"), to: key("0030") },
  ];
  const world = await marked(30, { ranges });
  assert.equal(await readAll(world), true);
  assert.deepEqual(
    world.scans.map(({ range }) => range),
    [
      { from: key("0000"), to: keyAfter(key("0009")) },
      { from: key("0020"), to: keyAfter(key("0029")) },
    ],
  );
  assert.deepEqual(
    world.reads,
    names(20)
      .slice(10)
      .map((name) => key(name)),
  );
});

test("if scans fail, they are read one by one, until three fail", async () => {
  const world = await marked(20);
  world.remote.scan = () => Promise.resolve({ kind: "failed" });
  assert.equal(await readAll(world), true);
  assert.equal(world.reads.length, 20);

  const gone = await marked(20);
  gone.remote.scan = () => Promise.resolve({ kind: "failed" });
  const asked = new Set<Key>();
  gone.remote.read = (of) => {
    asked.add(of);
    return Promise.resolve({ kind: "failed" });
  };
  assert.equal(await readAll(gone), false);
  assert(asked.size <= 10, `${asked.size}`); // eight at once
  assert.equal(gone.store.keys("marks").length, 20);
});

test("an answer does not remove a mark that was set after its request", async () => {
  const world = await marked(10);
  const { remote, store } = world;
  const { scan } = remote;
  remote.scan = async (request) => {
    const page = await scan(request);
    store.transact((draft) => markKey(draft, key("0003")));
    return page;
  };
  assert.equal(await readAll(world), true);
  assert.deepEqual(store.keys("marks"), [key("0003")]);
});

test("a slow answer does not bring back an entity that a later one did not have", async () => {
  const world = await scripted();
  const { context, remote, requests, scheduler, store } = world;
  const of = key("a");
  store.transact((draft) => markKey(draft, of));
  const row = remoteRow(1, "1");
  const answers = [
    { afterMs: 100, answer: { kind: "found", row } },
    { afterMs: 10, answer: { kind: "absent" } },
  ] as const;
  let reads = 0;
  remote.read = async () => {
    const { afterMs, answer } = answers[reads++] as (typeof answers)[number];
    await context.platform.sleep(afterMs);
    return answer;
  };
  for (const atMs of [0, 5]) scheduler.after(atMs, () => void readMarked(context, requests));
  await scheduler.run(scheduler.now + 1000);
  assert.equal(reads, 2);
  const isUnknown = store.view.get("rows", of) === undefined;
  assert(isUnknown || store.view.get("marks", of), "the key is neither absent nor marked");
});
