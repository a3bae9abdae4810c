// Tests the puller where one exact order of events matters.

import assert from "node:assert/strict";
import { test } from "node:test";
import { markKey } from "../../web/src/sync/marks.ts";
import { Puller } from "../../web/src/sync/puller.ts";
import { scanState } from "../../web/src/sync/scan-state.ts";
import { fill, key, remoteRow, scripted } from "./scripted.ts";

test("a read that always fails does not stop the others", async () => {
  const world = await scripted();
  const { remote, scheduler, store } = world;
  fill(world, ["1", "2"]);
  store.transact((draft) => {
    for (const name of ["1", "2"]) markKey(draft, key(name));
  });
  remote.rows.set(key("2"), remoteRow(9, "9"));
  remote.scan = () => Promise.resolve({ kind: "failed" });
  const { read } = remote;
  remote.read = (of) => (of === key("1") ? Promise.resolve({ kind: "failed" }) : read(of));
  let isDone = false;
  new Puller(world.context, world.requests).pull().then(() => {
    isDone = true;
  });
  await scheduler.run(scheduler.now + 5000);
  assert(isDone);
  assert.equal(store.view.get("rows", key("2"))?.version?.etag, "9");
  assert.deepEqual(store.keys("marks"), [key("1")]);
});

test("a scan that finds a table unsorted does not continue where it stopped", async () => {
  const world = await scripted();
  const { remote, scheduler, store } = world;
  let pages = 0;
  remote.scan = (request) => {
    assert(request.needsOrder);
    pages += 1;
    const rows = [{ key: key("m"), row: remoteRow(1, "1") }];
    if (pages === 1) return Promise.resolve({ kind: "page", rows, token: "next" });
    remote.traits.isSorted = false;
    return Promise.resolve({ kind: "failed" });
  };
  scheduler.after(0, () => void new Puller(world.context, world.requests).pull());
  await scheduler.run(scheduler.now + 5000);
  assert.equal(pages, 6);
  const state = scanState(store.view, { from: "" });
  assert.deepEqual([state.delta, state.watermark], [undefined, undefined]);
});
