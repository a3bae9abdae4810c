// Tests the puller where one exact order of events matters.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Key } from "../../web/src/sync/keys.ts";
import { markKey } from "../../web/src/sync/marks.ts";
import { Puller } from "../../web/src/sync/puller.ts";
import type { ScanRequest } from "../../web/src/sync/remote.ts";
import { scanState } from "../../web/src/sync/scan-state.ts";
import { fill, key, properties, remoteRow, type Scripted, scripted } from "./scripted.ts";

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

describe("an answer after a failure is as new as the try that was answered:", () => {
  /**
   * Sync changes the rows while the first try of the first request is on its way, which then fails.
   * Returns what was read of them, one by one.
   */
  async function afterFailure(
    request: "scan" | "read",
    names: readonly string[],
    work: (world: Scripted) => Promise<unknown>,
  ) {
    const world = await scripted();
    const { remote, scheduler, store } = world;
    fill(world, names);
    const { read } = remote;
    const reads: Key[] = [];
    remote.read = (of) => {
      reads.push(of);
      return read(of);
    };
    const { [request]: send } = remote;
    const failOnce = () => {
      remote[request] = send as never;
      for (const name of names) {
        const row = { properties: properties(1), version: { etag: "1", timestamp: 1n } };
        store.transact((draft) => draft.put("rows", key(name), row));
      }
      return Promise.resolve({ kind: "failed" } as const);
    };
    remote[request] = failOnce;
    void work(world);
    await scheduler.run(scheduler.now + 5000);
    assert.deepEqual(store.keys("marks"), []);
    const etags = names.map((name) => store.view.get("rows", key(name))?.version?.etag);
    return { reads, etags };
  }

  const pullerOf = ({ context, requests }: Scripted) => new Puller(context, requests);
  const replaced = ({ remote }: Scripted) => remote.rows.set(key("1"), remoteRow(2, "2"));

  test("a page of a scan is applied, not read again", async () => {
    const { reads, etags } = await afterFailure("scan", ["1"], (world) => {
      replaced(world);
      return pullerOf(world).pull();
    });
    assert.deepEqual([reads, etags], [[], ["2"]]);
  });

  test("a partition that another client has named, too", async () => {
    const { reads, etags } = await afterFailure("scan", ["1"], (world) => {
      replaced(world);
      return pullerOf(world).pullPartition("p");
    });
    assert.deepEqual([reads, etags], [[], ["2"]]);
  });

  test("an entity that is read is applied at once", async () => {
    const { reads, etags } = await afterFailure("read", ["1"], (world) => {
      replaced(world);
      world.store.transact((draft) => markKey(draft, key("1")));
      return pullerOf(world).readMarked();
    });
    assert.deepEqual([reads, etags], [[key("1")], ["2"]]);
  });

  test("what a comparison does not return is missing, and not read one by one", async () => {
    const names = ["1", "2", "3", "4"];
    const { reads, etags } = await afterFailure("scan", names, async (world) => {
      world.remote.rows.clear();
      fill(world, ["5"]);
      const puller = pullerOf(world);
      for (const _ of ["found", "confirmed"]) await puller.census();
    });
    assert.deepEqual(etags, [undefined, undefined, undefined, undefined]);
    assert.deepEqual([reads.includes(key("2")), reads.includes(key("3"))], [false, false]);
  });
});

test("a first download asks for a page when the one before is stored", async () => {
  const world = await scripted();
  const { remote, scheduler, store } = world;
  const wereStored: boolean[] = [];
  remote.scan = ({ token = "0" }) => {
    wereStored.push(store.storedCommit === store.commit);
    const rows = [{ key: key(token), row: remoteRow(2, "2") }];
    const next = token === "2" ? undefined : String(Number(token) + 1);
    return Promise.resolve({ kind: "page", rows, token: next });
  };
  scheduler.after(0, () => void new Puller(world.context, world.requests).pull());
  await scheduler.run(scheduler.now + 5000);
  assert.deepEqual(wereStored.slice(1), [true, true]);
});

test("a first scan sends the filter only if the store has no row that could have left it", async () => {
  const areFiltered = async (names: string[], ranges = [{ from: "" }]) => {
    const world = await scripted({ ranges });
    fill(world, names);
    const sent: boolean[] = [];
    const { scan } = world.remote;
    world.remote.scan = (request) => {
      sent.push(request.isFiltered);
      return scan(request);
    };
    world.scheduler.after(0, () => void new Puller(world.context, world.requests).pull());
    await world.scheduler.run(world.scheduler.now + 5000);
    return sent;
  };
  assert.deepEqual(await areFiltered([]), [true]);
  assert.deepEqual(await areFiltered(["1"]), [false]);
  // An earlier process may have had other key ranges.
  const ranges = [
    { from: "", to: key("2") },
    { from: key("2"), to: key("4") },
    { from: key("4"), to: undefined },
  ];
  assert.deepEqual(await areFiltered(["3"], ranges), [true, false, true]);
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

describe("a scan of everything", () => {
  /** Rows with the value 1 do not match the filter. */
  async function filtered() {
    const world = await scripted({ keeps: (_, row) => row.get("a")?.value !== 1 });
    const { remote } = world;
    const { scan } = remote;
    const requests: ScanRequest[] = [];
    remote.scan = async (request) => {
      requests.push(request);
      const page = await scan(request);
      if (page.kind !== "page" || !request.isFiltered) return page;
      return { ...page, rows: page.rows.filter(({ row }) => row.properties.get("a")?.value !== 1) };
    };
    const pull = () => new Puller(world.context, world.requests).pull();
    return { ...world, pulls: requests, pull };
  }

  test("sees that a row has left the filter before it began", async () => {
    const world = await filtered();
    const { remote, store } = world;
    fill(world, ["1", "2"]);
    remote.rows.set(key("1"), remoteRow(1, "left"));
    await world.pull();
    assert.deepEqual(store.keys("rows"), [key("2")]);
  });

  test("asks the remote to evaluate the filter if no row can leave it", async () => {
    const { pull, pulls, store } = await filtered();
    store.write(1, new Map([[key("1"), () => properties(0)]]));
    await pull();
    assert.deepEqual(
      pulls.map(({ isFiltered }) => isFiltered),
      [true],
    );
  });

  test("reads everything if the row's first push may have been sent", async () => {
    const { pull, pulls, store } = await filtered();
    store.write(1, new Map([[key("1"), () => properties(0)]]));
    await store.transact((draft) => {
      const push = { partition: "p", token: "1", upTo: 1, groups: 1, members: [], idleKeys: [] };
      draft.put("pushes", "p", push);
    });
    await pull();
    assert.equal(pulls[0]?.isFiltered, false);
  });
});
