// Tests the request that restores the initial data of a test server.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { TableClient } from "@azure/data-tables";
import { openStore, packageFolder } from "./support/package.ts";
import {
  connectionString,
  killAllServers,
  type ServerProcess,
  start,
} from "./support/server-process.ts";

const { serve }: typeof import("../../web/src/server/serve.ts") = await import(
  new URL("dist/server/serve.js", packageFolder).href
);

after(killAllServers);

const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
const people = (served: ServerProcess) =>
  TableClient.fromConnectionString(connectionString(served), "people", options);
const reset = (served: ServerProcess, method = "POST") =>
  fetch(`http://127.0.0.1:${served.port}/_reset`, { method });

async function rowsOf(client: TableClient): Promise<string[]> {
  const rows: string[] = [];
  for await (const { rowKey } of client.listEntities()) rows.push(String(rowKey));
  return rows;
}

test("--allow-reset restores the seed data", async () => {
  const folder = await mkdtemp(join(tmpdir(), "entitable-"));
  await writeFile(join(folder, "people.json"), '[{ "partitionKey": "p", "rowKey": "seed" }]');
  const served = await start(["--seed-data", folder, "--allow-reset"]);
  for (let round = 0; round < 2; ++round) {
    await people(served).createEntity({ partitionKey: "p", rowKey: "new" });
    await people(served).deleteEntity("p", "seed");
    const answer = await reset(served);
    assert.deepEqual([answer.status, await answer.text()], [204, ""]);
    assert.deepEqual(await rowsOf(people(served)), ["seed"]);
  }
  assert.equal((await reset(served, "GET")).status, 400);
  assert.deepEqual(await served.signal("SIGTERM").then(({ code, err }) => [code, err]), [0, ""]);
  await rm(folder, { recursive: true });
});

test("--allow-reset resets every account, and the clock and the ids of --seed", async () => {
  const key = Buffer.from("key").toString("base64");
  const env = { AZURITE_ACCOUNTS: `one:${key};two:${key}` };
  const served = await start(["--seed", "1", "--allow-reset"], { env, accounts: 2 });
  const client = (account: number) =>
    TableClient.fromConnectionString(connectionString(served, account, key), "people", options);
  const idOf = async () => {
    let id: string | undefined;
    await client(0).createTable({
      onResponse: ({ headers }) => {
        id = headers.get("x-ms-request-id");
      },
    });
    return id;
  };
  const id = await idOf();
  await client(1).createTable();
  assert.equal((await reset(served)).status, 204);
  assert.equal(await idOf(), id);
  await client(1).createTable();
  await served.signal("SIGTERM");
});

test("after a reset, simulated delays still end", async () => {
  const served = await start(["--seed", "1", "--latency", "20", "--allow-reset"]);
  await people(served).createTable();
  assert.equal((await reset(served)).status, 204);
  await people(served).createTable();
  assert.deepEqual(await rowsOf(people(served)), []);
  await served.signal("SIGTERM");
});

test("there is no reset request by default", async () => {
  const served = await start(["--in-memory"]);
  await people(served).createTable();
  assert((await reset(served)).status >= 400);
  assert.deepEqual(await rowsOf(people(served)), []);
  await served.signal("SIGTERM");
});

test("serve() calls onReset, and reports its failure", async () => {
  await using store = await openStore({ persistence: "memory", account: { name: "acct" } });
  let calls = 0;
  const onReset = async () => {
    if (++calls > 1) throw new Error("no reset");
  };
  await using server = await serve(store, { port: 0, onReset });
  const statuses = [];
  for (const path of ["/_reset", "/_reset?x=1", "/acct/_reset", "/_resets"]) {
    statuses.push((await fetch(server.url + path, { method: "POST" })).status);
  }
  assert.deepEqual([calls, ...statuses.slice(0, 2)], [2, 204, 500]);
  assert(
    statuses.slice(2).every((status) => status >= 400 && status < 500),
    String(statuses),
  );
});
