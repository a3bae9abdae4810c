// Tests the change feed that a server sends as server-sent events, with real stores and sockets.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, type TestContext, test } from "node:test";
import {
  AzureNamedKeyCredential,
  generateAccountSas,
  generateTableSas,
  type TableSasSignatureValues,
} from "@azure/data-tables";
import type { ServedRequest, ServeOptions } from "../../web/src/server/serve.ts";
import type { OpenOptions, Store } from "../../web/src/types.ts";
import { collectGarbage } from "./support/collect-garbage.ts";
import { EventStream, type EventStreamOptions, type ServerEvent } from "./support/event-stream.ts";
import { openStore, packageFolder } from "./support/package.ts";
import { emulatorKey, killAllServers, start } from "./support/server-process.ts";
import { until } from "./support/until.ts";

const { serve }: typeof import("../../web/src/server/serve.ts") = await import(
  new URL("dist/server/serve.js", packageFolder).href
);
const { mockStore }: typeof import("../../web/src/testing/index.ts") = await import(
  new URL("dist/testing/index.js", packageFolder).href
);
const pem = readFileSync(new URL("support/localhost.pem", import.meta.url), "utf8");
const heartbeatMs = 15_000;

after(killAllServers);

interface Batch {
  sequence: string;
  at: string;
  origin: string;
  changes: {
    table: string;
    partitionKey: string;
    rowKey: string;
    op: string;
    after?: Record<string, unknown>;
    before?: Record<string, unknown>;
  }[];
  tables?: { table: string; op: string }[];
}

const batchOf = ({ data }: ServerEvent): Batch => JSON.parse(data);
const changesIn = (events: readonly ServerEvent[]) =>
  events.flatMap((event) => batchOf(event).changes);
const keysIn = (events: readonly ServerEvent[]) => changesIn(events).map(({ rowKey }) => rowKey);
const numbers = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, i) => String(first + i));
const row = (rowKey: string, more: object = {}) => ({ partitionKey: "desk", rowKey, ...more });

interface Served {
  store: Store;
  url: string; // of the account
  feed: (query?: string, options?: EventStreamOptions) => Promise<EventStream>;
  close: () => Promise<void>;
}

// A server of one store, with a table `lamps`.
async function serving(
  t: TestContext,
  account: OpenOptions["account"] = { name: "acct" },
  options: ServeOptions = {},
  opened?: Store,
): Promise<Served> {
  const store = opened ?? (await openStore({ persistence: "memory", account }));
  const server = await serve(store, { port: 0, feed: true, ...options });
  await store.table("lamps").createTable();
  const url = `${server.url}/acct`;
  const streams: EventStream[] = [];
  t.after(async () => {
    for (const stream of streams) stream.close();
    await server.close();
    await store.close();
  });
  const feed: Served["feed"] = async (query = "", streamOptions) => {
    const stream = await EventStream.open(`${url}/_changes${query}`, streamOptions);
    streams.push(stream);
    return stream;
  };
  return { store, url, feed, close: () => server.close() };
}

describe("a feed", () => {
  test("has each commit as an event with its sequence as id", async (t) => {
    const { store, feed } = await serving(t);
    const stream = await feed();
    assert.equal(stream.status, 200);
    assert.equal(stream.response.headers["content-type"], "text/event-stream");
    await until(() => stream.lastEventId !== "");
    const began = stream.lastEventId;
    const lamps = store.table("lamps");
    await lamps.createEntity(row("1"));
    await lamps.submitTransaction([
      ["create", row("2")],
      ["delete", row("1")],
    ]);
    await store.table("chairs").createTable();
    const events = await stream.count(3);
    const batches = events.map(batchOf);
    assert.deepEqual(
      batches.map(({ changes }) => changes.map(({ op, rowKey }) => `${op} ${rowKey}`)),
      [["insert 1"], ["insert 2", "delete 1"], []],
    );
    assert.deepEqual(batches[2]?.tables, [{ table: "chairs", op: "create" }]);
    for (const [i, { id, type }] of events.entries()) {
      assert.deepEqual([id, type], [batches[i]?.sequence, "message"]);
      assert(BigInt(id) > BigInt(events[i - 1]?.id ?? began));
    }
    assert.equal(stream.retry, "1000");
    assert.equal(batches[0]?.origin, "local");
    assert(Math.abs(Date.parse(batches[0]?.at ?? "") - Date.now()) < 60_000);
    const { etag } = await lamps.getEntity("desk", "2");
    assert.equal(batches[1]?.changes[0]?.after?.["odata.etag"], etag);
  });

  test("prints how long a change takes to a client", async (t) => {
    const { store, feed } = await serving(t);
    const stream = await feed();
    const times: number[] = [];
    for (let i = 1; i <= 100; ++i) {
      const from = performance.now();
      await store.table("lamps").upsertEntity(row("1", { i }));
      await stream.count(i);
      times.push(performance.now() - from);
    }
    times.sort((a, b) => a - b);
    const [median, p95] = [times[50], times[95]].map((ms) => (ms as number).toFixed(2));
    t.diagnostic(`from the call of a write to its event: median ${median} ms, p95 ${p95} ms`);
    assert(Number(median) < 50);
  });

  test("is filtered by its parameters", async (t) => {
    const { store, feed } = await serving(t);
    const [lamps, chairs] = [store.table("lamps"), store.table("chairs")];
    await chairs.createTable();
    await store.table("beds").createTable();
    const streams = {
      all: await feed(),
      lamps: await feed("?table=lamps"),
      two: await feed("?table=chairs&table=BEDS"),
      partition: await feed("?partitionKey=desk"),
      rows: await feed("?partitionKey=desk&rowKeyFrom=2&rowKeyTo=4"),
      filter: await feed(`?filter=${encodeURIComponent("stock gt 5")}`),
      plus: await feed("?filter=stock+gt+5&table=lamps"),
      before: await feed("?before=true&table=lamps"),
    };
    for (const key of numbers(1, 4)) await lamps.createEntity(row(key, { stock: Number(key) }));
    await lamps.createEntity({ partitionKey: "sofa", rowKey: "5", stock: 9 });
    await chairs.createEntity(row("6", { stock: 1 }));
    await store.table("beds").createEntity(row("7", { stock: 10 }));
    await lamps.updateEntity(row("1", { stock: 7 }));
    await lamps.createEntity({ partitionKey: "desk", rowKey: "39", stock: 100 }); // the last of all
    const expected = {
      all: ["1", "2", "3", "4", "5", "6", "7", "1", "39"],
      lamps: ["1", "2", "3", "4", "5", "1", "39"],
      two: ["6", "7"],
      partition: ["1", "2", "3", "4", "6", "7", "1", "39"],
      rows: ["2", "3", "39"],
      filter: ["5", "7", "1", "39"],
      plus: ["5", "1", "39"],
      before: ["1", "2", "3", "4", "5", "1", "39"],
    };
    for (const [name, stream] of Object.entries(streams)) {
      const keys = expected[name as keyof typeof expected];
      assert.deepEqual(keysIn(await stream.count(keys.length)), keys, name);
    }
    const changes = changesIn(streams.before.events);
    assert.deepEqual([changes[5]?.before?.["stock"], changes[5]?.after?.["stock"]], [1, 7]);
    assert.equal(changes[0]?.before, undefined);
    assert.equal(changesIn(streams.lamps.events)[5]?.before, undefined);
  });

  test("keeps the types of all values", async (t) => {
    const { store, feed } = await serving(t);
    const edm = (type: string, value: unknown) => ({ type, value });
    const values = {
      text: 'a\n"b" \u2028 \ud83d\ude00 data: id:',
      lone: "\ud800",
      empty: "",
      yes: true,
      int32: 7,
      int64: edm("Int64", "9007199254740993"),
      double: 1.5,
      whole: edm("Double", 3),
      nan: edm("Double", Number.NaN),
      infinite: edm("Double", Number.NEGATIVE_INFINITY),
      guid: edm("Guid", "00112233-4455-6677-8899-aabbccddeeff"),
      time: edm("DateTime", "2026-01-02T03:04:05.1234567Z"),
      bytes: new Uint8Array([0, 255, 10]),
      __proto: 1,
    };
    const stream = await feed();
    await store.table("lamps").createEntity(row("1", values));
    const [event] = await stream.count(1);
    const entity = changesIn([event as ServerEvent])[0]?.after;
    const response = await store.fetch(
      "http://acct.table.x/lamps(PartitionKey='desk',RowKey='1')",
      { headers: { accept: "application/json;odata=minimalmetadata" } },
    );
    const { "odata.metadata": _, ...service } = await response.json();
    // The service leaves out these types. JSON.parse could not tell 3.0 from 3.
    const types = { "whole@odata.type": "Edm.Double", "Timestamp@odata.type": "Edm.DateTime" };
    assert.deepEqual(entity, { ...service, ...types });

    await store.import(JSON.stringify(entity), { table: "copy", format: "ndjson" });
    const typed = async (table: string) => {
      const { etag, timestamp, ...rest } = await store
        .table(table)
        .getEntity("desk", "1", { disableTypeConversion: true });
      return rest;
    };
    assert.deepEqual(await typed("copy"), await typed("lamps"));
    assert.equal((await typed("lamps"))["time"]?.value, "2026-01-02T03:04:05.1234567Z");
  });

  test("keeps the types of changes from the log", async (t) => {
    const path = await mkdtemp(join(tmpdir(), "entitable-"));
    t.after(() => rm(path, { recursive: true }));
    const account = { name: "acct" };
    const opened = await openStore({ name: "acct", persistence: "file", path, account });
    const { store, feed } = await serving(t, account, {}, opened);
    const whole = { type: "Double", value: 3 };
    await store.table("lamps").createEntity(row("1", { whole }));
    const stream = await feed("?since=0&table=lamps");
    const live = store.table("lamps").live(); // whose rows are converted
    await live.ready;
    await store.table("lamps").createEntity(row("2", { whole }));
    const changes = changesIn(await stream.count(3));
    for (const { after } of changes) assert.equal(after?.["whole@odata.type"], "Edm.Double");
    await until(() => live.getSnapshot().data?.length === 2);
    assert.equal(live.getSnapshot().data?.[1]?.["whole"], 3);
    live.close();
  });

  test("works over HTTPS, with the account in the host's name, and for a mock store", async (t) => {
    const secure = await serving(t, { name: "acct" }, { cert: pem, key: pem });
    const over = await secure.feed("", { ca: pem });
    await secure.store.table("lamps").createEntity(row("1"));
    assert.deepEqual(keysIn(await over.count(1)), ["1"]);

    const { store, url } = await serving(t);
    const { origin } = new URL(url);
    for (const [path, host] of [
      ["/_changes", "acct.table.lan"],
      ["/_changes/?since=0", "acct.localhost:1"],
      ["//acct-secondary//_CHANGES", "localhost"],
    ] as const) {
      const stream = await EventStream.open(origin + path, { headers: { host } });
      await store.table("lamps").upsertEntity(row("1"));
      assert.equal(stream.status, 200, path);
      await stream.count(1);
      stream.close();
    }

    const mock = await mockStore({ account: { name: "acct" } } as object);
    const served = await serving(t, undefined, {}, mock);
    const stream = await served.feed("?table=lamps");
    await mock.table("lamps").createEntity(row("1"));
    assert.deepEqual(keysIn(await stream.count(1)), ["1"]);
  });
});

// ---- Continuing ------------------------------------------------------------------------------

describe("a client that connects again", () => {
  test("misses nothing and gets nothing twice, also after a restart of the server", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "entitable-"));
    t.after(() => rm(folder, { recursive: true }));
    const args = ["--feed", "--location", folder, "--auth", "off"];
    let served = await start(args);
    const send = (method: string, path: string, body: object) =>
      fetch(`${served.endpoint()}/${path}`, {
        method,
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      }).then(({ status }) => assert(status < 300, `${status}`));
    const write = (number: number) =>
      send("PUT", `lamps(PartitionKey='desk',RowKey='${number}')`, { n: number });
    await send("POST", "Tables", { TableName: "lamps" });

    const got: string[] = [];
    let last: string | undefined;
    // Reads at least so many events, with the parameter at first and the header later on.
    const read = async (count: number) => {
      const url = `${served.endpoint()}/_changes?table=lamps&since=0`;
      const headers = last === undefined ? {} : { "last-event-id": last };
      const stream = await EventStream.open(url, { headers: headers as Record<string, string> });
      await stream.count(count);
      stream.close();
      got.push(...keysIn(stream.events));
      last = stream.lastEventId;
    };
    let written = 0;
    const writeUpTo = async (number: number) => {
      while (written < number) await write(++written);
    };
    for (const [signal, more] of [
      ["SIGTERM", 80],
      ["SIGKILL", 20],
      ["SIGTERM", 1],
      ["SIGKILL", 70],
    ] as const) {
      const writing = writeUpTo(written + more);
      await read(1); // while it writes
      await writing;
      await served.signal(signal);
      served = await start(args);
    }
    await writeUpTo(written + 5);
    await read(1);
    while (got.at(-1) !== String(written)) await read(1);
    assert.deepEqual(got, numbers(1, written));
    await served.signal("SIGTERM");
  });

  test("continues after what a checkpoint has covered", async (t) => {
    const path = await mkdtemp(join(tmpdir(), "entitable-"));
    t.after(() => rm(path, { recursive: true }));
    const account = { name: "acct" };
    const opened = await openStore({ name: "acct", persistence: "file", path, account });
    const { store, feed } = await serving(t, account, {}, opened);
    const first = await feed();
    await store.table("lamps").createEntity(row("1"));
    await first.count(1);
    first.close();
    for (const key of numbers(2, 20)) await store.table("lamps").createEntity(row(key));
    await store.compact();
    const again = await feed("", { headers: { "last-event-id": first.lastEventId } });
    assert.deepEqual(keysIn(await again.count(19)), numbers(2, 20));
  });

  test("continues with the header rather than with since", async (t) => {
    const path = await mkdtemp(join(tmpdir(), "entitable-"));
    t.after(() => rm(path, { recursive: true }));
    const account = { name: "acct" };
    const opened = await openStore({ name: "acct", persistence: "file", path, account });
    const { store, feed } = await serving(t, account, {}, opened);
    for (const key of numbers(1, 3)) await store.table("lamps").createEntity(row(key));
    const all = await (await feed("?since=0")).count(4);
    const since = await feed(`?since=${all[1]?.id}`);
    assert.deepEqual(keysIn(await since.count(2)), ["2", "3"]);
    const header = { headers: { "Last-Event-ID": all[2]?.id ?? "" } };
    assert.deepEqual(keysIn(await (await feed("?since=0", header)).count(1)), ["3"]);
    const unset = { headers: { "Last-Event-ID": "" } };
    assert.deepEqual(keysIn(await (await feed("?since=0", unset)).count(4)), ["1", "2", "3"]);
  });

  test("learns its position from heartbeats, also without events", async (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    const { store, feed } = await serving(t);
    await store.table("chairs").createTable();
    const [all, none] = [await feed(), await feed("?table=chairs")];
    await store.table("lamps").createEntity(row("1"));
    await all.count(1);
    await until(() => none.comments > 0);
    const { comments } = none;
    t.mock.timers.tick(heartbeatMs);
    await until(() => none.comments > comments);
    assert.equal(none.lastEventId, all.lastEventId);
    assert.deepEqual(none.events, []);
  });

  test("hears of a gap, and continues with what is there", async (t) => {
    const { store, feed } = await serving(t); // a store in memory, without a log
    await store.table("lamps").createEntity(row("1"));
    const stream = await feed("?since=0");
    await stream.ended();
    const [event] = stream.events;
    const { firstSequence, ...error } = JSON.parse(event?.data ?? "");
    assert.equal(event?.type, "truncated");
    assert.match(firstSequence, /^\d+$/);
    assert.equal(error.code, "FeedTruncated");
    assert.match(error.message, /has a gap/);
    assert.match(error.hint, /Read the tables again/);
    assert.equal(stream.lastEventId, String(BigInt(firstSequence) - 1n));
    const again = await feed("", { headers: { "last-event-id": stream.lastEventId } });
    await store.table("lamps").createEntity(row("2"));
    assert.deepEqual(keysIn(await again.count(1)), ["2"]);
  });
});

// ---- Access ----------------------------------------------------------------------------------

describe("access to a feed", () => {
  const credential = new AzureNamedKeyCredential("acct", emulatorKey);
  const otherKey = Buffer.from("other").toString("base64");
  const expiresOn = new Date(Date.now() + 3_600_000);
  const sas = (
    table: string,
    options: TableSasSignatureValues = {},
    by: AzureNamedKeyCredential = credential,
  ) => generateTableSas(table, by, { permissions: { query: true }, expiresOn, ...options });
  const locked = { name: "acct", keys: [emulatorKey], authorize: true };
  const strict = { ...locked, strictVersions: true, strictDates: true, limitComparisons: true };

  for (const [name, account] of Object.entries({ locked, strict })) {
    test(`needs a signature (${name})`, async (t) => {
      const { store, feed } = await serving(t, account);
      await store.table("chairs").createTable();
      const status = async (query: string) => {
        const stream = await feed(query);
        stream.close();
        return stream.status === 200
          ? 200
          : [stream.status, stream.response.headers["x-ms-error-code"]];
      };
      const failed = [403, "AuthenticationFailed"];
      const notAllowed = [403, "AuthorizationFailure"];
      assert.deepEqual(await status(""), failed);
      assert.deepEqual(await status("?table=lamps"), failed);
      assert.equal(await status(`?table=lamps&${sas("lamps")}`), 200);
      assert.equal(await status(`?table=LAMPS&table=lamps&${sas("lamps")}`), 200);
      assert.deepEqual(await status(`?${sas("lamps")}`), notAllowed); // all tables
      assert.deepEqual(await status(`?table=chairs&${sas("lamps")}`), notAllowed);
      assert.deepEqual(await status(`?table=lamps&table=chairs&${sas("lamps")}`), notAllowed);
      assert.deepEqual(
        await status(`?table=lamps&${sas("lamps").replace("sig=", "sig=A")}`),
        failed,
      );
      const forged = sas("lamps", {}, new AzureNamedKeyCredential("acct", otherKey));
      assert.deepEqual(await status(`?table=lamps&${forged}`), failed);
      const [startsOn, expired] = [new Date(Date.now() - 9000), new Date(Date.now() - 1000)];
      const old = sas("lamps", { startsOn, expiresOn: expired });
      assert.deepEqual(await status(`?table=lamps&${old}`), failed);
      const add = sas("lamps", { permissions: { add: true } });
      assert.deepEqual(await status(`?table=lamps&${add}`), [
        403,
        "AuthorizationPermissionMismatch",
      ]);
      const both = `${sas("lamps")}&tn=chairs`;
      assert.deepEqual(await status(`?table=chairs&${both}`), failed);
      assert.deepEqual(await status(`?table=Tables&${sas("lamps")}`), notAllowed);
      for (const table of ["lamps()?x=", "lamps(PartitionKey='',RowKey='')", "$batch"]) {
        const query = `?table=${encodeURIComponent(table)}&${sas("lamps")}`;
        assert.deepEqual(await status(query), [400, "InvalidQueryParameterValue"], table);
      }
      const account1 = generateAccountSas(credential, { expiresOn });
      assert.equal(await status(`?${account1}`), 200);
      assert.equal(await status(`?table=lamps&table=chairs&${account1}`), 200);
    });
  }

  test("has the rights of the key that signs its own URL", async (t) => {
    const { feed } = await serving(t, strict);
    const signed = (path: string, date = new Date().toUTCString()) => {
      const text = `${date}\n/acct${path}`;
      const signature = createHmac("sha256", Buffer.from(emulatorKey, "base64")).update(text);
      const authorization = `SharedKeyLite acct:${signature.digest("base64")}`;
      return { headers: { "x-ms-date": date, authorization } };
    };
    const stream = await feed("?table=lamps", signed("/acct/_changes"));
    assert.equal(stream.status, 200);
    assert.equal((await feed("", signed("/acct/lamps"))).status, 403);
    assert.equal(
      (await feed("", signed("/acct/_changes", "Thu, 01 Jan 2026 00:00:00 GMT"))).status,
      403,
    );
  });

  test("is open without authorization, but only for the account", async (t) => {
    const { url } = await serving(t);
    const { origin } = new URL(url);
    for (const [path, status] of [
      ["/acct/_changes", 200],
      ["/other/_changes", 403],
      ["/_changes", 400],
      ["/acct/x/_changes", 400],
    ] as const) {
      const stream = await EventStream.open(origin + path);
      assert.equal(stream.status, status, path);
      stream.close();
    }
  });

  test("to a range of keys is access to these keys", async (t) => {
    const { store, feed } = await serving(t, locked);
    const range = (keys: Partial<TableSasSignatureValues>) =>
      feed(`?table=lamps&${sas("lamps", keys)}`);
    const b = { startPartitionKey: "b", endPartitionKey: "b" };
    const ranges = [
      [b, ["b1", "b2", "b3"]],
      [{ ...b, startRowKey: "b2" }, ["b2", "b3"]],
      [{ ...b, endRowKey: "b2" }, ["b1", "b2"]],
      [{ startPartitionKey: "b", startRowKey: "b3" }, ["b3", "c1"]],
      [{ endPartitionKey: "b", endRowKey: "b1" }, ["a1", "b1"]],
      [{ startPartitionKey: "b" }, ["b1", "b2", "b3", "c1"]],
      [{ endPartitionKey: "b" }, ["a1", "b1", "b2", "b3"]],
    ] as const;
    const streams = await Promise.all(ranges.map(([keys]) => range(keys)));
    for (const rowKey of ["a1", "b1", "b2", "b3", "c1"])
      await store.table("lamps").createEntity({ partitionKey: rowKey[0] as string, rowKey });
    await store.table("lamps").deleteTable(); // an event that all get
    for (const [i, [keys, expected]] of ranges.entries()) {
      const events = await (streams[i] as EventStream).count(expected.length + 1);
      assert.deepEqual(keysIn(events), expected, JSON.stringify(keys));
    }
    // The store accepts both meanings of a plus sign, so that the range is not known.
    const plus = sas("lamps", { startPartitionKey: "a b", endPartitionKey: "a b" });
    for (const space of ["+", "%20"]) {
      const query = plus.replace(/([se]pk=a)(?:\+|%20)b/g, `$1${space}b`);
      const encoded = query.replaceAll("spk=", "%73pk=");
      for (const text of [query, encoded]) {
        const stream = await feed(`?table=lamps&${text}`);
        assert.equal(stream.status, space === "+" ? 400 : 200, text);
        stream.close();
      }
    }
  });

  test("ends with the signature", async (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    const { store, feed } = await serving(t, locked);
    const soon = new Date(Math.ceil(Date.now() / 1000) * 1000 + 1000);
    const [short, long] = [
      await feed(`?table=lamps&${sas("lamps", { expiresOn: soon })}`),
      await feed(`?table=lamps&${sas("lamps")}`),
    ];
    assert.equal(short.status, 200);
    await until(() => Date.now() > soon.getTime());
    t.mock.timers.tick(heartbeatMs);
    await short.ended();
    await store.table("lamps").createEntity(row("1"));
    await long.count(1);
    assert.deepEqual(short.events, []);
  });

  test("of pages of other origins is what the service's CORS rules allow", async (t) => {
    const { store, url } = await serving(t);
    const rule =
      "<AllowedOrigins>https://app.example</AllowedOrigins><AllowedMethods>GET</AllowedMethods>" +
      "<AllowedHeaders>x-*</AllowedHeaders><ExposedHeaders>x-ms-request-id,x-entitable-changes</ExposedHeaders><MaxAgeInSeconds>60</MaxAgeInSeconds>";
    const set = await store.fetch("http://acct.table.x/?restype=service&comp=properties", {
      method: "PUT",
      headers: { "x-ms-version": "2019-02-02" },
      body: `<StorageServiceProperties><Cors><CorsRule>${rule}</CorsRule></Cors></StorageServiceProperties>`,
    });
    assert.equal(set.status, 202, await set.text());
    const headersFor = async (origin: string, query = "", method = "GET") => {
      const stream = await EventStream.open(`${url}/_changes${query}`, {
        headers: { origin },
        method,
      });
      stream.close();
      const { status, response } = stream;
      return [status, response.headers["access-control-allow-origin"], response.headers.vary];
    };
    const app = "https://app.example";
    assert.deepEqual(await headersFor(app), [200, app, "Origin"]);
    assert.deepEqual(await headersFor("https://evil.example"), [200, undefined, "Origin"]);
    assert.deepEqual(await headersFor(app, "?since=x"), [400, app, "Origin"]);
    assert.deepEqual(await headersFor(app, "?filter=x("), [400, app, "Origin"]);
    const preflight = (origin: string) =>
      fetch(`${url}/_changes`, {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "GET",
          "access-control-request-headers": "x-a",
        },
      });
    assert.equal((await preflight(app)).headers.get("access-control-allow-origin"), app);
    assert.equal((await preflight("https://evil.example")).status, 403);
  });
});

// ---- Requests and announcement ---------------------------------------------------------------

test("a request that is no request for a feed gets an error of the service", async (t) => {
  const { store, feed } = await serving(t);
  const invalid: [query: string, message: RegExp, headers?: Record<string, string>][] = [
    ["?since=x", /since must be the sequence/],
    ["?since=-1", /since must be/],
    ["?since=9223372036854775808", /since must be/],
    ["?since=1&since=2", /since is given twice/],
    ["?tables=lamps", /no parameter tables/],
    ["?table=a", /table must be the name of a table/],
    ["?before=yes", /before must be true or false/],
    ["?rowKeyFrom=1", /need partitionKey/],
    ["?filter=stock+gt", /./],
    ["?$filter=x", /no parameter \$filter/],
  ];
  for (const [query, message] of invalid) {
    const error = await (await feed(query)).error();
    assert.equal(error.status, 400, query);
    assert.match(error.code, /^InvalidQueryParameterValue$|^InvalidInput$/);
    assert.match(error.message, message);
    assert.notEqual(error.hint, "undefined", query);
  }
  const header = await feed("", { headers: { "last-event-id": "x" } });
  assert.equal((await header.error()).code, "InvalidHeaderValue");
  for (const method of ["HEAD", "POST", "PUT", "DELETE", "PATCH", "MERGE"]) {
    const stream = await feed("", { method });
    assert.equal(stream.status, 405, method);
    assert.equal(stream.response.headers.allow, "GET, OPTIONS");
    assert.equal(stream.response.headers["x-ms-error-code"], "MethodNotAllowed");
    assert.equal(
      stream.response.headers["x-entitable-hint"],
      "The change feed is read with GET, as EventSource does.",
    );
  }
  const closed = await serving(t);
  await closed.store.close();
  assert.equal((await closed.feed()).status, 503);
  assert.equal(store.status.state, "open");
});

test("responses announce the feed if it is on", async (t) => {
  const { url } = await serving(t, { name: "acct", permissiveCors: true } as object);
  const headers = { origin: "http://page.example" };
  for (const path of ["Tables", "lamps", "missing"]) {
    const on = await fetch(`${url}/${path}`, { headers });
    assert.equal(on.headers.get("x-entitable-changes"), "_changes", path);
    assert.match(on.headers.get("access-control-expose-headers") ?? "", /,x-entitable-changes$/);
  }
  const off = await serving(t, { name: "acct" }, { feed: false });
  assert.equal((await fetch(`${off.url}/Tables`)).headers.get("x-entitable-changes"), null);
  // as before, a query of a table that cannot exist
  const stream = await off.feed();
  assert.equal(stream.response.headers["content-type"]?.includes("json"), true);
  assert(stream.status >= 400);
});

// ---- Limits ----------------------------------------------------------------------------------

describe("a server with feeds", () => {
  test("limits how many are open, and releases those whose clients disconnect", async (t) => {
    const requests: ServedRequest[] = [];
    const onRequest = (served: ServedRequest) => requests.push(served);
    const { store, feed } = await serving(t, undefined, { limits: { feeds: 2 }, onRequest });
    const [first, second] = [await feed(), await feed()];
    assert.deepEqual([first.status, second.status], [200, 200]);
    const third = await feed();
    assert.deepEqual([third.status, third.response.headers["retry-after"]], [503, "1"]);
    const error = await third.error();
    assert.equal(error.code, "ServerBusy");
    assert.match(error.hint, /limits\.feeds/);
    await store.table("lamps").createEntity(row("1"));
    await second.count(1);
    first.close();
    await until(() => requests.some(({ status }) => status === 200));
    const { url, status, responseBytes } = requests.at(-1) as ServedRequest;
    assert.match(url, /_changes$/);
    assert.equal(status, 200);
    assert(responseBytes > 100);
    const fourth = await feed();
    assert.equal(fourth.status, 200);
    await store.table("lamps").createEntity(row("2"));
    await fourth.count(1);
    assert.deepEqual(keysIn(await second.count(2)), ["1", "2"]);
  });

  test("refuses limits that are out of range", async () => {
    const store = await openStore({ persistence: "memory" });
    for (const feeds of [0, 1.5, 2 ** 31])
      await assert.rejects(serve(store, { port: 0, feed: true, limits: { feeds } }), {
        code: "ValidationFailed",
        message: /limits\.feeds/,
      });
    await store.close();
  });

  test("keeps a feed for longer than the time for reading a response", async (t) => {
    const { store, feed } = await serving(t, undefined, { limits: { responseMs: 50 } });
    const stream = await feed();
    for (const key of numbers(1, 4)) {
      await new Promise((resolve) => setTimeout(resolve, 60));
      await store.table("lamps").createEntity(row(key));
    }
    assert.deepEqual(keysIn(await stream.count(4)), numbers(1, 4));
  });

  // A client that reads the beginning of the response, and then nothing more until it is resumed.
  async function slowClient(t: TestContext, url: string, query = ""): Promise<Socket> {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    t.after(() => socket.destroy());
    socket.on("error", () => {});
    socket.write(`GET /acct/_changes${query} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await new Promise((resolve) => socket.once("readable", resolve));
    return socket;
  }

  test("keeps little for a client that reads nothing, which later gets all", async (t) => {
    const path = await mkdtemp(join(tmpdir(), "entitable-"));
    t.after(() => rm(path, { recursive: true }));
    const account = { name: "acct" };
    const file = { name: "acct", persistence: "file", path, account } as const;
    const history = { bytes: 2 ** 30 };
    const opened = await openStore({ ...file, durability: "deferred", history });
    const { store, url, feed } = await serving(t, account, {}, opened);
    const slow = await slowClient(t, url);
    const fast = await feed();
    const lamps = store.table("lamps");
    const text = "x".repeat(30_000);
    const many = 5000;
    collectGarbage();
    const heap = () => process.memoryUsage().heapUsed + process.memoryUsage().external;
    const before = heap();
    for (let i = 1; i <= many; ++i) {
      await lamps.upsertEntity(row(String(i % 10), { text, i }));
      if (i % 100 !== 0) continue;
      await fast.count(i);
      fast.events.fill({ type: "", id: "", data: "" });
    }
    collectGarbage();
    const megabytes = (heap() - before) / 2 ** 20;
    const all = (many * text.length) / 2 ** 20;
    t.diagnostic(`${all.toFixed(0)} MB in ${many} events: ${megabytes.toFixed(0)} MB more heap`);
    assert(megabytes < 100, `${megabytes} MB`); // at most 1,000 batches wait
    let rest = "";
    let next = 1;
    slow.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const [, number] = /"i":(\d+)/.exec(line) ?? [];
        if (number === undefined) continue;
        assert.equal(Number(number), next);
        next += 1;
      }
    });
    await until(() => next > many);
  });

  test("cuts a client that does not read an event in time", async (t) => {
    const requests: ServedRequest[] = [];
    const options: ServeOptions = {
      limits: { responseMs: 200, feeds: 1 },
      onRequest: (served) => requests.push(served),
    };
    const { store, url, feed } = await serving(t, undefined, options);
    await slowClient(t, url);
    const text = "x".repeat(30_000);
    for (let i = 0; i < 500; ++i) await store.table("lamps").upsertEntity(row("1", { text, i }));
    await until(() => requests.length > 0);
    assert((requests[0]?.responseBytes ?? 0) < 500 * text.length);
    const next = await feed();
    await store.table("lamps").upsertEntity(row("2"));
    await next.count(1);
  });

  test("ends feeds when it closes", async (t) => {
    const { url, feed, close, store } = await serving(t);
    const streams = await Promise.all(numbers(1, 5).map(() => feed()));
    await slowClient(t, url);
    for (let i = 0; i < 300; ++i)
      await store.table("lamps").upsertEntity(row("1", { text: "x".repeat(30_000), i }));
    const from = performance.now();
    await close();
    assert(performance.now() - from < 4000, "it must not wait for the stalled client");
    await Promise.all(streams.map((stream) => stream.ended()));
    assert.equal(store.status.state, "open");
  });

  test("ends feeds when the store closes", async (t) => {
    const { feed, store } = await serving(t);
    const stream = await feed();
    await store.close();
    await stream.ended();
    assert.equal((await feed()).status, 503);
  });
});
