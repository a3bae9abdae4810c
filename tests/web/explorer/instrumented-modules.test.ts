// Tests which listeners observe the stores that a playground's code opens.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ModuleInstrumenter } from "../../../web/src/explorer/instrumented-modules.ts";
import * as entitable from "../../../web/src/index.ts";
import * as testing from "../../../web/src/testing/index.ts";

const modules = {
  entitable: async () => entitable,
  testing: async () => testing,
  more: async () => ({ make: testing.mockStore, seven: 7 }),
};

function block() {
  const heard: string[] = [];
  let onUnobservedStore = 0;
  const listener = {
    onRequest: ({ operation, table }: testing.LoggedRequest) => heard.push(`${operation} ${table}`),
    onUnobservedStore: () => {
      onUnobservedStore += 1;
    },
  };
  let now: typeof listener | undefined = listener;
  const own = new ModuleInstrumenter(() => now);
  const stop = () => {
    now = undefined;
  };
  const load = async (name: keyof typeof modules) => await own.instrumentAll(modules)[name]?.();
  return { heard, onUnobservedStore: () => onUnobservedStore, stop, load };
}

describe("instrumented modules", () => {
  test("each code block observes its own stores and their forks, concurrently", async () => {
    const [one, two] = [block(), block()];
    const first = (await one.load("testing")) as typeof testing;
    const second = (await two.load("testing")) as typeof testing;
    await using a = await first.mockStore();
    await using b = await second.mockStore({ seed: 7 });
    await using fork = a.fork();
    await using other = await testing.mockStore();
    for (const [store, name] of [
      [a, "Own"],
      [b, "Second"],
      [fork, "Fork"],
      [other, "Other"],
    ] as const) {
      await store.table(name).createTable();
    }
    assert.deepEqual(one.heard, ["createTable Own", "createTable Fork"]);
    assert.deepEqual(two.heard, ["createTable Second"]);
  });

  test("a store is observed by those who listened when it was opened", async () => {
    const { heard, stop, load } = block();
    const { mockStore } = (await load("testing")) as typeof testing;
    await using early = await mockStore();
    stop();
    await using late = await mockStore();
    await late.table("Late").createTable();
    await early.table("Early").createTable();
    assert.deepEqual(heard, ["createTable Early"]);
  });

  test("openStore reports only that a store was opened", async () => {
    const { heard, onUnobservedStore, stop, load } = block();
    const { openStore, RestError } = (await load("entitable")) as typeof entitable;
    assert.equal(RestError, entitable.RestError);
    assert.equal(onUnobservedStore(), 0);
    await using store = await openStore({ persistence: "memory" });
    await store.table("Own").createTable();
    assert.deepEqual([heard, onUnobservedStore()], [[], 1]);
    await assert.rejects(openStore({ name: "" }), { code: "ValidationFailed" });
    stop();
    await (await openStore({ persistence: "memory" })).close();
    assert.equal(onUnobservedStore(), 2);
  });

  test("exports work under any name, and repeated imports are equal", async () => {
    const { heard, load } = block();
    const more = (await load("more")) as { make: typeof testing.mockStore; seven: number };
    await using store = await more.make();
    await store.table("Own").createTable();
    assert.deepEqual([heard, more.seven], [["createTable Own"], 7]);
    assert.equal(await load("testing"), await load("testing"));
    const plain = { double: (n: number) => 2 * n };
    const own = new ModuleInstrumenter(() => undefined).instrumentAll({
      plain: async () => plain,
    });
    assert.equal(await own["plain"]?.(), plain);
  });
});
