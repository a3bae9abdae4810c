// Tests fault rules for RPC and REST requests: which requests fail, how often, which error each
// caller gets, and what the request log contains.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TableClient, TableServiceClient } from "@azure/data-tables";
import { serve } from "../../../web/src/server/serve.ts";
import type { FaultRule, MockOptions, MockStore } from "../../../web/src/testing/index.ts";
import { mockStore } from "../../../web/src/testing/index.ts";
import { yieldToEventLoop } from "../../../web/src/util/event-loop.ts";

const url = "https://acme.table.core.windows.net";
const entity = (rowKey: string) => ({ partitionKey: "p", rowKey });
const people = { people: [entity("ann"), entity("bob")] };

const open = (options: MockOptions = {}) =>
  mockStore({ name: "acme", fixtures: people, ...options });

// Returns the official client, which retries without delay.
function official(store: MockStore, retries = 3): TableClient {
  return new TableClient(url, "people", {
    httpClient: store.httpClient,
    retryOptions: { maxRetries: retries, retryDelayInMs: 0, maxRetryDelayInMs: 0 },
  });
}

const busy: FaultRule = { on: "get", respond: { code: "ServerBusy", retryAfter: 0 } };

describe("a fault rule", () => {
  test("returns the service's own error response, through every entry point", async () => {
    await using store = await open({
      faults: [{ ...busy, respond: { code: "ServerBusy", retryAfter: 7 } }],
    });
    const direct = await store
      .tableClient("people")
      .getEntity("p", "ann")
      .catch((e) => e);
    assert.deepEqual(
      [direct.name, direct.statusCode, direct.code, direct.details["retry-after"]],
      ["RestError", 503, "ServerBusy", "7"],
    );
    const response = await store.fetch(`${url}/people(PartitionKey='p',RowKey='ann')`);
    assert.equal(response.status, 503);
    assert.equal(response.headers.get("retry-after"), "7");
    assert.equal((await response.json())["odata.error"].code, "ServerBusy");
    const sdk = await official(store, 0)
      .getEntity("p", "ann")
      .catch((e) => e);
    assert.deepEqual([sdk.statusCode, sdk.details.odataError.code], [503, "ServerBusy"]);
  });

  test("applies the given number of times, after the requests it skips", async () => {
    await using store = await open();
    const fault = store.faults.add({ ...busy, times: 2, skip: 1 });
    const client = official(store);
    await client.getEntity("p", "ann");
    assert.equal(fault.hits, 0);
    await client.getEntity("p", "ann");
    assert.equal(fault.hits, 2);
    const statuses = store.requests.matching({ on: "get" }).map(({ status }) => status);
    assert.deepEqual(statuses, [200, 503, 503, 200]);
  });

  test("applies only to what it names", async () => {
    await using store = await open({ fixtures: { ...people, others: [entity("ann")] } });
    const table = store.tableClient("people");
    store.faults.add({
      on: ["insert", "delete"],
      table: "PEOPLE",
      rowKey: /^x/,
      respond: { code: "InternalError" },
    });
    await table.createEntity(entity("y"));
    await store.tableClient("others").createEntity(entity("x"));
    await table.upsertEntity(entity("x0"));
    for (const failing of [table.createEntity(entity("x1")), table.deleteEntity("p", "x0")]) {
      await assert.rejects(failing, { statusCode: 500, code: "InternalError" });
    }
    await table.getEntity("p", "x0"); // the row still exists
    const batches = store.faults.add({
      on: "batch",
      rowKey: "b",
      respond: { code: "OperationTimedOut" },
    });
    await table.submitTransaction([["create", entity("a")]]);
    await assert.rejects(
      table.submitTransaction([
        ["create", entity("c")],
        ["create", entity("b")],
      ]),
      { code: "OperationTimedOut" },
    );
    batches.remove();
    await table.submitTransaction([
      ["create", entity("c")],
      ["create", entity("b")],
    ]);
    store.faults.add({
      on: "*",
      when: ({ filter }) => filter === "x eq 1",
      respond: { code: "ServerBusy" },
    });
    const list = (filter: string) => table.listEntities({ queryOptions: { filter } }).next();
    await list("x eq 2");
    await assert.rejects(list("x eq 1"), { statusCode: 503 });
  });

  test("applies only if `when` returns true", async () => {
    await using store = await open();
    const when = (({ select }) => select?.includes("age")) as NonNullable<FaultRule["when"]>;
    const fault = store.faults.add({ ...busy, when });
    await store.tableClient("people").getEntity("p", "ann");
    assert.equal(fault.hits, 0);
  });

  test("does not apply to a call that is aborted before it begins", async () => {
    await using store = await open({ faults: [{ on: "*", network: "reset", times: 1 }] });
    const abortSignal = AbortSignal.abort();
    const table = store.tableClient("people");
    for (const call of [
      () => table.createEntity(entity("x"), { abortSignal }),
      () => table.getEntity("p", "ann", { abortSignal }),
      () => store.fetch(`${url}/people()`, { signal: abortSignal }),
    ]) {
      await assert.rejects(call(), { name: "AbortError" });
    }
    assert.equal(store.faults.all()[0]?.hits, 0);
    assert.deepEqual(store.requests.all(), []);
  });

  test("with a probability repeats with its seed", async () => {
    const run = async (seed: number) => {
      await using store = await open({ seed, faults: [{ ...busy, probability: 0.3 }] });
      let struck = "";
      for (let i = 0; i < 60; ++i) {
        const failed = await store
          .tableClient("people")
          .getEntity("p", "ann")
          .then(
            () => 0,
            () => 1,
          );
        struck += failed;
      }
      return struck;
    };
    const first = await run(5);
    assert.equal(await run(5), first);
    assert.notEqual(await run(6), first);
    const hits = first.replaceAll("0", "").length;
    assert(hits > 6 && hits < 32, first);
  });

  test("is copied to forks and restored by rollbacks, with its count", async () => {
    await using store = await open();
    const fault = store.faults.add({ ...busy, times: 2 });
    const get = (from: MockStore) =>
      from
        .tableClient("people")
        .getEntity("p", "ann")
        .then(
          () => "ok",
          (e) => e.code,
        );
    const before = store.savepoint();
    assert.deepEqual(
      [await get(store), await get(store), await get(store)],
      ["ServerBusy", "ServerBusy", "ok"],
    );
    store.rollback(before);
    assert.equal(fault.hits, 0);
    assert.equal(await get(store), "ServerBusy");
    await using fork = store.fork();
    assert.deepEqual([await get(fork), await get(fork)], ["ServerBusy", "ok"]);
    assert.equal(await get(store), "ServerBusy");
    assert.equal(fork.requests.all().length, 2);
    await store.reset();
    assert.deepEqual(store.faults.all(), []);
  });

  for (const [what, rule] of Object.entries<object>({
    "without an operation": { respond: { code: "ServerBusy" } },
    "that does nothing": { on: "get" },
    "that fails twice": { on: "get", respond: { code: "ServerBusy" }, network: "reset" },
    "with half a request": { ...busy, times: 0.5 },
    "with a negative count": { ...busy, skip: -1 },
    "with more than certainty": { ...busy, probability: 1.1 },
    "with a range backwards": { ...busy, delayMs: [2, 1] },
    "with an endless delay": { ...busy, delayMs: Infinity },
    "with an unknown operation": { ...busy, on: ["get", "fetch"] },
    "with a table that is a number": { ...busy, table: 7 },
    "without a code": { on: "get", respond: { status: 503 } },
    "with a code in words": { on: "get", respond: { code: "not now" } },
    "that succeeds": { on: "get", respond: { code: "Fine", status: 299 } },
    "with a status that HTTP hasn't": { on: "get", respond: { code: "Odd", status: 600 } },
    "that is busy since a while": { on: "get", respond: { code: "ServerBusy", retryAfter: -1 } },
    "with a header that is a number": { on: "get", respond: { code: "Odd", headers: { a: 1 } } },
    "with headers that are a text": { on: "get", respond: { code: "ServerBusy", headers: "a: 1" } },
    "with a header that HTTP can't carry": {
      on: "get",
      respond: { code: "ServerBusy", headers: { "x-ms-note": "two\nlines" } },
    },
    "with a code of its own, but no status": { on: "get", respond: { code: "Odd" } },
    "that is busy until a text": { on: "get", respond: { code: "ServerBusy", retryAfter: "1" } },
    "that answers nothing": { on: "get", respond: null },
    "of no operation": { ...busy, on: [] },
    "of an unknown probability": { ...busy, probability: null },
    "with an unknown network": { on: "get", network: "rain" },
  })) {
    test(`${what} is rejected, and nothing changes`, async () => {
      await using store = await open();
      assert.throws(() => store.faults.add(rule as FaultRule), {
        name: "StoreError",
        code: "ValidationFailed",
        message: /^Fault rule: /,
      });
      assert.deepEqual(store.faults.all(), []);
      await assert.rejects(open({ faults: [rule as FaultRule] }), { code: "ValidationFailed" });
    });
  }
});

describe("a simulated network", () => {
  for (const [network, code] of [
    ["offline", "ENOTFOUND"],
    ["reset", "ECONNRESET"],
    ["timeout", "ETIMEDOUT"],
  ] as const) {
    test(`fails with ${network}: every kind of caller gets its own error`, async () => {
      await using store = await open({ faults: [{ on: "insert", network }] });
      const before = store.clock.elapsedMs;
      await assert.rejects(store.tableClient("people").createEntity(entity("x")), {
        name: "RestError",
        code,
      });
      assert.equal(store.clock.elapsedMs - before, network === "timeout" ? 30_000 : 0);
      const body = JSON.stringify({ PartitionKey: "p", RowKey: "x" });
      const headers = { "Content-Type": "application/json" };
      await assert.rejects(store.fetch(`${url}/people`, { method: "POST", headers, body }), {
        name: "TypeError",
        message: "Failed to fetch",
      });
      await assert.rejects(official(store, 2).createEntity(entity("x")), { code });
      assert.equal(
        store.requests.matching({ on: "insert", code }).length,
        5,
        "the official one tried again",
      );
      store.faults.clear();
      await store.tableClient("people").createEntity(entity("x"));
    });
  }

  test("loses the response of a completed request", async () => {
    await using store = await open({
      faults: [{ on: "insert", network: "timeout-after-commit", times: 1 }],
    });
    const tried = official(store).createEntity(entity("x"));
    await assert.rejects(tried, { statusCode: 409 }, "the second try finds what the first one did");
    await store.tableClient("people").getEntity("p", "x");
  });

  test("closes the connections of a server", async () => {
    await using store = await open({ faults: [{ on: "get", network: "reset", times: 1 }] });
    const server = await serve(store, { port: 0 });
    try {
      const path = `${server.url}/acme/people(PartitionKey='p',RowKey='ann')`;
      await assert.rejects(fetch(path), { name: "TypeError" });
      assert.equal((await fetch(path)).status, 200);
      store.faults.add({ on: "insert", network: "reset", times: 1 });
      const headers = { "Content-Type": "application/json" };
      const body = JSON.stringify({ PartitionKey: "p", RowKey: "x" });
      const insert = () =>
        fetch(`${server.url}/acme/people`, { method: "POST", headers, body }).then(
          ({ status }) => status,
          ({ name }) => name,
        );
      assert.deepEqual([await insert(), await insert()], ["TypeError", 201]);
    } finally {
      await server.close();
    }
  });
});

describe("a truncated response", () => {
  const cut: FaultRule = { on: "*", network: "truncate" };
  const ann = `${url}/people(PartitionKey='p',RowKey='ann')`;

  // Runs the official client over HTTP, with a server whose store has the same fault rule.
  async function overHttp(run: (client: TableClient, endpoint: string) => Promise<void>) {
    await using store = await open({ faults: [cut] });
    await using server = await serve(store, { port: 0 });
    const endpoint = `${server.url}/acme`;
    const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
    await run(new TableClient(endpoint, "people", options), endpoint);
  }

  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => "ok",
      (error) => `${error.name} ${error.code} ${error.statusCode}`,
    );

  test("is the official client's error through every entry point", async () => {
    await using store = await open({ faults: [cut] });
    const clients = [store.tableClient("people"), official(store, 0)];
    await overHttp(async (real) => {
      for (const client of [...clients, real]) {
        const read = await codeOf(client.getEntity("p", "ann"));
        assert.equal(read, "RestError PARSE_ERROR undefined");
        const page = await codeOf(client.listEntities().next());
        assert.equal(page, "RestError PARSE_ERROR undefined");
        const errorCode = await codeOf(client.createEntity(entity("bob")));
        assert.equal(errorCode, "RestError PARSE_ERROR undefined", "the body of an error");
        const write = await codeOf(client.deleteEntity("p", "ann"));
        assert.equal(write, "RestError ECONNRESET undefined", "there is no body to cut");
        if (client !== real) await store.seed(people);
      }
    });
    assert.equal(store.requests.matching({ code: "PARSE_ERROR" }).length, 6);
    assert.equal(store.requests.matching({ status: 200 }).length, 0);
  });

  test("is a lost response if there is no body, whatever the status", async () => {
    await using store = await open({ faults: [{ ...cut, on: "setProperties" }] });
    const { httpClient } = store;
    const retryOptions = { maxRetries: 0 };
    const service = new TableServiceClient(url, { httpClient, retryOptions });
    const properties = { cors: [] };
    assert.equal(await codeOf(service.setProperties(properties)), "RestError ECONNRESET undefined");
    store.faults.clear();
    await service.setProperties(properties);
    assert.equal(store.requests.all().at(-1)?.status, 202);
  });

  // Returns the text that arrives before the response's stream fails.
  async function halfOf(answer: Response): Promise<string> {
    let text = "";
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    const ended = (async () => {
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        text += new TextDecoder().decode(read.value);
      }
    })();
    await assert.rejects(ended, { name: "TypeError" });
    return text;
  }

  test("has half a body from fetch, as from a server", async () => {
    await using store = await open();
    await using server = await serve(store, { port: 0 });
    const there = `${server.url}/acme/people(PartitionKey='p',RowKey='ann')`;
    for (const [ask, address] of [
      [store.fetch, ann],
      [fetch, there],
    ] as const) {
      const complete = await (await ask(address)).text();
      const fault = store.faults.add(cut);
      const answer = await ask(address);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("content-length"), `${complete.length}`);
      assert.equal(await halfOf(answer), complete.slice(0, complete.length / 2));
      await assert.rejects((await ask(address)).json(), { name: "TypeError" });
      const removal = ask(address, { method: "DELETE", headers: { "If-Match": "*" } });
      await assert.rejects(removal, { name: "TypeError" }, "it has no body");
      assert.equal((await store.stats()).rows, 1, "and is done");
      fault.remove();
      await store.seed(people);
    }
  });
});

describe("a delay", () => {
  test("passes on the store's clock", async () => {
    await using store = await open({ faults: [{ on: "get", delayMs: 250 }] });
    const before = store.clock.elapsedMs;
    await store.tableClient("people").getEntity("p", "ann");
    assert.equal(store.clock.elapsedMs - before, 250);
    assert.deepEqual(
      store.requests.all().map(({ durationMs }) => durationMs),
      [250],
    );
  });

  test("waits for a stopped clock, and ends when its caller aborts", async () => {
    await using store = await open({ faults: [{ on: "*", delayMs: [1000, 2000] }] });
    store.clock.autoAdvance = false;
    let done = false;
    const got = store
      .tableClient("people")
      .getEntity("p", "ann")
      .then(() => (done = true));
    store.clock.advance(999);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(done, false);
    store.clock.advance(1001);
    await got;
    const abort = new AbortController();
    const write = store
      .tableClient("people")
      .createEntity(entity("x"), { abortSignal: abort.signal });
    await new Promise((resolve) => setTimeout(resolve, 20));
    abort.abort();
    await assert.rejects(write, { name: "AbortError" });
    for (const read of [
      (abortSignal: AbortSignal) =>
        store.tableClient("people").getEntity("p", "ann", { abortSignal }),
      (abortSignal: AbortSignal) =>
        store.tableClient("people").listEntities({ abortSignal }).next(),
      (abortSignal: AbortSignal) => store.serviceClient().listTables({ abortSignal }).next(),
      (signal: AbortSignal) => store.fetch(`${url}/people()`, { signal }),
    ]) {
      const giveUp = new AbortController();
      const waiting = read(giveUp.signal);
      await new Promise((resolve) => setImmediate(resolve));
      giveUp.abort();
      await assert.rejects(waiting, { name: "AbortError" });
    }
    store.faults.clear();
    await assert.rejects(store.tableClient("people").getEntity("p", "x"), { statusCode: 404 });
  });

  test("that its callers have aborted does not advance the clock", async () => {
    await using store = await open({ faults: [{ on: "get", network: "timeout" }] });
    const abort = new AbortController();
    const abortSignal = abort.signal;
    store.clock.autoAdvance = false;
    const got = store.tableClient("people").getEntity("p", "ann", { abortSignal });
    await new Promise((resolve) => setImmediate(resolve));
    abort.abort();
    await assert.rejects(got, { name: "AbortError" });
    store.clock.autoAdvance = true;
    await store.clock.wait(5);
    // long enough for the clock to advance by itself
    for (let turn = 0; turn < 3; ++turn) await yieldToEventLoop();
    assert.equal(store.clock.elapsedMs, 5);
  });

  test("ends when its store closes", async () => {
    const store = await open({ faults: [{ on: "*", network: "timeout" }] });
    store.clock.autoAdvance = false;
    const table = store.tableClient("people");
    const calls = [table.getEntity("p", "ann"), table.createEntity(entity("x"))];
    const ended = Promise.allSettled(calls);
    await store.close();
    for (const outcome of await ended) {
      assert.equal(outcome.status === "rejected" && outcome.reason.code, "StoreClosed");
    }
  });

  test("is drawn in the order of the requests", async () => {
    const took = async (query: number) => {
      const faults: FaultRule[] = [{ on: "*", delayMs: [100, 200] }];
      await using store = await open({ latency: { get: 10, query }, faults });
      const table = store.tableClient("people");
      await Promise.all([table.getEntity("p", "ann"), table.listEntities().next()]);
      return store.requests.matching({ on: "get" })[0]?.durationMs;
    };
    assert.equal(await took(5), await took(20));
  });
});

describe("the request log", () => {
  test("lists the requests through every entry point, and their outcome", async () => {
    await using store = await open();
    const table = store.tableClient("people");
    await table.createEntity(entity("cyd"));
    await table.createEntity(entity("cyd")).catch(() => {});
    await official(store).getEntity("p", "ann");
    for await (const _ of table.listEntities({ queryOptions: { filter: "RowKey gt 'b'" } }));
    const said = store.requests
      .all()
      .map(({ operation, rowKey, status, code, rowsRead, rowsReturned }) =>
        [operation, rowKey, status, code, rowsRead, rowsReturned].join(" "),
      );
    assert.deepEqual(said, [
      "insert cyd 204   ",
      "insert cyd 409 EntityAlreadyExists  ",
      "get ann 200  1 1",
      "query  200  3 2",
    ]);
    assert.equal(store.requests.matching({ on: ["insert"], status: 409 }).length, 1);
    assert.equal(store.requests.matching((request) => request.filter !== undefined).length, 1);
    store.requests.clear();
    assert.deepEqual(store.requests.all(), []);
  });
});
