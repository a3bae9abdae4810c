// Tests how code waits for a later task, with and without MessageChannel.

import assert from "node:assert/strict";
import { describe, mock, type TestContext, test } from "node:test";
import { yieldToEventLoop } from "../../web/src/util/event-loop.ts";
import { openStore } from "./support/package.ts";

const RealChannel = MessageChannel;

function replaceChannel(t: TestContext, value: unknown): void {
  Object.defineProperty(globalThis, "MessageChannel", { value, configurable: true });
  t.after(() =>
    Object.defineProperty(globalThis, "MessageChannel", { value: RealChannel, configurable: true }),
  );
}

describe("yieldToEventLoop()", () => {
  test("resolves in later tasks, in the order of the calls", async () => {
    const events: string[] = [];
    setTimeout(() => events.push("timer"));
    const yielding = [1, 2, 3].map((i) => yieldToEventLoop().then(() => events.push(`yield ${i}`)));
    for (let i = 0; i < 10; ++i) await Promise.resolve();
    events.push("microtasks");
    await Promise.all(yielding);
    assert.deepEqual(
      events.filter((event) => event !== "timer"),
      ["microtasks", "yield 1", "yield 2", "yield 3"],
    );
  });

  test("creates one channel in a page, where ports keep no process alive", async (t) => {
    const channels: MessageChannel[] = [];
    t.after(() => {
      for (const { port1 } of channels) port1.close();
    });
    class PageChannel {
      readonly port1: object;
      readonly port2: MessagePort;

      constructor() {
        const channel = new RealChannel();
        channels.push(channel);
        this.port2 = channel.port2;
        this.port1 = {
          set onmessage(listener: () => void) {
            channel.port1.onmessage = listener;
          },
        };
      }
    }
    replaceChannel(t, PageChannel);
    const { yieldToEventLoop }: typeof import("../../web/src/util/event-loop.ts") = await import(
      `../../web/src/util/event-loop.ts?page` as string
    );
    const order: number[] = [];
    await Promise.all([1, 2, 3].map((i) => yieldToEventLoop().then(() => order.push(i))));
    for (let i = 4; i < 7; ++i) await yieldToEventLoop().then(() => order.push(i));
    assert.deepEqual(order, [1, 2, 3, 4, 5, 6]);
    assert.equal(channels.length, 1);
  });

  test("does not wait for fake timers in a simulated page without MessageChannel", async (t) => {
    replaceChannel(t, undefined);
    mock.timers.enable({ apis: ["setTimeout", "setImmediate", "setInterval"] });
    t.after(() => mock.timers.reset());
    await yieldToEventLoop();
  });
});

test("a live query that yields is read under fake timers, without MessageChannel", async (t) => {
  const store = await openStore({ persistence: "memory", durability: "deferred" });
  const lamps = store.table<{ stock: number }>("lamps");
  await lamps.createTable();
  const row = (_: unknown, i: number) => ({ partitionKey: "p", rowKey: `${i}`, stock: i });
  const rows = Array.from({ length: 3000 }, row);
  await lamps.bulk(rows.map((row) => ["upsert", row] as const));
  replaceChannel(t, undefined);
  mock.timers.enable({ apis: ["setTimeout", "setImmediate", "setInterval"] });
  t.after(() => mock.timers.reset());
  let now = performance.now();
  t.mock.method(performance, "now", () => (now += 10)); // each page seems to take 10 ms
  const live = lamps.live();
  assert.equal((await live.ready).length, 3000);
  await store.close();
});
