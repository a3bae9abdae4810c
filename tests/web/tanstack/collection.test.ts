// A table as a collection of TanStack DB.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { Store, Table } from "../../../web/src/types.ts";
import { openStore } from "../support/package.ts";
import { db, entitableCollectionOptions } from "../support/tanstack.ts";
import { until } from "../support/until.ts";

interface Lamp {
  name: string;
  stock: number;
  made?: Date;
}

const { createCollection, createLiveQueryCollection, createTransaction, eq, gt } = db;

let store: Store;
let lamps: Table<Lamp>;
const opened: { cleanup(): Promise<void> }[] = [];

beforeEach(async () => {
  store = await openStore({ persistence: "memory", durability: "deferred", onWarning() {} });
  lamps = store.table<Lamp>("lamps");
  await lamps.createTable();
});
afterEach(async () => {
  for (const collection of opened.splice(0)) await collection.cleanup();
  await store.close();
});

const put = (rowKey: string, stock: number, partitionKey = "desk") =>
  lamps.upsertEntity({ partitionKey, rowKey, name: `lamp ${rowKey}`, stock }, "Replace");

function keep<C extends { cleanup(): Promise<void> }>(collection: C): C {
  opened.push(collection);
  return collection;
}

const allLamps = () => keep(createCollection(entitableCollectionOptions<Lamp>({ table: lamps })));

const keysOf = (collection: { toArray: readonly { rowKey: string }[] }) =>
  collection.toArray.map(({ rowKey }) => rowKey).sort();

function isConflict(error: unknown): boolean {
  const { statusCode, code } = error as { statusCode?: number; code?: string };
  return statusCode === 412 && code === "UpdateConditionNotSatisfied";
}

describe("a collection of all rows", () => {
  test("has the rows, and follows what others write", async () => {
    await put("1", 1);
    const collection = allLamps();
    await collection.preload();
    assert.equal(collection.status, "ready");
    assert.equal(collection.get("desk/1")?.stock, 1);
    await put("2", 2);
    await put("1", 5);
    await until(() => collection.size === 2 && collection.get("desk/1")?.stock === 5);
    await lamps.deleteEntity("desk", "2");
    await until(() => collection.size === 1);
  });

  test("shows a transaction as one change", async () => {
    const collection = allLamps();
    await collection.preload();
    const sizes: number[] = [];
    collection.subscribeChanges((changes) => sizes.push(changes.length));
    await lamps.submitTransaction([
      ["create", { partitionKey: "desk", rowKey: "1", name: "Bow", stock: 1 }],
      ["create", { partitionKey: "desk", rowKey: "2", name: "Arc", stock: 2 }],
    ]);
    await until(() => collection.size === 2);
    assert.deepEqual(sizes, [2]);
  });

  test("has only the rows that the filter matches", async () => {
    for (const stock of [1, 5, 9]) await put(String(stock), stock);
    const config = { table: lamps, filter: "stock gt 3" };
    const collection = keep(createCollection(entitableCollectionOptions<Lamp>(config)));
    await collection.preload();
    assert.deepEqual(keysOf(collection), ["5", "9"]);
    await put("1", 4);
    await until(() => collection.size === 3);
  });

  test("opens the table when it is first used", async () => {
    let calls = 0;
    const table = async () => {
      calls += 1;
      return lamps;
    };
    const collection = keep(createCollection(entitableCollectionOptions<Lamp>({ table })));
    assert.equal(calls, 0);
    await collection.preload();
    assert.equal(calls, 1);
    for (const rowKey of ["1", "2"]) {
      const row = { partitionKey: "desk", rowKey, name: "Bow", stock: 1 };
      await collection.insert(row).isPersisted.promise;
    }
    assert.equal(calls, 1);
    await collection.cleanup();
    await collection.preload();
    assert.equal(calls, 2);
  });

  test("opens the table again if that failed, and does not open it to write nothing", async () => {
    let calls = 0;
    const table = async () => {
      calls += 1;
      if (calls === 1) throw new Error("not yet");
      return lamps;
    };
    const config = { table, syncMode: "on-demand" } as const;
    const collection = keep(createCollection(entitableCollectionOptions<Lamp>(config)));
    await collection.utils.acceptMutations({ mutations: [] });
    assert.equal(calls, 0);
    const row = { partitionKey: "desk", rowKey: "1", name: "Bow", stock: 1 };
    await assert.rejects(collection.insert(row).isPersisted.promise, /not yet/);
    await collection.insert(row).isPersisted.promise;
    assert.equal(calls, 2);
  });

  test("fails without the table, and has its rows once it is created", async () => {
    const table = store.table<Lamp>("later");
    const collection = keep(createCollection(entitableCollectionOptions<Lamp>({ table })));
    await assert.rejects(collection.preload(), { code: "TableNotFound" });
    assert.equal(collection.status, "error");
    await table.createTable();
    await table.createEntity({ partitionKey: "desk", rowKey: "1", name: "Bow", stock: 1 });
    await until(() => collection.status === "ready" && collection.size === 1);
  });

  test("is empty while the table is deleted", async () => {
    await put("1", 1);
    const collection = allLamps();
    await collection.preload();
    await lamps.deleteTable();
    await until(() => collection.size === 0);
    await lamps.createTable();
    await put("2", 2);
    await until(() => collection.size === 1);
  });

  test("closes its live query when it is cleaned up, and starts again", async () => {
    await put("1", 1);
    const collection = allLamps();
    await collection.preload();
    await collection.cleanup();
    await put("2", 2);
    await collection.preload();
    assert.deepEqual(keysOf(collection), ["1", "2"]);
  });

  test("rejects if the store is closed", async () => {
    const other = await openStore({ persistence: "memory" });
    const table = other.table<Lamp>("lamps");
    await table.createTable();
    await other.close();
    const collection = keep(createCollection(entitableCollectionOptions<Lamp>({ table })));
    await assert.rejects(collection.preload(), { code: "StoreClosed" });
  });
});

describe("mutations", () => {
  const bow = { partitionKey: "desk", rowKey: "1", name: "Bow", stock: 1 };

  test("are shown at once, and are stored", async () => {
    const collection = allLamps();
    await collection.preload();
    const inserted = collection.insert(bow);
    assert.equal(collection.get("desk/1")?.name, "Bow");
    await inserted.isPersisted.promise;
    assert.equal((await lamps.getEntity("desk", "1")).name, "Bow");
    assert.equal(typeof collection.get("desk/1")?.etag, "string"); // as stored

    const updated = collection.update("desk/1", (draft) => {
      draft.stock = 7;
    });
    assert.equal(collection.get("desk/1")?.stock, 7);
    await updated.isPersisted.promise;
    const stored = await lamps.getEntity("desk", "1");
    assert.deepEqual([stored.name, stored.stock], ["Bow", 7]);
    assert.equal(collection.get("desk/1")?.etag, stored.etag);

    const deleted = collection.delete("desk/1");
    assert.equal(collection.size, 0);
    await deleted.isPersisted.promise;
    await assert.rejects(lamps.getEntity("desk", "1"), { statusCode: 404 });
  });

  test("are never shown as they were before", async () => {
    const collection = allLamps();
    await collection.preload();
    const shown: unknown[] = [];
    const changes = collection.subscribeChanges((changes) => {
      for (const { type, value } of changes) shown.push([type, value.stock]);
    });
    await collection.insert(bow).isPersisted.promise;
    await collection.update("desk/1", (draft) => {
      draft.stock = 7;
    }).isPersisted.promise;
    await collection.delete("desk/1").isPersisted.promise;
    changes.unsubscribe();
    const steps = shown.filter((step, i) => !isDeepStrictEqual(step, shown[i - 1]));
    assert.deepEqual(steps, [
      ["insert", bow.stock],
      ["update", bow.stock], // has an ETag now
      ["update", 7],
      ["delete", 7],
    ]);
  });

  test("that fail are rolled back", async () => {
    await put("1", 1);
    const config = { table: lamps, filter: "stock gt 3" };
    const collection = keep(createCollection(entitableCollectionOptions<Lamp>(config)));
    await collection.preload();
    const inserted = collection.insert(bow);
    await assert.rejects(inserted.isPersisted.promise, { code: "EntityAlreadyExists" });
    assert.equal(collection.size, 0);
  });

  test("an update of a row that another tab has changed fails, and shows that change", async () => {
    await put("1", 1);
    const collection = allLamps();
    await collection.preload();
    const other = put("1", 5); // is not shown yet
    const updated = collection.update("desk/1", (draft) => {
      draft.stock = 7;
    });
    await assert.rejects(updated.isPersisted.promise, isConflict);
    await other;
    assert.equal(collection.get("desk/1")?.stock, 5);
    assert.equal((await lamps.getEntity("desk", "1")).stock, 5);
  });

  test("an update with an ETag in its metadata fails if the row has another one", async () => {
    await put("1", 1);
    const collection = allLamps();
    await collection.preload();
    const etag = collection.get("desk/1")?.etag; // when the user begins to edit
    await put("1", 5);
    await until(() => collection.get("desk/1")?.stock === 5);
    const change = (draft: Lamp) => {
      draft.stock = 7;
    };
    const updated = collection.update("desk/1", { metadata: { etag } }, change);
    await assert.rejects(updated.isPersisted.promise, isConflict);
    await collection.update("desk/1", { metadata: { etag: "*" } }, change).isPersisted.promise;
    assert.equal((await lamps.getEntity("desk", "1")).stock, 7);
  });

  test("of the same row follow each other without a conflict", async () => {
    const collection = allLamps();
    await collection.preload();
    const all = [collection.insert(bow)];
    for (let stock = 2; stock <= 6; ++stock) {
      all.push(
        collection.update("desk/1", (draft) => {
          draft.stock = stock;
        }),
      );
    }
    all.push(collection.delete("desk/1"), collection.insert({ ...bow, stock: 8 }));
    all.push(
      collection.update("desk/1", (draft) => {
        draft.name = "Arc";
      }),
    );
    for (const { isPersisted } of all) await isPersisted.promise;
    const { name, stock } = await lamps.getEntity("desk", "1");
    assert.deepEqual([name, stock], ["Arc", 8]);
  });

  test("an update of a row that could not be inserted changes nothing", async () => {
    await put("1", 1);
    const config = { table: lamps, filter: "stock gt 3" };
    const collection = keep(createCollection(entitableCollectionOptions<Lamp>(config)));
    await collection.preload();
    const inserted = collection.insert(bow);
    const updated = collection.update("desk/1", (draft) => {
      draft.stock = 9;
    });
    await assert.rejects(inserted.isPersisted.promise);
    await assert.rejects(updated.isPersisted.promise);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal((await lamps.getEntity("desk", "1")).name, "lamp 1");
    assert.equal((await lamps.getEntity("desk", "1")).stock, 1);
  });

  test("merge what has changed, and remove what was removed", async () => {
    await lamps.createEntity({
      ...bow,
      made: new Date(0),
      stock: { value: 3, type: "Double" } as never,
    });
    const collection = allLamps();
    await collection.preload();
    await collection.update("desk/1", (draft) => {
      draft.name = "Arc";
    }).isPersisted.promise;
    const raw = await lamps.getEntity("desk", "1", { disableTypeConversion: true });
    assert.deepEqual(raw.stock, { value: "3", type: "Double" });
    await collection.update("desk/1", (draft) => {
      delete draft.made;
    }).isPersisted.promise;
    assert.equal((await lamps.getEntity("desk", "1")).made, undefined);
    assert.equal(collection.get("desk/1")?.made, undefined);
  });

  test("of one call and one partition are a transaction", async () => {
    await put("2", 2);
    const config = { table: lamps, filter: "stock gt 3" };
    const collection = keep(createCollection(entitableCollectionOptions<Lamp>(config)));
    await collection.preload();
    const rows = ["1", "2", "3"].map((rowKey) => ({ ...bow, rowKey }));
    await assert.rejects(collection.insert(rows).isPersisted.promise, { statusCode: 409 });
    assert.equal(await lamps.count(), 1);
    await lamps.deleteEntity("desk", "2");
    await collection.insert(rows).isPersisted.promise;
    assert.equal(await lamps.count(), 3);
  });

  test("of many rows and partitions are several transactions", async () => {
    const collection = allLamps();
    await collection.preload();
    const rows = Array.from({ length: 250 }, (_, i) => ({
      ...bow,
      partitionKey: i < 210 ? "desk" : "floor",
      rowKey: String(i),
    }));
    await collection.insert(rows).isPersisted.promise;
    assert.equal(await lamps.count(), 250);
    assert.equal(collection.size, 250);
    const all = [...collection.keys()];
    await collection.delete(all).isPersisted.promise;
    assert.equal(await lamps.count(), 0);
  });

  test("of a transaction of the user are written by acceptMutations()", async () => {
    const collection = allLamps();
    const others = keep(createCollection(entitableCollectionOptions<Lamp>({ table: lamps })));
    await collection.preload();
    const transaction = createTransaction({
      autoCommit: false,
      mutationFn: async ({ transaction }) => {
        await others.utils.acceptMutations(transaction);
        await collection.utils.acceptMutations(transaction);
      },
    });
    transaction.mutate(() => {
      collection.insert(bow);
      collection.update("desk/1", (draft) => {
        draft.stock = 4;
      });
    });
    await transaction.commit();
    assert.equal((await lamps.getEntity("desk", "1")).stock, 4);
    assert.equal(collection.get("desk/1")?.stock, 4);
  });

  test("insert copies of rows, without what TanStack DB adds to them", async () => {
    await put("1", 1);
    const collection = allLamps();
    await collection.preload();
    const row = collection.get("desk/1");
    assert(row !== undefined);
    await collection.insert({ ...row, rowKey: "2" }).isPersisted.promise;
    const { etag, timestamp, ...stored } = await lamps.getEntity("desk", "2");
    assert.deepEqual(
      { ...stored },
      { partitionKey: "desk", rowKey: "2", name: "lamp 1", stock: 1 },
    );
    assert.equal(collection.get("desk/2")?.etag, etag);
    assert.notEqual(timestamp, undefined);
    await collection.delete("desk/1").isPersisted.promise;
    await collection.insert(row).isPersisted.promise; // undo
    assert.equal(await lamps.count(), 2);
  });

  test("fail when the store is closed", async () => {
    const other = await openStore({ persistence: "memory" });
    const table = other.table<Lamp>("lamps");
    await table.createTable();
    const collection = keep(createCollection(entitableCollectionOptions<Lamp>({ table })));
    await collection.preload();
    await other.close();
    await assert.rejects(collection.insert(bow).isPersisted.promise, { code: "StoreClosed" });
    assert.equal(collection.size, 0);
  });
});

describe("a collection that is read on demand", () => {
  // Returns a collection, and the options of the live queries that it opens.
  function onDemand() {
    const opened: { queryOptions?: { filter?: string }; limit?: number }[] = [];
    let open = 0;
    const table = {
      tableName: lamps.tableName,
      live(options: (typeof opened)[number]) {
        opened.push(options);
        open += 1;
        const live = lamps.live(options);
        const close = live.close.bind(live);
        live.close = () => {
          open -= 1;
          close();
        };
        return live;
      },
      liveEntity: lamps.liveEntity.bind(lamps),
      createEntity: lamps.createEntity.bind(lamps),
    } as unknown as Table<Lamp>;
    const index = { autoIndex: "eager", defaultIndexType: db.BTreeIndex } as const;
    const config = { table, syncMode: "on-demand", ...index } as const;
    const collection = keep(createCollection(entitableCollectionOptions<Lamp>(config)));
    const texts = () =>
      opened.map(({ queryOptions, limit }) => [queryOptions?.filter, limit] as const);
    return { collection, texts, openCount: () => open };
  }

  test("reads the key ranges and filters of its queries only", async () => {
    for (let i = 0; i < 9; ++i) await put(String(i), i, i < 5 ? "desk" : "floor");
    const { collection, texts } = onDemand();
    const query = keep(
      createLiveQueryCollection((q) =>
        q
          .from({ lamp: collection })
          .where(({ lamp }) => eq(lamp.partitionKey, "desk"))
          .where(({ lamp }) => gt(lamp.rowKey, "2")),
      ),
    );
    await query.preload();
    assert.deepEqual(keysOf(query), ["3", "4"]);
    assert.equal(collection.size, 2);
    assert.deepEqual(texts(), [["PartitionKey eq 'desk' and RowKey gt '2'", undefined]]);
    await put("33", 3);
    await until(() => query.size === 3);
    assert.equal(collection.size, 3);
  });

  test("reads no more rows of an ordered partition than are wanted", async () => {
    for (let i = 10; i < 50; ++i) await put(String(i), i);
    const { collection, texts } = onDemand();
    const query = keep(
      createLiveQueryCollection((q) =>
        q
          .from({ lamp: collection })
          .where(({ lamp }) => eq(lamp.partitionKey, "desk"))
          .orderBy(({ lamp }) => lamp.rowKey)
          .limit(3),
      ),
    );
    await query.preload();
    assert.deepEqual(
      query.toArray.map(({ rowKey }) => rowKey),
      ["10", "11", "12"],
    );
    assert.deepEqual(texts()[0], ["PartitionKey eq 'desk'", 3]);
    assert.equal(collection.size, 3);
    await put("00", 0);
    await lamps.deleteEntity("desk", "11");
    await until(() => query.toArray.map(({ rowKey }) => rowKey).join() === "00,10,12");
    await lamps.deleteEntity("desk", "12");
    await until(() => query.toArray.map(({ rowKey }) => rowKey).join() === "00,10,13");
  });

  test("closes a live query when its last query has gone, and keeps rows of others", async () => {
    for (let i = 0; i < 9; ++i) await put(String(i), i);
    const { collection, openCount } = onDemand();
    const above = (stock: number) =>
      createLiveQueryCollection((q) =>
        q.from({ lamp: collection }).where(({ lamp }) => gt(lamp.stock, stock)),
      );
    const queries = [above(3), above(3), above(6)];
    for (const query of queries) await query.preload();
    assert.equal(openCount(), 2);
    assert.equal(collection.size, 5);
    await queries[0]?.cleanup();
    assert.equal(openCount(), 2);
    await queries[1]?.cleanup();
    assert.equal(openCount(), 1);
    await until(() => collection.size === 2);
    assert.deepEqual(keysOf(queries[2] as never), ["7", "8"]);
    await queries[2]?.cleanup();
    assert.equal(openCount(), 0);
  });

  test("fails a query without the table, and has its rows once it is created", async () => {
    await lamps.deleteTable();
    const { collection } = onDemand();
    const all = () => createLiveQueryCollection((q) => q.from({ lamp: collection }));
    const query = keep(all());
    await assert.rejects(query.preload());
    await lamps.createTable();
    await put("1", 1);
    const again = keep(all());
    await again.preload();
    assert.equal(again.size, 1);
  });

  test("inserts rows", async () => {
    const { collection } = onDemand();
    const query = keep(
      createLiveQueryCollection((q) =>
        q.from({ lamp: collection }).where(({ lamp }) => eq(lamp.partitionKey, "desk")),
      ),
    );
    await query.preload();
    const row = { partitionKey: "desk", rowKey: "1", name: "Bow", stock: 1 };
    const inserted = collection.insert(row);
    assert.equal(query.size, 1);
    await inserted.isPersisted.promise;
    assert.equal(typeof query.toArray[0]?.etag, "string");
  });
});

describe("rows of another form", () => {
  interface Row {
    id: string;
    name: string;
    tags: string[];
  }
  interface Stored {
    name: string;
    tags: string;
  }
  const conversion = {
    getKey: (row: Row) => row.id,
    toRow: ({ rowKey, name, tags }: Stored & { rowKey: string }): Row => ({
      id: rowKey,
      name,
      tags: JSON.parse(tags),
    }),
    toEntity: ({ id, name, tags }: Row) => ({
      partitionKey: "all",
      rowKey: id,
      name,
      tags: JSON.stringify(tags),
    }),
  };

  test("are converted from and to entities", async () => {
    const table = store.table<Stored>("lamps");
    const collection = keep(
      createCollection(entitableCollectionOptions<Stored, Row>({ table, ...conversion })),
    );
    await collection.preload();
    await collection.insert({ id: "1", name: "Bow", tags: ["a"] }).isPersisted.promise;
    assert.deepEqual({ ...(await table.getEntity("all", "1")) }.tags, '["a"]');
    await collection.update("1", (draft) => {
      draft.tags.push("b");
    }).isPersisted.promise;
    assert.deepEqual(collection.get("1")?.tags, ["a", "b"]);
    await table.updateEntity({ partitionKey: "all", rowKey: "1", name: "Arc" });
    await until(() => collection.get("1")?.name === "Arc");
  });

  test("an entity that cannot be converted has no row", async () => {
    const table = store.table<Stored>("lamps");
    const put = (rowKey: string, tags: string) =>
      table.upsertEntity({ partitionKey: "all", rowKey, name: rowKey, tags });
    await put("1", "[]");
    const collection = keep(
      createCollection(entitableCollectionOptions<Stored, Row>({ table, ...conversion })),
    );
    await collection.preload();
    const errors: unknown[] = [];
    const note = (error: unknown) => errors.push(error);
    const listeners = process.rawListeners("unhandledRejection") as (() => void)[];
    process.removeAllListeners("unhandledRejection").on("unhandledRejection", note);
    try {
      await put("1", "not JSON");
      await put("2", "[]");
      await until(() => errors.length === 1 && collection.has("2") && !collection.has("1"));
      await put("1", "[3]");
      await until(() => collection.has("1"));
    } finally {
      process.off("unhandledRejection", note);
      for (const listener of listeners) process.on("unhandledRejection", listener);
    }
    assert(errors[0] instanceof SyntaxError);
  });

  test("are filtered by the properties that entities have, too", async () => {
    const filters: unknown[] = [];
    const entities = store.table<Stored>("lamps");
    const table = {
      live(options: { queryOptions: { filter: string } }) {
        filters.push(options.queryOptions.filter);
        return entities.live(options);
      },
    } as unknown as Table<Stored>;
    for (const name of ["Bow", "Arc"])
      await entities.createEntity({ partitionKey: "all", rowKey: name, name, tags: "[]" });
    const collection = keep(
      createCollection(
        entitableCollectionOptions<Stored, Row>({
          table,
          syncMode: "on-demand",
          ...conversion,
          sameProperties: { id: "rowKey" },
        }),
      ),
    );
    const query = keep(
      createLiveQueryCollection((q) =>
        q
          .from({ row: collection })
          .where(({ row }) => eq(row.id, "Bow"))
          .where(({ row }) => eq(row.name, "Bow")),
      ),
    );
    await query.preload();
    assert.deepEqual(filters, ["RowKey eq 'Bow'"]);
    assert.deepEqual(
      query.toArray.map(({ name }) => name),
      ["Bow"],
    );
  });
});
