// Tests store.fetch, the REST entry point with the signature of the platform's fetch.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import "fake-indexeddb/auto";
import type { OpenOptions, Store } from "../../web/src/types.ts";
import { deleteStore, openStore } from "./support/package.ts";

const base = "https://acct.table.core.windows.net";
const json = { "Content-Type": "application/json", Accept: "application/json;odata=nometadata" };

function open(options: OpenOptions = {}): Promise<Store> {
  return openStore({ persistence: "memory", account: { name: "acct" }, ...options });
}

function post(path: string, body: unknown, headers: Record<string, string> = {}): Request {
  return new Request(`${base}/${path}`, {
    method: "POST",
    headers: { ...json, ...headers },
    body: JSON.stringify(body),
  });
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the service says
const bodyOf = (response: Response): Promise<any> => response.json();

async function peopleIn(store: Store): Promise<void> {
  assert.equal((await store.fetch(post("Tables", { TableName: "people" }))).status, 201);
}

describe("store.fetch", () => {
  test("creates, inserts and reads back", async () => {
    await using store = await open();
    const { fetch } = store; // works without `this`
    await peopleIn(store);
    const entity = { PartitionKey: "p", RowKey: "r", v: 1 };
    const inserted = await fetch(post("people", entity));
    assert.equal(inserted.status, 201);
    assert.equal(inserted.statusText, "Created");
    assert.match(inserted.headers.get("etag") ?? "", /^W\/"datetime'/);
    const { Timestamp, ...stored } = await bodyOf(inserted);
    assert.deepEqual(stored, entity);
    const url = `${base}/people(PartitionKey='p',RowKey='r')`;
    const read = await fetch(url, { headers: json });
    assert.equal(read.status, 200);
    assert.match(read.headers.get("x-ms-request-id") ?? "", /^[0-9a-f-]{36}$/);
    assert.deepEqual(await bodyOf(read), { ...entity, Timestamp });
  });

  test("takes a Request, a URL, text and init, as the platform's does", async () => {
    await using store = await open();
    await peopleIn(store);
    const url = `${base}/Tables`;
    for (const input of [new Request(url), new URL(url), url, `${url}#fragment`]) {
      const { value } = await bodyOf(await store.fetch(input, { headers: json }));
      assert.deepEqual(value, [{ TableName: "people" }]);
    }
    await assert.rejects(store.fetch("/relative"), TypeError);
  });

  test("returns no body with 204, 304 and HEAD", async () => {
    await using store = await open();
    await peopleIn(store);
    const entity = { PartitionKey: "p", RowKey: "r" };
    const quiet = await store.fetch(post("people", entity, { Prefer: "return-no-content" }));
    assert.equal(quiet.status, 204);
    assert.equal(quiet.body, null);
    const head = await store.fetch(`${base}/people?comp=acl`, { method: "HEAD" });
    assert.equal(head.body, null);
  });

  test("takes a body of every type", async () => {
    await using store = await open();
    await peopleIn(store);
    const text = (row: number) =>
      JSON.stringify({ PartitionKey: "p", RowKey: `${row}`, u: "\u20ac" });
    const bytes = (row: number) => new TextEncoder().encode(text(row));
    const bodies: BodyInit[] = [
      text(0),
      bytes(1),
      bytes(2).buffer,
      new Blob([bytes(3)]),
      new Blob([bytes(4)]).stream(),
      new DataView(bytes(5).buffer),
    ];
    for (const body of bodies) {
      const init = { method: "POST", headers: json, body, duplex: "half" };
      assert.equal((await store.fetch(`${base}/people`, init)).status, 201);
    }
    const { value } = await bodyOf(await store.fetch(`${base}/people()`, { headers: json }));
    assert.deepEqual(
      value.map(({ u }: { u: string }) => u),
      bodies.map(() => "\u20ac"),
    );
  });

  test("rejects a request as the service does, with a response", async () => {
    await using store = await open();
    const missing = await store.fetch(`${base}/people(PartitionKey='p',RowKey='r')`);
    assert.equal(missing.status, 404);
    assert.equal((await bodyOf(missing))["odata.error"].code, "TableNotFound");
    const verb = await store.fetch(`${base}/people`, { method: "PROPFIND" });
    assert.equal(verb.status, 400);
  });

  test("rejects a body of more than 4 MiB, and accepts one of 4 MiB", async () => {
    await using store = await open();
    await peopleIn(store);
    const most = 4 * 1024 * 1024;
    const start = '{"PartitionKey":"p","RowKey":"r"}';
    const body = (size: number) => start + " ".repeat(size - start.length);
    const send = (size: number) =>
      store.fetch(`${base}/people`, { method: "POST", headers: json, body: body(size) });
    assert.equal((await send(most)).status, 201);
    const rejected = await send(most + 1);
    assert.equal(rejected.status, 413);
    assert.equal((await bodyOf(rejected))["odata.error"].code, "RequestBodyTooLarge");
    assert.equal((await send(2 * most)).status, 413);
  });

  test("writes through either entry point are visible through both", async () => {
    await using store = await open();
    await peopleIn(store);
    const key = { PartitionKey: "p", RowKey: "r" };
    const table = store.table("people");
    const direct = table.createEntity({ partitionKey: "p", rowKey: "r" });
    const [{ etag }, rejected] = await Promise.all([direct, store.fetch(post("people", key))]);
    assert.equal(rejected.status, 409);
    const read = await store.fetch(`${base}/people(PartitionKey='p',RowKey='r')`);
    assert.equal(read.headers.get("etag"), etag);
    const replaced = await store.fetch(`${base}/people(PartitionKey='p',RowKey='r')`, {
      method: "PUT",
      headers: { ...json, "If-Match": etag ?? "" },
      body: "{}",
    });
    assert.equal(replaced.status, 204);
    assert.equal((await table.getEntity("p", "r")).etag, replaced.headers.get("etag"));
  });

  test("a write that it acknowledged is stored", async () => {
    const name = "fetch-stored";
    {
      await using store = await openStore({ name, account: { name: "acct" } });
      await peopleIn(store);
      await store.fetch(post("people", { PartitionKey: "p", RowKey: "r", v: 1 }));
    }
    {
      await using store = await openStore({ name, account: { name: "acct" } });
      const entity = await store.fetch(`${base}/people(PartitionKey='p',RowKey='r')`);
      assert.equal((await bodyOf(entity)).v, 1);
    }
    await deleteStore(name);
  });

  test("an aborted call rejects with the given reason, and nothing happens", async () => {
    await using store = await open();
    await peopleIn(store);
    const reason = new Error("changed my mind");
    const entity = { PartitionKey: "p", RowKey: "r" };
    const aborted = store.fetch(
      new Request(post("people", entity), { signal: AbortSignal.abort(reason) }),
    );
    await assert.rejects(aborted, reason);
    const { value } = await bodyOf(await store.fetch(`${base}/people`, { headers: json }));
    assert.deepEqual(value, []);
  });

  test("rejects with StoreError once the store is closed", async () => {
    const store = await open();
    await store.close();
    await assert.rejects(store.fetch(`${base}/Tables`), { code: "StoreClosed" });
    await assert.rejects(store.fetch(post("Tables", { TableName: "people" })), {
      code: "StoreClosed",
    });
  });
});

describe("the account", () => {
  const status = async (store: Store, url: string) => (await store.fetch(url)).status;

  test("is named after the store", async () => {
    await using store = await openStore({ persistence: "memory", name: "mystore" });
    assert.equal(await status(store, "https://mystore.table.core.windows.net/Tables"), 200);
    assert.equal(await status(store, "http://127.0.0.1:10002/mystore/Tables"), 200);
  });

  test("is checked", async () => {
    const bad = [{ name: "" }, { name: "a/b" }, { authorize: true }, { keys: ["no base64!"] }];
    for (const account of bad) {
      await assert.rejects(openStore({ persistence: "memory", account }), {
        code: "ValidationFailed",
      });
    }
  });

  test("that requires authorization rejects a request without a key", async () => {
    await using store = await open({ account: { name: "acct", authorize: true, keys: ["a2V5"] } });
    assert.equal(await status(store, `${base}/Tables`), 403);
  });
});
