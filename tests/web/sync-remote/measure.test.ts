// Measures a store in this process, as `measure` would a remote.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { Http } from "../../../web/src/sync-remote/http.ts";
import { Lateness, measure } from "../../../web/src/sync-remote/measure.ts";
import { MeasurementError, type ScratchTable } from "../../../web/src/sync-remote/scratch-table.ts";
import { credential, type Fetch, now, openPeople, url } from "./support.ts";

const origin = "https://app.example";
const options = { platform: { now, token: randomUUID }, writeMs: 100, rows: 1100, origin };

const tablesOf = async (send: Fetch): Promise<string> => {
  const http = new Http({ url, credential, now, fetch: send });
  const listed = await http.send({ method: "GET", path: "Tables" });
  return typeof listed === "object" ? listed.text : "";
};

const hiddenOfAll = ["x-ms-continuation-NextPartitionKey", "x-ms-continuation-NextRowKey", "date"];

test("a remote is measured on a table that is deleted afterwards", async () => {
  const send = await openPeople();
  const found = await measure(new Http({ url, credential, now, fetch: send }), options);
  assert.equal(found.probe.profile.service, "entitable");
  assert(found.probe.isComplete);
  // No Timestamp of a store ends with 0.
  assert.deepEqual(found.batch, { timestamps: 100, spanMs: 0.011 });
  assert.deepEqual(found.writes, { count: 20, etags: 20, rising: true, staleReads: 0 });
  assert(found.late.scans > 1 && found.late.entities >= 8);
  const rows = 1100 + 300 + 1 + found.late.entities;
  const pages = Math.ceil(rows / 1000);
  assert.deepEqual({ ...found.keyScan, ms: 0 }, { rows, pages, pageRows: 1000, ms: 0 });
  assert.deepEqual({ ...found.fullScan, ms: 0 }, { rows, pages, pageRows: 1000, ms: 0 });
  assert.deepEqual(found.batches, {
    operations100: undefined,
    operations101: "InvalidInput",
    bytes: 3_800_000,
    large: undefined,
  });
  assert.deepEqual(found.cors, { origin, push: false, read: false, hidden: hiddenOfAll });
  const { aheadMs = 0, uncertainMs = 0 } = found.clock ?? {};
  assert(uncertainMs >= 500 && Math.abs(aheadMs) <= uncertainMs);
  assert.deepEqual(JSON.parse(await tablesOf(send)).value, [{ TableName: "people" }]);
});

test("a table that was created without an answer is deleted", async () => {
  const people = await openPeople();
  const silent: Fetch = async (input, init) => {
    const response = await people(input, init);
    const isCreation = init?.method === "POST" && String(input).endsWith("/Tables");
    if (!isCreation) return response;
    throw new TypeError("offline");
  };
  const http = new Http({ url, credential, now, fetch: silent });
  const tables: Pick<ScratchTable, "drop">[] = [];
  const measured = measure(http, { ...options, onTable: (table) => tables.push(table) });
  await assert.rejects(measured, /create a table: there was no answer/);
  assert.deepEqual(JSON.parse(await tablesOf(people)).value, [{ TableName: "people" }]);
  await tables[0]?.drop();
});

test("the table is deleted if a measurement fails", async () => {
  const people = await openPeople();
  let scans = 0;
  const failing: Fetch = (input, init) =>
    String(input).includes("()") && ++scans > 4
      ? Promise.reject(new TypeError("offline"))
      : people(input, init);
  const http = new Http({ url, credential, now, fetch: failing });
  await assert.rejects(measure(http, options), MeasurementError);
  assert.deepEqual(JSON.parse(await tablesOf(people)).value, [{ TableName: "people" }]);
});

test("an entity is late if an earlier scan has returned a newer one", () => {
  const lateness = new Lateness();
  const row = (key: string, ms: number) => ({
    key,
    row: { properties: new Map(), etag: key, timestamp: BigInt(ms) * 10_000n },
  });
  lateness.add([row("a", 5), row("b", 3)]);
  lateness.add([row("a", 5), row("b", 3), row("c", 1), row("d", 9)]);
  lateness.add([row("d", 9), row("e", 8), row("f", 10)]);
  assert.deepEqual(lateness.result, { scans: 3, entities: 6, lateEntities: 2, mostMs: 4 });
});
