// Tests beacons over HTTP: rows in which clients name the partitions that they have pushed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { TableBeacon } from "../../../web/src/sync-remote/beacon.ts";
import { Http } from "../../../web/src/sync-remote/http.ts";
import { credential, type Fetch, guid, now, openPeople, url } from "./support.ts";

let tokens = 0;
const token = () => `${guid.slice(0, -4)}${String(++tokens).padStart(4, "0")}`;

function beaconOf(send: Fetch, client: string): TableBeacon {
  const http = new Http({ url, credential, now, fetch: send });
  return new TableBeacon(http, { table: "beacons", of: "People", client, token });
}

test("a client hears of the partitions that others have pushed, and not of its own", async () => {
  const send = await openPeople();
  const [a, b] = [beaconOf(send, "a"), beaconOf(send, "b")];
  assert.equal(await b.changed(), undefined); // what was before is not known
  assert.deepEqual(await b.changed(), []);
  await a.announce(new Set(["p", "o'q", "ü"]));
  await b.announce(new Set(["own"]));
  assert.deepEqual([...((await b.changed()) ?? [])].sort(), ["o'q", "p", "ü"]);
  assert.deepEqual(await b.changed(), []);
  await a.announce(new Set(["p"]));
  assert.deepEqual(await b.changed(), ["p"]);
});

test("many partitions at once are all named, in one page", async () => {
  const send = await openPeople();
  const [a, b] = [beaconOf(send, "a"), beaconOf(send, "b")];
  await b.changed();
  const names = Array.from({ length: 1500 }, (_, index) => `partition ${index}`);
  await a.announce(new Set(names));
  assert.deepEqual([...((await b.changed()) ?? [])].sort(), [...names].sort());
});

test("without an answer, nothing is known until the second next call", async () => {
  const people = await openPeople();
  let isDown = false;
  const send: Fetch = (input, init) =>
    isDown ? Promise.reject(new TypeError("down")) : people(input, init);
  const [a, b] = [beaconOf(people, "a"), beaconOf(send, "b")];
  await b.changed();
  isDown = true;
  assert.equal(await b.changed(), undefined);
  isDown = false;
  await a.announce(new Set(["p"]));
  assert.equal(await b.changed(), undefined);
  assert.deepEqual(await b.changed(), []);
});

test("a row that something else has written is not understood", async () => {
  const send = await openPeople();
  const [a, b] = [beaconOf(send, "a"), beaconOf(send, "b")];
  await a.announce(new Set(["p"]));
  await b.changed();
  const http = new Http({ url, credential, now, fetch: send });
  const body = JSON.stringify({ PartitionKey: "people", RowKey: "x", s1: "hello" });
  const headers = { "Content-Type": "application/json" };
  await http.send({ method: "POST", path: "beacons", headers, body });
  assert.equal(await b.changed(), undefined);
});
