// Tests how the explorer reads the change feed: after gaps and failures it goes on, and after the
// store was closed it ends.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import { type FeedListener, followFeed } from "../../../web/src/explorer/follow-feed.ts";
import type { ChangeFeed, Store } from "../../../web/src/types.ts";
import { openStore } from "../support/package.ts";
import { until } from "../support/until.ts";

// Records the calls.
class Recorder implements FeedListener {
  readonly events: string[] = [];

  onOpen(): void {
    this.events.push("open");
  }
  onBatch({ changes }: Parameters<FeedListener["onBatch"]>[0]): void {
    this.events.push(changes.map(({ op, rowKey }) => `${op} ${rowKey}`).join());
  }
  onInterruption(error: unknown): void {
    this.events.push((error as { code: string }).code);
  }
  onEnd(): void {
    this.events.push("end");
  }
}

describe("following the feed of a store", () => {
  let store: Store;
  const recorder = () => new Recorder();
  const create = (rowKey: string) =>
    store.table("lamps").createEntity({ partitionKey: "p", rowKey });

  beforeEach(async () => {
    store = await openStore({ persistence: "memory", durability: "deferred" });
    await store.table("lamps").createTable();
  });
  afterEach(() => store.close());

  test("gives each commit, until the store is closed", async () => {
    const listener = recorder();
    followFeed(store, {}, listener);
    await until(() => listener.events.includes("open"));
    await create("1");
    await create("2");
    await until(() => listener.events.length === 3);
    await store.close();
    await until(() => listener.events.length === 4);
    assert.deepEqual(listener.events, ["open", "insert 1", "insert 2", "end"]);
  });

  test("ends at once if the store is closed already", async () => {
    const listener = recorder();
    await store.close();
    followFeed(store, {}, listener);
    await until(() => listener.events.length > 0);
    assert.deepEqual(listener.events, ["end"]);
  });

  test("ends if the store is closed while the feed is being opened", async () => {
    const listener = recorder();
    followFeed(store, {}, listener);
    await store.close();
    await until(() => listener.events.includes("end"));
    assert.equal(listener.events.at(-1), "end");
  });

  test("says nothing after it was stopped", async () => {
    const [before, later] = [recorder(), recorder()];
    const stopBefore = followFeed(store, {}, before);
    stopBefore();
    const stop = followFeed(store, {}, later);
    await until(() => later.events.includes("open"));
    stop();
    await create("1");
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual([before.events, later.events], [[], ["open"]]);
  });

  test("goes on from now after a gap", async () => {
    const listener = recorder();
    followFeed(store, {}, listener);
    await until(() => listener.events.includes("open"));
    await store.restore(await store.snapshot()); // the content is replaced: changes are unknown
    await until(() => listener.events.filter((event) => event === "open").length === 2);
    await create("2");
    await until(() => listener.events.includes("insert 2"));
    assert.deepEqual(listener.events, ["open", "FeedTruncated", "open", "insert 2"]);
  });
});

describe("feeds that fail", () => {
  let opened = 0;
  const listener = () => new Recorder();

  // A store whose feeds fail.
  function failing(code: string, whenOpen: boolean): Store {
    const error = Object.assign(new Error(code), { code });
    const changes = (): ChangeFeed => {
      opened += 1;
      const ready = whenOpen ? Promise.resolve() : Promise.reject(error);
      return {
        ready,
        position: undefined,
        next: () => Promise.reject(error),
        return: () => Promise.resolve({ done: true, value: undefined }),
        [Symbol.asyncIterator]() {
          return this;
        },
      };
    };
    return { changes } as unknown as Store;
  }

  beforeEach(() => {
    opened = 0;
    mock.timers.enable({ apis: ["setTimeout"] });
  });
  afterEach(() => mock.timers.reset());

  // Lets promises settle, then moves the clock.
  async function pass(ms: number): Promise<void> {
    for (let i = 0; i < 20; ++i) await undefined;
    mock.timers.tick(ms);
    for (let i = 0; i < 20; ++i) await undefined;
  }

  test("are opened again after longer and longer delays", async () => {
    const recorder = listener();
    const stop = followFeed(failing("StorageFailed", false), {}, recorder);
    await pass(0);
    assert.deepEqual([opened, recorder.events], [1, ["StorageFailed"]]);
    await pass(999);
    assert.equal(opened, 1);
    await pass(1);
    assert.equal(opened, 2);
    await pass(1999);
    assert.equal(opened, 2);
    await pass(1);
    assert.equal(opened, 3);
    stop();
    await pass(60_000);
    assert.equal(opened, 3, "not after it was stopped");
  });

  for (const whenOpen of [true, false]) {
    const when = whenOpen ? "after it was opened" : "while it is opened";
    test(`with a gap ${when} are opened again at once, but then after delays`, async () => {
      const stop = followFeed(failing("FeedTruncated", whenOpen), {}, listener());
      for (let ms = 0; ms < 999; ++ms) await pass(1);
      assert.equal(opened, 2);
      await pass(1);
      await pass(1);
      assert.equal(opened, 3);
      for (let ms = 0; ms < 1900; ++ms) await pass(1);
      assert.equal(opened, 3);
      stop();
    });
  }
});
