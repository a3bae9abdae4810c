// Tests large values of every size through a store's table and through the official client. A
// reader never gets parts of two values. A write that fails or conflicts leaves one complete value.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as official from "@azure/data-tables";
import { LargeValues, type LargeValueTable } from "../../../web/src/large-values/index.ts";
import { type MockStore, mockStore } from "../../../web/src/testing/index.ts";
import { dataTables } from "../support/data-tables.ts";
import { seededRandom } from "../support/random.ts";

const seed = Number(process.env.ENTITABLE_SEED ?? Math.floor(Math.random() * 2 ** 31));
const steps = Number(process.env.ENTITABLE_STEPS ?? 60);

const propertyBytes = 65_536;
const rowBytes = 11 * propertyBytes;
const most = 4 * rowBytes;
const key = ["Sales", "photo"] as const;

const open = () => mockStore({ name: "acme", fixtures: { files: [] } });

const clients: Readonly<Record<string, (store: MockStore) => LargeValueTable>> = {
  "a store's table": (store) => store.table("files"),
  "the official client": (store) =>
    new official.TableClient("https://acme.table.core.windows.net", "files", {
      httpClient: store.httpClient,
      retryOptions: { maxRetries: 2, retryDelayInMs: 0, maxRetryDelayInMs: 0 },
    }),
  "the client in its place": (store) =>
    new dataTables.TableClient("https://acme.table.core.windows.net", "files", { store }),
};

// Returns bytes that depend on the value and on their offset.
function bytesOf(n: number, length: number): Uint8Array {
  return new Uint8Array(length).map((_, i) => (i * 31 + n * 7 + (i >> 16)) % 251);
}

function assertSame(
  actual: Uint8Array | undefined,
  expected: Uint8Array,
  what = "other bytes",
): void {
  assert(actual !== undefined, what);
  assert.equal(actual.length, expected.length, what);
  assert(Buffer.from(actual).equals(expected), what);
}

async function rowKeys(store: MockStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { rowKey = "" } of store.table("files").listEntities()) keys.push(rowKey);
  return keys;
}

for (const [name, clientOf] of Object.entries(clients)) {
  describe(`over ${name}`, () => {
    test("a value of any size is read as written, from few rows", async () => {
      await using store = await open();
      const values = new LargeValues(clientOf(store));
      const sizes: [length: number, rows: string[]][] = [
        [0, ["photo"]],
        [1, ["photo"]],
        [propertyBytes, ["photo"]],
        [propertyBytes + 1, ["photo"]],
        [rowBytes, ["photo"]],
        [rowBytes + 1, ["photo", "photo!1"]],
        [2 * rowBytes, ["photo", "photo!1"]],
        [2 * rowBytes + 1, ["photo", "photo!1", "photo!2"]],
        [3 * rowBytes, ["photo", "photo!1", "photo!2"]],
        [3 * rowBytes + 1, ["photo", "photo!1", "photo!2", "photo!3"]],
        [most, ["photo", "photo!1", "photo!2", "photo!3"]],
        [rowBytes + 7, ["photo", "photo!1"]], // fewer rows than before
        [3, ["photo"]],
      ];
      for (const [n, [length, rows]] of sizes.entries()) {
        const value = bytesOf(n, length);
        await values.write(...key, value);
        assert.deepEqual(await rowKeys(store), rows, `rows of ${length}`);
        assertSame(await values.read(...key), value, `${length} bytes`);
      }
    });

    test("one byte too many is rejected before anything is sent", async () => {
      await using store = await open();
      const values = new LargeValues(clientOf(store));
      assert.equal(LargeValues.bytesMax, most);
      store.requests.clear();
      await assert.rejects(values.write(...key, new Uint8Array(most + 1)), {
        name: "RangeError",
        message:
          "A value has at most 2883584 bytes, and this one has 2883585. " +
          "Store it outside the table, and put its address into a row.",
      });
      assert.equal(store.requests.all().length, 0);
    });

    test("a missing value is undefined, and deleting it returns false", async () => {
      await using store = await open();
      const values = new LargeValues(clientOf(store));
      assert.equal(await values.read(...key), undefined);
      assert.equal(await values.delete(...key), false);
      await values.write(...key, bytesOf(1, rowBytes + 1));
      assert.equal(await values.delete(...key), true);
      assert.deepEqual(await rowKeys(store), []);
      assert.equal(await values.read(...key), undefined);
    });

    test("rows of other entities between its own are neither read nor changed", async () => {
      await using store = await open();
      const table = store.table("files");
      const others = ["photo ", "photo!", "photo!0", "photo!10", "photo!1x", "photo!4", "photos"];
      for (const rowKey of others) await table.createEntity({ partitionKey: "Sales", rowKey });
      const values = new LargeValues(clientOf(store));
      const value = bytesOf(1, most);
      await values.write(...key, value);
      assertSame(await values.read(...key), value);
      await values.delete(...key);
      assert.deepEqual(await rowKeys(store), others);
      for (const quoted of ["o'clock", "a'!b"]) {
        await values.write("it's", quoted, bytesOf(2, rowBytes + 9));
        assertSame(await values.read("it's", quoted), bytesOf(2, rowBytes + 9));
      }
    });

    test("further actions are done with it, or neither", async () => {
      await using store = await open();
      const values = new LargeValues(clientOf(store));
      const employee = { partitionKey: "Sales", rowKey: "employee", photos: 1 };
      await values.write(...key, bytesOf(1, rowBytes + 1), {
        additionalActions: [["create", employee]],
      });
      await assert.rejects(
        values.write(...key, bytesOf(2, 5), { additionalActions: [["create", employee]] }),
        /The specified entity already exists/,
      );
      assertSame(await values.read(...key), bytesOf(1, rowBytes + 1));
      const { partitionKey, rowKey } = employee;
      assert(
        await values.delete(...key, { additionalActions: [["delete", { partitionKey, rowKey }]] }),
      );
      assert.deepEqual(await rowKeys(store), []);
      assert.equal(
        await values.delete(...key, { additionalActions: [["upsert", employee, "Merge"]] }),
        false,
      );
      assert.deepEqual(await rowKeys(store), ["employee"]);
    });

    test("of concurrent writers one is last, and none leaves rows behind", async () => {
      await using store = await open();
      const table = clientOf(store);
      const sizes = [most, 5, rowBytes + 5, 2 * rowBytes + 5];
      await Promise.all(
        sizes.map((length, n) => new LargeValues(table).write(...key, bytesOf(n, length))),
      );
      const value = (await new LargeValues(table).read(...key)) as Uint8Array;
      const winner = sizes.indexOf(value.length);
      assertSame(value, bytesOf(winner, sizes[winner] ?? 0));
      const rows = Math.max(1, Math.ceil(value.length / rowBytes));
      assert.deepEqual(
        await rowKeys(store),
        ["photo", "photo!1", "photo!2", "photo!3"].slice(0, rows),
      );
      assert(store.requests.matching({ code: "EntityAlreadyExists" }).length > 0, "they did meet");
    });

    test("a failed write leaves the previous value", async () => {
      await using store = await open();
      const values = new LargeValues(clientOf(store));
      await values.write(...key, bytesOf(1, most));
      const fault = store.faults.add({ on: "batch", respond: { code: "OperationTimedOut" } });
      await assert.rejects(values.write(...key, bytesOf(2, 7)), /timeout|could not be completed/i);
      await assert.rejects(values.delete(...key));
      fault.remove();
      assertSame(await values.read(...key), bytesOf(1, most));
    });
  });
}

describe("large values", () => {
  test("a lost response, after which the client retries, writes once", async () => {
    await using store = await open();
    const table = clients["the official client"]?.(store) as LargeValueTable;
    const values = new LargeValues(table);
    const counter = (count: number) =>
      ["create", { partitionKey: "Sales", rowKey: `written ${count}` }] as const;
    for (const [count, length] of [rowBytes + 1, 7].entries()) {
      store.faults.add({ on: "batch", times: 1, network: "timeout-after-commit", delayMs: 1 });
      await values.write(...key, bytesOf(count, length), {
        additionalActions: [[...counter(count)]],
      });
      assertSame(await values.read(...key), bytesOf(count, length));
    }
    assert.deepEqual(await rowKeys(store), ["photo", "written 0", "written 1"]);
    store.faults.add({ on: "batch", times: 1, network: "timeout-after-commit", delayMs: 1 });
    assert.equal(await values.delete(...key), true);
  });

  // Returns the table with each list divided into two pages: the first row, and the others. After
  // each page, calls `after` with the number of pages so far.
  function paged(
    table: ReturnType<MockStore["table"]>,
    after: (pages: number) => Promise<unknown>,
  ): LargeValueTable {
    let pages = 0;
    return {
      submitTransaction: (actions) => table.submitTransaction(actions),
      async *listEntities({ queryOptions } = {}) {
        for (const range of ["RowKey le 'photo'", "RowKey gt 'photo'"]) {
          const filter = `${queryOptions?.filter} and ${range}`;
          yield* table.listEntities({ queryOptions: { ...queryOptions, filter } });
          pages += 1;
          await after(pages);
        }
      },
    };
  }

  test("a write between two pages of a reader does no harm", async () => {
    await using store = await open();
    const table = store.table("files");
    const values = new LargeValues(table);
    await values.write(...key, bytesOf(1, most));
    let pages = 0;
    const slow = paged(table, async (count) => {
      pages = count;
      if (count === 1) await values.write(...key, bytesOf(2, most - 1)); // the same number of rows
    });
    assertSame(await new LargeValues(slow).read(...key), bytesOf(2, most - 1));
    assert.equal(pages, 4);
  });

  test("nor does a write that is repeated because its response was lost", async () => {
    await using store = await open();
    const table = store.table("files");
    // A client that repeats a write uses the same Version; a fixed random source simulates this.
    const again = new LargeValues(table, { random: { fill: (bytes) => void bytes.fill(7) } });
    const others = new LargeValues(table);
    await again.write(...key, bytesOf(1, most));
    const slow = paged(table, async (count) => {
      if (count === 1) await others.write(...key, bytesOf(2, most));
      if (count === 2) await again.write(...key, bytesOf(1, most));
      if (count === 3) await others.write(...key, bytesOf(3, most));
    });
    assertSame(await new LargeValues(slow).read(...key), bytesOf(3, most));
  });

  test("a write between two pages of a delete stays complete", async () => {
    await using store = await open();
    const table = store.table("files");
    const values = new LargeValues(table);
    const slow = paged(table, async (count) => {
      if (count === 1) await values.write(...key, bytesOf(1, most));
    });
    assert.equal(await new LargeValues(slow).delete(...key), false);
    assertSame(await values.read(...key), bytesOf(1, most));
    assert.equal(await values.delete(...key), true);
    assert.deepEqual(await rowKeys(store), []);
  });

  test("rows that a delete leaves are invisible, and the next write removes them", async () => {
    await using store = await open();
    const table = store.table("files");
    const values = new LargeValues(table);
    await values.write(...key, bytesOf(1, 1));
    let writes = 0;
    const slow: LargeValueTable = {
      listEntities: (options) => table.listEntities(options),
      async submitTransaction(actions) {
        writes += 1;
        if (writes === 1) await values.write(...key, bytesOf(2, most));
        return table.submitTransaction(actions);
      },
    };
    assert.equal(await new LargeValues(slow).delete(...key), true);
    assert.deepEqual(await rowKeys(store), ["photo!1", "photo!2", "photo!3"]);
    assert.equal(await values.read(...key), undefined);
    assert.equal(await values.delete(...key), false);
    await values.write(...key, bytesOf(3, 1));
    assert.deepEqual(await rowKeys(store), ["photo"]);
  });

  test("rows that another program changed are reported and then repaired", async () => {
    await using store = await open();
    const table = store.table("files");
    const values = new LargeValues(table);
    const damages = [
      () => table.deleteEntity("Sales", "photo!1"),
      () => table.updateEntity({ partitionKey: "Sales", rowKey: "photo!2", Version: "x" }, "Merge"),
      () => table.updateEntity({ partitionKey: "Sales", rowKey: "photo", Bytes: 5 }, "Merge"),
      () => table.upsertEntity({ partitionKey: "Sales", rowKey: "photo", name: "x" }, "Replace"),
      () => table.upsertEntity({ partitionKey: "Sales", rowKey: "photo", Bytes: 2e9 }, "Merge"),
      () => table.upsertEntity({ partitionKey: "Sales", rowKey: "photo", Bytes: -1 }, "Merge"),
    ];
    for (const [n, damage] of damages.entries()) {
      await values.write(...key, bytesOf(n, most));
      await damage();
      await assert.rejects(values.read(...key), {
        message:
          'The rows of the value "photo" in the partition "Sales" are not all of the same write.',
      });
      await values.write(...key, bytesOf(n, 9));
      assertSame(await values.read(...key), bytesOf(n, 9));
      assert.deepEqual(await rowKeys(store), ["photo"]);
    }
    await values.write(...key, bytesOf(1, most));
    await table.deleteEntity("Sales", "photo");
    assert.equal(await values.read(...key), undefined);
    await values.write(...key, bytesOf(2, 8));
    assert.deepEqual(await rowKeys(store), ["photo"]);
  });

  test("a read takes one request, and a write two", async () => {
    await using store = await open();
    const values = new LargeValues(store.table("files"));
    await values.write(...key, bytesOf(1, rowBytes + 1));
    store.requests.clear();
    await values.read(...key);
    await values.write(...key, bytesOf(2, most));
    assert.deepEqual(
      store.requests.all().map(({ operation, rowsRead }) => [operation, rowsRead ?? 0]),
      [
        ["query", 2],
        ["query", 2],
        ["batch", 0],
      ],
    );
  });

  test("a missing table is reported", async () => {
    await using store = await open();
    const values = new LargeValues(store.table("missing"));
    for (const call of [
      () => values.read(...key),
      () => values.write(...key, bytesOf(1, 1)),
      () => values.delete(...key),
    ]) {
      await assert.rejects(call(), { code: "TableNotFound" });
    }
  });

  test(`concurrent readers get complete values only (seed ${seed})`, async () => {
    await using store = await mockStore({
      name: "acme",
      seed: 1 + (seed % 1_000_000),
      fixtures: { files: [] },
      latency: [0, 3],
      emptyPages: 0.2,
    });
    const random = seededRandom(seed);
    const table = store.table("files");
    const sizes = [0, 9, rowBytes - 1, rowBytes + 1, 3 * rowBytes, most];
    const written = new Set<string>(["none"]);
    const nameOf = (value: Uint8Array | undefined) =>
      value === undefined
        ? "none"
        : `${value.length}: ${Buffer.from(value).subarray(-9).toString("hex")}`;
    const faults = [
      store.faults.add({ on: "batch", probability: 0.1, network: "reset" }),
      store.faults.add({
        on: "batch",
        probability: 0.1,
        network: "timeout-after-commit",
        delayMs: 2,
      }),
    ];
    let reads = 0;
    const act = async (n: number) => {
      const values = new LargeValues(table);
      const what = random.below(8);
      if (what < 3) {
        const value = bytesOf(n, sizes[random.below(sizes.length)] ?? 0);
        written.add(nameOf(value));
        await values.write(...key, value).catch(lost);
      } else if (what === 3) {
        await values.delete(...key).catch(lost);
      } else {
        const value = await values.read(...key);
        assert(written.has(nameOf(value)), nameOf(value));
        if (value !== undefined) reads += 1;
      }
    };
    for (let step = 0; step < steps; step += 1) {
      await Promise.all([0, 1, 2].map((i) => act(step * 3 + i)));
    }
    for (const fault of faults) fault.remove();
    assert(reads > 0);
    await new LargeValues(table).write(...key, bytesOf(1, 1));
    assert.deepEqual(await rowKeys(store), ["photo"]);
  });
});

function lost(error: Error & { code?: string }): void {
  assert.match(error.code ?? "", /^(ECONNRESET|ETIMEDOUT)$/);
}
