// Tests how a Service Worker keeps a store open during a series of requests.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { IdleClosingStore } from "../../web/src/service-worker/idle-closing-store.ts";
import type { Store } from "../../web/src/types.ts";

const idleMs = 1000;

interface Bench {
  lease: IdleClosingStore;
  opened: string[]; // which stores were opened and closed, in order
  fail: Error | undefined;
}

function bench(t: TestContext): Bench {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  const opened: string[] = [];
  let count = 0;
  const self = { opened, fail: undefined } as unknown as Bench;
  self.lease = new IdleClosingStore({
    open: async () => {
      await turn();
      if (self.fail !== undefined) throw self.fail;
      const number = ++count;
      opened.push(`open ${number}`);
      const close = async () => {
        await turn();
        opened.push(`close ${number}`);
      };
      return { name: `${number}`, close } as unknown as Store;
    },
    idleMs,
  });
  return self;
}

async function settle(): Promise<void> {
  for (let i = 0; i < 20; ++i) await turn();
}

async function tick(t: TestContext, ms: number): Promise<void> {
  t.mock.timers.tick(ms);
  await settle();
}

// Starts work that uses the store until end() is called.
function work(lease: IdleClosingStore): { store: Promise<string>; end: () => void } {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const store = lease.use(async ({ name }) => {
    await ended;
    return name;
  });
  return { store, end };
}

describe("a lease", () => {
  test("covers a whole burst, and ends when idle", async (t) => {
    const { lease, opened } = bench(t);
    const name = async (store: Store) => store.name;
    assert.deepEqual(await Promise.all([lease.use(name), lease.use(name)]), ["1", "1"]);
    await tick(t, idleMs - 1);
    assert.equal(await lease.use(name), "1");
    await tick(t, idleMs - 1);
    assert.deepEqual(opened, ["open 1"]);
    const whenClosed = lease.whenClosed();
    await tick(t, 1);
    await whenClosed;
    assert.deepEqual(opened, ["open 1", "close 1"]);
    assert.equal(await lease.use(name), "2");
  });

  test("does not end while there is work", async (t) => {
    const { lease, opened } = bench(t);
    const long = work(lease);
    await settle();
    await lease.use(async () => {});
    await tick(t, 10 * idleMs);
    assert.deepEqual(opened, ["open 1"]);
    long.end();
    assert.equal(await long.store, "1");
    await tick(t, idleMs);
    assert.deepEqual(opened, ["open 1", "close 1"]);
  });

  test("that cannot open rejects all waiting calls, and the next call opens again", async (t) => {
    const self = bench(t);
    self.fail = new Error("locked");
    const failed = [work(self.lease), work(self.lease)];
    for (const { store } of failed) await assert.rejects(store, self.fail);
    await self.lease.whenClosed();
    self.fail = undefined;
    assert.equal(await self.lease.use(async (store) => store.name), "1");
  });

  test("goes on after work that fails", async (t) => {
    const { lease, opened } = bench(t);
    const error = new Error("refused");
    await assert.rejects(
      lease.use(() => Promise.reject(error)),
      error,
    );
    await lease.use(async () => {});
    await tick(t, idleMs);
    assert.deepEqual(opened, ["open 1", "close 1"]);
  });
});
