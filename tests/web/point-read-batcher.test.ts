// Tests many calls of getEntity in one turn of the event loop: how many requests reach the store,
// and that batching does not change the results.

import assert from "node:assert/strict";
import { before, beforeEach, describe, test } from "node:test";
import { requestKind } from "../../web/src/client/message-layout.ts";
import { TableHandle, type TableHandleOptions } from "../../web/src/client/table-client.ts";
import type { Transport } from "../../web/src/transport.ts";
import { assertLoaded } from "./support/assert-loaded.ts";
import { openStore } from "./support/package.ts";
import { RpcStore, table } from "./support/rpc-store.ts";

let store: RpcStore;
let kinds: number[]; // the kinds of the read messages that reached the store
let how: "at once" | "never";
let runBeforeNextChange: (() => void) | undefined;

before(async () => {
  store = await RpcStore.open();
  for (let i = 0; i < 20; ++i) store.insert({ i }, "p", `r${i}`);
});
beforeEach(() => {
  kinds = [];
  how = "at once";
  runBeforeNextChange = undefined;
});

function handle(name = table, options: TableHandleOptions = {}, batchesReads = true): TableHandle {
  const transport: Transport = {
    allowsReadBatching: batchesReads,
    runBeforeNextChange: (reads) => {
      runBeforeNextChange = reads;
    },
    read(request) {
      kinds.push(request[0] as number);
      if (how === "never") throw new Error("it is closed");
      return assertLoaded(store.engine.read(request));
    },
    write: async (request) => {
      runBeforeNextChange?.();
      return store.commit(request);
    },
    readHttp: () => assert.fail("not through this entry point"),
    listen: () => assert.fail("nobody listens"),
    now: () => store.now,
  };
  return new TableHandle(transport, name, options);
}

const { get, multiGet } = requestKind;
const rows = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `r${from + i}`);
const number = async (entity: Promise<{ i?: unknown }>) => (await entity).i;

describe("calls in one turn", () => {
  test("need two requests to the store", async () => {
    const people = handle();
    const all = await Promise.all(rows(0, 20).map((row) => number(people.getEntity("p", row))));
    assert.deepEqual(all, [...Array(20).keys()]);
    assert.deepEqual(kinds, [get, multiGet]);
  });

  test("return the same entity as a single call", async () => {
    const people = handle();
    const [first, second, third] = await Promise.all(
      ["r1", "r2", "r2"].map((row) => people.getEntity("p", row)),
    );
    assert.deepEqual(third, second);
    assert.notEqual(third, second, "not one object for two");
    assert.deepEqual(first, await people.getEntity("p", "r1"));
    assert.deepEqual(second, await people.getEntity("p", "r2"));
  });

  test("fail alone for a missing entity, with the error of a single call", async () => {
    const people = handle();
    const names = ["r0", "r1", "gone", "r2", "x".repeat(513), "r3"];
    const settled = await Promise.allSettled(names.map((r) => number(people.getEntity("p", r))));
    const codes = settled.map((one) => (one.status === "fulfilled" ? one.value : one.reason.code));
    const alone = await Promise.allSettled([people.getEntity("p", names[4] as string)]);
    const refusal = alone[0]?.status === "rejected" ? alone[0].reason.code : undefined;
    assert.notEqual(refusal, undefined);
    assert.deepEqual(codes, [0, 1, "ResourceNotFound", 2, refusal, 3]);
    // the last one is the single read of the missing row
    assert.deepEqual(kinds, [get, multiGet, get, get, get, get, get]);
  });

  test("are batched even if some entities are missing", async () => {
    const people = handle();
    const names = [...rows(0, 20), "gone", ...rows(0, 20)];
    const settled = await Promise.allSettled(names.map((r) => people.getEntity("p", r)));
    const missing = settled.flatMap(({ status }, i) => (status === "rejected" ? [i] : []));
    assert.deepEqual(missing, [20]);
    assert.deepEqual(kinds, [get, multiGet, get, multiGet]);
  });

  test("return entities that share no memory", async () => {
    for (const [i, row] of ["b1", "b2", "b3"].entries()) {
      store.put({ bytes: new Uint8Array(100).fill(i) }, "p", row);
    }
    const people = handle();
    const found = await Promise.all(["b1", "b2", "b3"].map((row) => people.getEntity("p", row)));
    for (const [i, entity] of found.entries()) {
      const { bytes } = entity as unknown as { bytes: Uint8Array };
      assert.deepEqual([...bytes], new Array(100).fill(i));
      assert.notEqual(bytes.buffer.byteLength, 200, "not one buffer for two that came together");
    }
  });

  test("are batched for each table", async () => {
    const [people, nowhere] = [handle(), handle("nowhere")];
    const settled = await Promise.allSettled([
      ...rows(0, 3).map((r) => people.getEntity("p", r)),
      ...rows(0, 3).map((r) => nowhere.getEntity("p", r)),
    ]);
    const codes = settled.map((one) => (one.status === "rejected" ? one.reason.code : "there"));
    const missing = "TableNotFound";
    assert.deepEqual(codes, ["there", "there", "there", missing, missing, missing]);
  });

  test("see the data at the time of the call", async () => {
    store.insert({ i: 0 }, "p", "changing");
    const people = handle();
    const changed = { partitionKey: "p", rowKey: "changing", i: 1 };
    const before = [1, 2].map(() => number(people.getEntity("p", "changing")));
    const written = people.updateEntity(changed, "Merge");
    const after = number(people.getEntity("p", "changing"));
    assert.deepEqual(await Promise.all(before), [0, 0]);
    await written;
    assert.equal(await after, 1);
  });

  test("are all rejected if the store fails", async () => {
    how = "never";
    const people = handle();
    const settled = await Promise.allSettled(rows(0, 5).map((r) => people.getEntity("p", r)));
    for (const one of settled) {
      assert.equal(one.status === "rejected" && one.reason.message, "it is closed");
    }
  });

  test("convert each entity with its resolver", async () => {
    const resolver = {
      discriminator: () => "kind",
      schemas: { kind: ({ rowKey }: { rowKey: string }) => ({ row: rowKey }) },
    };
    const people = handle(table, { resolver } as TableHandleOptions);
    const shaped = await Promise.all(rows(0, 3).map((r) => people.getEntity("p", r)));
    assert.deepEqual(
      shaped.map((entity) => (entity as { row?: string }).row),
      ["r0", "r1", "r2"],
    );
  });
});

describe("a call is not batched", () => {
  test("with calls of other turns", async () => {
    const people = handle();
    for (const row of rows(0, 4)) await people.getEntity("p", row);
    assert.deepEqual(kinds, [get, get, get, get]);
  });

  test("with options that change the response", async () => {
    const people = handle();
    const queryOptions = { select: ["i"] };
    await Promise.all(rows(0, 3).map((r) => people.getEntity("p", r, { queryOptions })));
    await Promise.all(
      rows(0, 3).map((r) => people.getEntity("p", r, { disableTypeConversion: true })),
    );
    assert.deepEqual(new Set(kinds), new Set([get]));
  });

  test("where reads are counted", async () => {
    const people = handle(table, {}, false);
    await Promise.all(rows(0, 3).map((r) => people.getEntity("p", r)));
    assert.deepEqual(kinds, [get, get, get]);
  });
});

test("calls that exceed one message are sent in several", async () => {
  const people = handle();
  const entities = await Promise.all(
    Array.from({ length: 2500 }, (_, i) => people.getEntity("p", `r${i % 20}`)),
  );
  assert.deepEqual(
    entities.map(({ rowKey }) => rowKey),
    Array.from({ length: 2500 }, (_, i) => `r${i % 20}`),
  );
  assert.deepEqual(kinds, [get, multiGet, multiGet, multiGet]);
});

describe("in a store, a read sees the data at the time of the call", () => {
  const open = async () => {
    const own = await openStore({ persistence: "memory", durability: "deferred" });
    const people = own.table<{ n: number; long?: string }>("people");
    await people.createTable();
    for (const rowKey of ["a", "b"]) await people.createEntity({ partitionKey: "p", rowKey, n: 1 });
    const read = (row: string) =>
      people.getEntity("p", row).then(
        ({ n }) => n,
        ({ code }) => code,
      );
    return { own, people, read };
  };

  const two = { partitionKey: "p", rowKey: "a", n: 2 };
  const reads = ["a", "a", "b", "a"];

  test("including earlier writes, if they are visible before they are stored", async () => {
    const { own, people, read } = await open();
    const written = people.upsertEntity(two);
    assert.deepEqual(await Promise.all(reads.map(read)), [2, 2, 1, 2]);
    await written;
    await own.close();
  });

  test("including earlier writes that are not yet applied", async () => {
    const { own, people, read } = await open();
    const written = people.upsertEntity(two, "Merge", { durability: "strict" });
    assert.deepEqual(await Promise.all(reads.map(read)), [1, 1, 1, 1]);
    await written;
    assert.equal(await read("a"), 2);
    await own.close();
  });

  test("without later writes", async () => {
    const { own, people, read } = await open();
    const found = reads.map(read);
    const written = people.upsertEntity({ ...two, long: "x".repeat(300) });
    const later = reads.map(read);
    assert.deepEqual(await Promise.all(found), [1, 1, 1, 1]);
    assert.deepEqual(await Promise.all(later), [2, 2, 1, 2]);
    await written;
    assert.equal((await people.getEntity("p", "a")).long, "x".repeat(300));
    await own.close();
  });

  test("without later deletions", async () => {
    const { own, people, read } = await open();
    const found = [read("a"), read("b"), read("gone"), read("b")];
    const written = people.upsertEntity(two);
    await Promise.all([written, people.deleteTable()]);
    assert.deepEqual(await Promise.all(found), [1, 1, "ResourceNotFound", 1]);
    await own.close();
  });

  test("even if the store is closed afterwards", async () => {
    const { own, read } = await open();
    const found = [read("a"), read("b"), read("a")];
    await own.close();
    assert.deepEqual(await Promise.all(found), [1, 1, 1]);
    assert.equal(await read("a"), "StoreClosed");
  });
});
