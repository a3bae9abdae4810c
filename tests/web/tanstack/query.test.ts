// Queries of TanStack Query on a store, and their invalidation.

import assert from "node:assert/strict";
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
  const shown = { data: undefined as R | undefined, status: "pending", reads: 0, end() {} };
  shown.end = observer.subscribe((result) => {
    if (result.fetchStatus === "idle" && result.status !== "pending") shown.reads += 1;
    shown.data = result.data as R;
    shown.status = result.status;
  });
  return shown;
}

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
    await new Promise((resolve) => setTimeout(resolve, 50)); // feeds are open
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

test("the queries of two stores differ", async () => {
  const other = await openStore({ name: "other", persistence: "memory", onWarning() {} });
  const options = [store, other].map((one) => listQueryOptions(one, "lamps").queryKey);
  assert.notDeepEqual(options[0], options[1]);
  await other.close();
});

test("nothing is invalidated after the end", async () => {
  const shown = show<{ rowKey: string }[]>(above(3));
  await until(() => keys(shown.data) === "");
  stop();
  await put("1", 5);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(keys(shown.data), "");
  shown.end();
});
