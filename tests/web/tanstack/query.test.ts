// Queries of TanStack Query on a store, and their invalidation.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { Store } from "../../../web/src/types.ts";
import { openStore } from "../support/package.ts";
import { query } from "../support/tanstack.ts";
import { until } from "../support/until.ts";

interface Lamp {
  stock: number;
}

const { QueryClient, QueryObserver, entityQueryOptions, invalidateOnChange, listQueryOptions } =
  query;

let store: Store;
let client: InstanceType<typeof QueryClient>;
let stop: () => void;

beforeEach(async () => {
  store = await openStore({ persistence: "memory", durability: "deferred", onWarning() {} });
  await store.table("lamps").createTable();
  client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 60_000 } } });
  client.mount();
  stop = invalidateOnChange(client);
});
afterEach(async () => {
  stop();
  client.clear();
  client.unmount();
  await store.close();
});

const put = (rowKey: string, stock: number, partitionKey = "desk") =>
  store.table<Lamp>("lamps").upsertEntity({ partitionKey, rowKey, stock }, "Replace");

const above = (stock: number) =>
  listQueryOptions<Lamp>(store, "lamps", { queryOptions: { filter: `stock gt ${stock}` } });

// Shows a query as a component does. `reads` counts how often it was read.
function show<R>(
  options: ReturnType<typeof listQueryOptions<never>> | { queryFn: (context: never) => Promise<R> },
) {
  const observer = new QueryObserver(client, options as never);
  const setOptions = (newer: typeof options) => observer.setOptions(newer as never);
  const data = undefined as R | undefined;
  const shown = { data, status: "pending", reads: 0, setOptions, end() {} };
  shown.end = observer.subscribe((result) => {
    if (result.fetchStatus === "idle" && result.status !== "pending") shown.reads += 1;
    shown.data = result.data as R;
    shown.status = result.status;
  });
  return shown;
}

// Returns a store whose lists end only after `ending`.
function endingLists(ending: () => Promise<unknown>): Store {
  const { name, status } = store;
  const table = (tableName: string) => ({
    async *listEntities(options: object) {
      yield* store.table(tableName).listEntities(options);
      await ending();
    },
  });
  const changes: Store["changes"] = (options) => store.changes(options);
  return { name, status, table, changes } as unknown as Store;
}

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const keys = (rows: readonly { rowKey: string }[] | undefined) =>
  rows?.map(({ rowKey }) => rowKey).join();

describe("a query of a list", () => {
  test("has what listEntities returns, and is read again when that changes", async () => {
    await put("1", 5);
    const shown = show<{ rowKey: string; stock: number }[]>(above(3));
    await until(() => keys(shown.data) === "1");
    await put("2", 7);
    await until(() => keys(shown.data) === "1,2");
    await put("1", 2); // leaves
    await until(() => keys(shown.data) === "2");
    await store.table("lamps").deleteEntity("desk", "2");
    await until(() => keys(shown.data) === "");
    shown.end();
  });

  test("is not read again for changes out of its range", async () => {
    await put("1", 5);
    const shown = show<{ rowKey: string }[]>(above(3));
    const others = show<{ rowKey: string }[]>(listQueryOptions(store, "lamps"));
    await until(() => keys(shown.data) === "1" && keys(others.data) === "1");
    await wait(50); // feeds are open
    const { reads } = shown;
    await put("2", 1);
    await until(() => keys(others.data) === "1,2");
    assert.equal(shown.reads, reads);
    shown.end();
    others.end();
  });

  test("has changes that were made while no component showed it", async () => {
    const first = show<{ rowKey: string }[]>(above(3));
    await until(() => first.status === "success");
    first.end();
    await put("1", 5);
    const second = show<{ rowKey: string }[]>(above(3));
    await until(() => keys(second.data) === "1");
    second.end();
  });

  test("has a change that is made while it is read for the first time", async () => {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    let lists = 0;
    const slow = endingLists(() => {
      lists += 1;
      return ended;
    });
    const shown = show<{ rowKey: string }[]>(listQueryOptions(slow, "lamps"));
    await until(() => lists === 1);
    await wait(50); // the feed is open
    await put("1", 5);
    await wait(50); // the feed has the change
    end();
    await until(() => keys(shown.data) === "1");
    shown.end();
  });

  test("has new results while changes are more frequent than a read takes", async () => {
    let running = 0;
    let runningMax = 0;
    const slow = endingLists(async () => {
      running += 1;
      runningMax = Math.max(runningMax, running);
      await wait(50);
      running -= 1;
    });
    const shown = show<{ stock: number }[]>(listQueryOptions<Lamp>(slow, "lamps"));
    let stock = 0;
    let isWriting = true;
    const write = async () => {
      for (; isWriting; await wait(1)) await put("1", ++stock);
    };
    const written = write();
    try {
      await until(() => shown.reads >= 4);
    } finally {
      isWriting = false;
      await written;
    }
    await until(() => shown.data?.[0]?.stock === stock);
    assert.equal(runningMax, 1);
    shown.end();
  });

  test("follows a store that was opened again with the same name", async () => {
    const path = mkdtempSync(join(tmpdir(), "entitable-query-"));
    const reopened = () => openStore({ name: "shop", persistence: "file", path, onWarning() {} });
    const first = await reopened();
    await first.table("lamps").createTable();
    const shown = show<{ rowKey: string }[]>(listQueryOptions(first, "lamps"));
    await until(() => keys(shown.data) === "");
    await first.close();
    const second = await reopened();
    shown.setOptions(listQueryOptions(second, "lamps"));
    await wait(50); // the feed is open
    await second.table("lamps").createEntity({ partitionKey: "desk", rowKey: "1" });
    await until(() => keys(shown.data) === "1");
    shown.end();
    await second.close();
    rmSync(path, { recursive: true });
  });

  test("has the error of a wrong filter or a missing table", async () => {
    const wrong = show(listQueryOptions(store, "lamps", { queryOptions: { filter: "stock >" } }));
    const missing = show(listQueryOptions(store, "others"));
    await until(() => wrong.status === "error" && missing.status === "error");
    wrong.end();
    missing.end();
  });
});

test("a query of an entity is null while it does not exist", async () => {
  const shown = show<{ stock: number } | null>(
    entityQueryOptions<Lamp>(store, "lamps", "desk", "1"),
  );
  await until(() => shown.data === null);
  await put("1", 5);
  await until(() => shown.data?.stock === 5);
  await store.table("lamps").deleteEntity("desk", "1");
  await until(() => shown.data === null);
  shown.end();
});

for (const name of ["other", undefined]) {
  test(`the queries of two stores differ, the second with the name ${name}`, async () => {
    const other = await openStore({ ...(name && { name }), persistence: "memory", onWarning() {} });
    const keysOf = (one: Store) => [
      listQueryOptions(one, "lamps").queryKey,
      entityQueryOptions(one, "lamps", "desk", "1").queryKey,
    ];
    const [ofStore, ofOther] = [keysOf(store), keysOf(other)];
    for (const [index, key] of ofStore.entries()) assert.notDeepEqual(key, ofOther[index]);
    assert.deepEqual(keysOf(store), ofStore);
    await other.close();
  });
}

test("nothing is invalidated after the end", async () => {
  const shown = show<{ rowKey: string }[]>(above(3));
  await until(() => keys(shown.data) === "");
  stop();
  await put("1", 5);
  await wait(50);
  assert.equal(keys(shown.data), "");
  shown.end();
});
