// Tests faultyFetch(): which requests fail, how, and what the remote has executed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { failureOf, serviceErrorOf } from "../../../web/src/sync-remote/service-error.ts";
import { type FetchFaultName, faultyFetch, mockStore } from "../../../web/src/testing/index.ts";

const url = "http://127.0.0.1:10002/devstoreaccount1";
const headers = { Accept: "application/json;odata=minimalmetadata" };
const insert = { method: "POST", body: '{"PartitionKey":"p","RowKey":"1"}' };
const json = { ...headers, "Content-Type": "application/json" };

/** A remote with an empty table, and what has reached it. */
async function openRemote() {
  const store = await mockStore({ fixtures: { lamps: [] } });
  const sent: string[] = [];
  const send: typeof fetch = async (input, init) => {
    sent.push(String(init?.method ?? "GET"));
    return await store.fetch(input as string, init);
  };
  return { store, sent, send };
}

const isSimulated = (name: FetchFaultName) => (error: Error) =>
  error.name === "TypeError" && error.message.includes(`"${name}"`);

test("without a fault, it is the fetch that it was made with", async () => {
  const { send, sent, store } = await openRemote();
  const fetch = faultyFetch({ fetch: send });
  const response = await fetch(`${url}/lamps`, { ...insert, headers: json });
  assert.equal(response.status, 201);
  assert.deepEqual(sent, ["POST"]);
  assert.equal(await store.table("lamps").count(), 1);
  assert(fetch.faults.all().every(({ hits, remaining }) => hits === 0 && remaining === 0));
  await store.close();
});

test("by default, it sends by the platform's fetch as it is then", async () => {
  const fetch = faultyFetch();
  const { fetch: platform } = globalThis;
  globalThis.fetch = async () => new Response("later");
  try {
    assert.equal(await (await fetch("http://127.0.0.1/")).text(), "later");
  } finally {
    globalThis.fetch = platform;
  }
});

test("offline and lost requests do not reach the remote", async () => {
  const { send, sent, store } = await openRemote();
  const fetch = faultyFetch({ fetch: send });
  for (const name of ["offline", "request-lost"] as const) {
    fetch.faults.on(name);
    for (let i = 0; i < 3; ++i) await assert.rejects(fetch(`${url}/lamps()`), isSimulated(name));
    assert.equal(fetch.faults.all().find((fault) => fault.name === name)?.hits, 3);
    fetch.faults.off(name);
  }
  assert.deepEqual(sent, []);
  assert.equal((await fetch(`${url}/lamps()`, { headers })).status, 200);
  await store.close();
});

test("a lost response is one of a request that was executed", async () => {
  const { send, store } = await openRemote();
  const fetch = faultyFetch({ fetch: send });
  fetch.faults.on("response-lost", { times: 1 });
  const request = { ...insert, headers: json };
  await assert.rejects(fetch(`${url}/lamps`, request), isSimulated("response-lost"));
  assert.equal(await store.table("lamps").count(), 1);
  assert.equal((await fetch(`${url}/lamps`, request)).status, 409);
  await store.close();
});

test("429 and 500 are errors of the service's shape", async () => {
  const { send, sent, store } = await openRemote();
  const fetch = faultyFetch({ fetch: send, retryAfter: 7 });
  fetch.faults.on("throttled", { times: 1 });
  fetch.faults.on("server-error", { times: 1 });
  const throttled = await fetch(`${url}/lamps()`, { headers });
  assert.deepEqual([throttled.status, throttled.headers.get("Retry-After")], [429, "7"]);
  assert.match(throttled.headers.get("Content-Type") ?? "", /^application\/json/);
  const text = await throttled.text();
  assert.equal(serviceErrorOf(text)?.code, "TooManyRequests");
  const failed = await fetch(`${url}/lamps()`, { headers });
  assert.equal(failed.status, 500);
  assert.equal(failed.headers.get("x-ms-error-code"), "InternalError");
  const received = { status: 500, text: await failed.text(), retryAfterMs: undefined };
  assert.equal(serviceErrorOf(received.text)?.code, "InternalError");
  assert.equal(failureOf(received as Parameters<typeof failureOf>[0]).kind, "failed");
  assert.deepEqual(sent, []);
  assert.equal((await fetch(`${url}/lamps()`, { headers })).status, 200);
  await store.close();
});

test("a fault applies to the next requests, or to a part of them that `random` decides", async () => {
  const draws = [0.1, 0.9, 0.2, 0.5, 0.49];
  const fetch = faultyFetch({
    fetch: async () => new Response("ok"),
    random: () => draws.shift() as number,
  });
  fetch.faults.on("offline", { probability: 0.5, times: 3 });
  const results: string[] = [];
  for (let i = 0; i < 7; ++i)
    results.push(
      await fetch(url).then(
        ({ status }) => String(status),
        () => "offline",
      ),
    );
  assert.deepEqual(results, ["offline", "200", "offline", "200", "offline", "200", "200"]);
  assert.deepEqual(draws, []); // it is off, and draws no more
  assert.deepEqual(fetch.faults.all()[1], {
    name: "offline",
    remaining: 0,
    probability: 0.5,
    hits: 3,
  });
});

test("a delayed request is sent later, and meets the faults of that time", async () => {
  const sent: number[] = [];
  const fetch = faultyFetch({
    fetch: async () => {
      sent.push(performance.now());
      return new Response("ok");
    },
    delayMs: 60,
  });
  fetch.faults.on("delayed");
  const from = performance.now();
  await fetch(url);
  assert((sent[0] as number) - from >= 50);
  const failing = fetch(url);
  fetch.faults.on("offline");
  await assert.rejects(failing, isSimulated("offline"));
  assert.equal(sent.length, 1);
});

test("an aborted request rejects with the signal's reason, also while it is delayed", async () => {
  const fetch = faultyFetch({ fetch: async () => new Response("ok"), delayMs: 60_000 });
  fetch.faults.on("delayed");
  const controller = new AbortController();
  const reason = new Error("enough");
  const inInit = fetch(url, { signal: controller.signal });
  const inRequest = fetch(new Request(url, { signal: controller.signal }));
  controller.abort(reason);
  for (const aborted of [inInit, inRequest, fetch(url, { signal: controller.signal })])
    await assert.rejects(aborted, (error) => error === reason);
});

test("listeners hear of each switch and of each request that a fault applies to", async () => {
  const fetch = faultyFetch({ fetch: async () => new Response("ok") });
  let calls = 0;
  const end = fetch.faults.subscribe(() => {
    calls += 1;
  });
  fetch.faults.on("throttled", { times: 2 });
  await fetch(url);
  fetch.faults.off();
  fetch.faults.off(); // all are off
  await fetch(url);
  assert.equal(calls, 3);
  fetch.faults.on("offline");
  end();
  fetch.faults.on("offline");
  await Promise.resolve();
  assert.equal(calls, 3);
});

test("invalid faults and options are rejected, with the names that there are", () => {
  const { faults } = faultyFetch();
  const invalid = { name: "StoreError", code: "ValidationFailed" };
  for (const act of [
    () => faults.on("broken" as FetchFaultName),
    () => faults.off("broken" as FetchFaultName),
    () => faults.on("offline", { times: 0 }),
    () => faults.on("offline", { times: 1.5 }),
    () => faults.on("offline", { probability: 2 }),
    () => faultyFetch({ delayMs: -1 }),
    () => faultyFetch({ delayMs: 2 ** 31 }),
    () => faultyFetch({ retryAfter: Number.NaN }),
    () => faultyFetch({ retryAfter: 0.5 }),
  ])
    assert.throws(act, invalid);
  assert.throws(() => faults.on("broken" as FetchFaultName), /offline, request-lost/);
});
