// The suite that the CI job runs against the emulator.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { TableClient } from "@azure/data-tables";

const port = process.env.TABLE_PORT ?? "10002";
const connection = `DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;TableEndpoint=http://127.0.0.1:${port}/devstoreaccount1;`;
const lamps = TableClient.fromConnectionString(connection, "lamps", {
  allowInsecureConnection: true,
});

before(() => lamps.createTable());
after(() => lamps.deleteTable());

test("an entity", async () => {
  await lamps.createEntity({ partitionKey: "desk", rowKey: "0042", name: "Arc" });
  assert.equal((await lamps.getEntity("desk", "0042")).name, "Arc");
});

test("a transaction and a query", async () => {
  await lamps.submitTransaction([
    ["upsert", { partitionKey: "floor", rowKey: "1", watts: 40 }],
    ["upsert", { partitionKey: "floor", rowKey: "2", watts: 60 }],
  ]);
  const found = [];
  const filter = "PartitionKey eq 'floor' and watts gt 50";
  for await (const lamp of lamps.listEntities({ queryOptions: { filter } }))
    found.push(lamp.rowKey);
  assert.deepEqual(found, ["2"]);
});
