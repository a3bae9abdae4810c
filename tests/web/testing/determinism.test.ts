// Equal calls must get equal bytes: in every mock store with the same seed, in forks, after
// rollbacks, and over HTTP.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openStore } from "../../../web/src/open-store.ts";
import { serve } from "../../../web/src/server/serve.ts";
import { mockStore } from "../../../web/src/testing/index.ts";
import type { Store } from "../../../web/src/types.ts";
import { dataTables } from "../support/data-tables.ts";
import { batchInsert, type Requests, recordResponses } from "../support/transcript.ts";

const address = "http://127.0.0.1/devstoreaccount1";
const json = { "Content-Type": "application/json" };
const group = batchInsert(address);

const requests: Requests = [
  ["Tables", { method: "POST", headers: json, body: '{"TableName":"people"}' }],
  ["Tables", { method: "POST", headers: json, body: '{"TableName":"people"}' }],
  ...["c", "a", "b"].map((row) => {
    const body = JSON.stringify({ PartitionKey: "p", RowKey: row, [`${row}1`]: 1.5, all: row });
    return ["people", { method: "POST", headers: json, body }] as const;
  }),
  ["people(PartitionKey='p',RowKey='a')"],
  ["people(PartitionKey='p',RowKey='nobody')"],
  ["people()?$top=2"],
  ["people()?$filter=all%20eq"],
  group,
  group,
  ["people()", { headers: { Accept: "application/json;odata=fullmetadata" } }],
  ["people(PartitionKey='b',RowKey='x')", { method: "DELETE", headers: { "If-Match": "*" } }],
  ["?restype=service&comp=properties"],
];

function byFetch(store: Store): Promise<string> {
  return recordResponses((path, init) => store.fetch(`${address}/${path}`, init), requests);
}

function withoutIds(text: string): string {
  return text.replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "id");
}

describe("equal calls get equal bytes", () => {
  test("in stores with the same seed, and other ids with another seed", async () => {
    await using one = await mockStore({ seed: 7 });
    await using two = await mockStore({ seed: 7 });
    await using other = await mockStore({ seed: 8 });
    const first = await byFetch(one);
    assert.equal(await byFetch(two), first);
    const third = await byFetch(other);
    assert.notEqual(third, first);
    assert.equal(withoutIds(third), withoutIds(first));
  });

  test("in forks, whatever happened in other forks, and after rollbacks", async () => {
    await using alone = await mockStore();
    await using store = await mockStore();
    await alone.seed({ rest: [{ partitionKey: "p", rowKey: "r" }] });
    await store.seed({ rest: [{ partitionKey: "p", rowKey: "r" }] });
    const expected = await byFetch(alone);
    const moment = store.savepoint();
    await using fork = store.fork();
    await store.seed({
      people: [{ partitionKey: "p", rowKey: "a", all: 1, a1: 2, one: 3, two: 4 }],
    });
    assert.equal(await byFetch(fork), expected);
    await using late = store.fork();
    store.rollback(moment);
    assert.equal(await byFetch(store), expected);
    store.rollback(moment);
    await using again = store.fork();
    await late.close();
    assert.equal(await byFetch(again), expected);
    assert.deepEqual(await again.snapshot(), await alone.snapshot());
  });

  test("over HTTP and within the process", async () => {
    await using store = await mockStore();
    await using fork = store.fork();
    await using server = await serve(store, { port: 0 });
    const port = `:${server.port}`;
    const overHttp = await recordResponses(
      (path, init) => fetch(`${server.url}/devstoreaccount1/${path}`, init),
      requests,
    );
    assert.equal(overHttp.replaceAll(port, ""), await byFetch(fork));
  });

  test("from the drop-in client, including ids and times in its errors", async () => {
    await using store = await mockStore();
    await using fork = store.fork();
    const run = async (at: Store) => {
      const client = new dataTables.TableClient(
        "https://devstoreaccount1.table.core.windows.net",
        "people",
        {
          store: at,
        },
      );
      await client.createTable();
      const created = await client.createEntity({ partitionKey: "p", rowKey: "a" });
      const rejection = await client
        .createEntity({ partitionKey: "p", rowKey: "a" })
        .catch((error: Error) => error.message);
      return { created, rejection };
    };
    const first = await run(store);
    assert.equal(typeof first.rejection, "string");
    assert.deepEqual(await run(fork), first);
  });

  test("from any store with a given clock and source of randomness", async () => {
    const run = async () => {
      let drawn = 0;
      await using store = await openStore({
        persistence: "memory",
        account: { name: "devstoreaccount1" },
        clock: { now: () => 1_700_000_000_000 },
        random: { fill: (bytes) => void bytes.fill(++drawn) },
      });
      return await byFetch(store);
    };
    const first = await run();
    assert.match(first, /01010101-0101-0101-0101-010101010101/);
    assert.equal(await run(), first);
  });
});
