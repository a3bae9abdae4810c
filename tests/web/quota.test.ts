// Tests the event "quota": when owners and followers check the browser's estimate, and how often
// they emit the event.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import "fake-indexeddb/auto";
import { noPageLifecycle } from "../../web/src/host/page-lifecycle.ts";
import { QuotaWatch } from "../../web/src/host/quota-watch.ts";
import { estimate, type PageServices } from "../../web/src/open/environment.ts";
import { openHost } from "../../web/src/open/open-host.ts";
import { settingsFromOptions } from "../../web/src/open/options.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { StoreEvents } from "../../web/src/types.ts";
import { until } from "./support/until.ts";

type QuotaEvent = StoreEvents["quota"];

const minute = 60_000;

describe("a quota watch", () => {
  function watchOf(looks: (StorageEstimate | undefined)[]) {
    const reported: (number | undefined)[] = [];
    let now = 1000;
    let looked = 0;
    const watch: QuotaWatch = new QuotaWatch({
      estimate: async () => looks[looked++],
      onNearlyFull: (event) => {
        reported.push(event.usage);
        watch.noteReported(event);
      },
      now: () => now,
    });
    const check = async (afterMs = minute) => {
      now += afterMs;
      await watch.check();
    };
    return { reported, check, watch, looked: () => looked };
  }
  const used = (...usages: number[]) => usages.map((usage) => ({ usage, quota: 1000 }));

  test("reports above 80 %, but not at 80 %", async () => {
    for (const [usage, tells] of [
      [0, 0],
      [800, 0],
      [801, 1],
      [1100, 1],
    ] as const) {
      const { reported, check } = watchOf(used(usage));
      await check();
      assert.equal(reported.length, tells, String(usage));
    }
  });

  test("reports once, again after another 5 %, and again after usage had fallen", async () => {
    const { reported, check, looked } = watchOf(used(810, 820, 859, 861, 870, 790, 805, 700, 805));
    while (looked() < 9) await check();
    assert.deepEqual(reported, [810, 861, 805, 805]);
  });

  test("does not repeat another tab's report", async () => {
    const { reported, check, watch } = watchOf(used(910, 960));
    watch.noteReported({ usage: 900, quota: 1000 });
    await check();
    await check();
    assert.deepEqual(reported, [960]);
  });

  test("checks immediately, then at most once a minute", async () => {
    const { check, looked } = watchOf([]);
    await check(0);
    await check(minute - 1);
    assert.equal(looked(), 1);
    await check(1);
    assert.equal(looked(), 2);
  });

  test("reports nothing if the browser returns no useful estimate", async () => {
    const looks = [undefined, {}, { usage: 5 }, { quota: 5 }, { usage: 5, quota: 0 }];
    const { reported, check, looked } = watchOf(looks);
    while (looked() < looks.length) await check();
    assert.deepEqual(reported, []);
  });

  test("reports nothing in Node", async () => {
    assert.equal(await estimate(), undefined);
  });
});

describe("a store whose origin is nearly full", () => {
  let looks = 0;
  const pageServices: PageServices = {
    lifecycle: noPageLifecycle,
    persist: async () => false,
    estimate: async () => {
      looks += 1;
      return { usage: 90, quota: 100 };
    },
    lastSeenMarker: () => undefined,
  };
  const open = async (name: string, persistence: "indexeddb" | "memory" = "indexeddb") => {
    const store = new StoreHandle(
      name,
      await openHost(settingsFromOptions({ name, persistence }), pageServices),
    );
    const reported: QuotaEvent[] = [];
    store.on("quota", (event) => reported.push(event)); // right after it was opened
    return { store, reported };
  };

  test("reports it once to each tab that opens it", async () => {
    const owner = await open("full");
    await until(() => owner.reported.length === 1);
    const follower = await open("full");
    await until(() => follower.reported.length === 1);
    assert.equal(follower.store.status.owner, "other-tab");
    await owner.store.table("people").createTable();
    await owner.store.compact(); // within a minute of the last check
    assert.equal(looks, 2);
    assert.deepEqual(
      [owner.reported, follower.reported],
      [[{ usage: 90, quota: 100 }], owner.reported],
    );
    await follower.store.close();
    await owner.store.close();
  });

  test("checks again after a checkpoint, and its clients get the event", async (t) => {
    let usage = 10;
    let now = performance.now();
    t.mock.method(performance, "now", () => now);
    let checks = 0;
    t.mock.method(pageServices, "estimate", async () => {
      checks += 1;
      return { usage, quota: 100 };
    });
    const owner = await open("filling");
    const follower = await open("filling");
    await until(() => checks === 2); // each tab checks when it opens the store
    now += minute;
    usage = 85;
    await owner.store.table("people").createTable();
    await owner.store.compact();
    for (const { reported } of [owner, follower]) {
      await until(() => reported.length === 1);
      assert.deepEqual(reported, [{ usage: 85, quota: 100 }]);
    }
    await follower.store.close();
    await owner.store.close();
  });

  test("reports nothing in memory", async () => {
    const before = looks;
    const { store, reported } = await open("volatile", "memory");
    for (let i = 0; i < 5; ++i) await turn();
    assert.deepEqual([looks, reported], [before, []]);
    await store.close();
  });
});
