// The same calls get the same bytes: in every store with the same seed, in forks, after rollbacks, over HTTP.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openStore } from "../../../web/src/open.ts";
import { serve } from "../../../web/src/server/serve.ts";
import { mockStore } from "../../../web/src/testing/index.ts";
import type { Store } from "../../../web/src/types.ts";
import { dataTables } from "../support/data-tables.ts";

type Ask = (path: string, init?: RequestInit) => Promise<Response>;

const json = { "Content-Type": "application/json" };
const batch = [
  "--b",
  "Content-Type: multipart/mixed; boundary=c",
  "",
  ...["x", "y"].flatMap((row) => [
    "--c",
    "Content-Type: application/http",
    "Content-Transfer-Encoding: binary",
    "",
    "POST http://127.0.0.1/default/people HTTP/1.1",
    "Content-Type: application/json",
    "Accept: application/json",
    "",
    JSON.stringify({ PartitionKey: "b", RowKey: row, two: row, one: 1 }),
  ]),
  "--c--",
  "--b--",
  "",
].join("\r\n");

const requests: [path: string, init?: RequestInit][] = [
  ["Tables", { method: "POST", headers: json, body: '{"TableName":"people"}' }],
  ["Tables", { method: "POST", headers: json, body: '{"TableName":"people"}' }],
  ...["c", "a", "b"].map((row): [string, RequestInit] => [
    "people",
    {
      method: "POST",
      headers: json,
      body: JSON.stringify({ PartitionKey: "p", RowKey: row, [`${row}1`]: 1.5, all: row }),
    },
  ]),
  ["people(PartitionKey='p',RowKey='a')"],
  ["people(PartitionKey='p',RowKey='nobody')"],
  ["people()?$top=2"],
  ["people()?$filter=all%20eq"],
  [
    "$batch",
    { method: "POST", headers: { "Content-Type": "multipart/mixed; boundary=b" }, body: batch },
  ],
  [
    "$batch",
    { method: "POST", headers: { "Content-Type": "multipart/mixed; boundary=b" }, body: batch },
  ],
  ["people()", { headers: { Accept: "application/json;odata=fullmetadata" } }],
  ["people(PartitionKey='b',RowKey='x')", { method: "DELETE", headers: { "If-Match": "*" } }],
  ["?restype=service&comp=properties"],
];

// Everything that comes back, as text. What belongs to the connection is not the store's.
async function conversation(ask: Ask): Promise<string> {
  const said: string[] = [];
  for (const [path, init] of requests) {
    const answer = await ask(path, init);
    const headers = [...answer.headers].filter(
      ([name]) => !["connection", "content-length", "keep-alive"].includes(name),
    );
    const body = Buffer.from(await answer.arrayBuffer()).toString("latin1");
    said.push([answer.status, answer.statusText, ...headers.map(String), body].join("\n"));
  }
  return said.join("\n\n");
}

function byFetch(store: Store): Ask {
  return (path, init) => store.fetch(`http://127.0.0.1/default/${path}`, init);
}

function withoutIds(text: string): string {
  return text.replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "id");
}

describe("the same calls get the same bytes", () => {
  test("in stores with the same seed, and other ids with another", async () => {
    await using one = await mockStore({ seed: 7 });
    await using two = await mockStore({ seed: 7 });
    await using other = await mockStore({ seed: 8 });
    const first = await conversation(byFetch(one));
    assert.equal(await conversation(byFetch(two)), first);
    const third = await conversation(byFetch(other));
    assert.notEqual(third, first);
    assert.equal(withoutIds(third), withoutIds(first));
  });

  test("in forks, whatever became of others, and after rollbacks", async () => {
    await using alone = await mockStore();
    await using store = await mockStore();
    await alone.seed({ rest: [{ partitionKey: "p", rowKey: "r" }] });
    await store.seed({ rest: [{ partitionKey: "p", rowKey: "r" }] });
    const expected = await conversation(byFetch(alone));
    const moment = store.checkpoint();
    await using fork = store.fork();
    await store.seed({
      people: [{ partitionKey: "p", rowKey: "a", all: 1, a1: 2, one: 3, two: 4 }],
    });
    assert.equal(await conversation(byFetch(fork)), expected);
    await using late = store.fork();
    store.rollback(moment);
    assert.equal(await conversation(byFetch(store)), expected);
    store.rollback(moment);
    await using again = store.fork();
    await late.close();
    assert.equal(await conversation(byFetch(again)), expected);
    assert.deepEqual(await again.snapshot(), await alone.snapshot());
  });

  test("over HTTP as within the process", async () => {
    await using store = await mockStore();
    await using fork = store.fork();
    await using server = await serve(store, { port: 0 });
    const port = `:${server.port}`;
    const overHttp = await conversation((path, init) =>
      fetch(`${server.url}/default/${path}`, init),
    );
    assert.equal(overHttp.replaceAll(port, ""), await conversation(byFetch(fork)));
  });

  test("from the drop-in client, ids and times in its errors included", async () => {
    await using store = await mockStore();
    await using fork = store.fork();
    const run = async (at: Store) => {
      const client = new dataTables.TableClient(
        "https://default.table.core.windows.net",
        "people",
        {
          store: at,
        },
      );
      await client.createTable();
      const created = await client.createEntity({ partitionKey: "p", rowKey: "a" });
      const refused = await client
        .createEntity({ partitionKey: "p", rowKey: "a" })
        .catch((error: Error) => error.message);
      return { created, refused };
    };
    const first = await run(store);
    assert.equal(typeof first.refused, "string");
    assert.deepEqual(await run(fork), first);
  });

  test("from a store of any kind that is given clock and randomness", async () => {
    const run = async () => {
      let drawn = 0;
      await using store = await openStore({
        persistence: "memory",
        clock: { now: () => 1_700_000_000_000 },
        random: { fill: (bytes) => void bytes.fill(++drawn) },
      });
      return await conversation(byFetch(store));
    };
    const first = await run();
    assert.match(first, /01010101-0101-0101-0101-010101010101/);
    assert.equal(await run(), first);
  });
});
