// Tests how the official client's retry policy, with its default delays, reacts to each fault rule
// and option. The delays pass on the store's virtual clock.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { type RestError, TableClient } from "@azure/data-tables";
import type { FaultRule, MockOptions, MockStore } from "../../../web/src/testing/index.ts";
import { mockStore } from "../../../web/src/testing/index.ts";

const url = "https://acme.table.core.windows.net";
const ann = { partitionKey: "p", rowKey: "ann" };
const busy = { code: "ServerBusy", retryAfter: 7 };

interface Tried {
  client: TableClient;
  store: MockStore;
  // Returns the statuses of all requests since the last call of took(), and the seconds that
  // passed.
  took(): { statuses: (number | string)[]; seconds: number };
}

// Runs the official client with its defaults: three retries, the first after about a second. Its
// timers run on the store's clock.
async function tried(t: TestContext, options: MockOptions, run: (tried: Tried) => Promise<void>) {
  await using store = await mockStore({ name: "acme", fixtures: { people: [ann] }, ...options });
  t.mock.method(globalThis, "setTimeout", (call: () => void, ms: number) => {
    void store.clock.wait(ms).then(call);
    return {};
  });
  const client = new TableClient(url, "people", { httpClient: store.httpClient });
  let began = store.clock.now();
  const took = () => {
    const seconds = (store.clock.now() - began) / 1000;
    const statuses = store.requests.all().map(({ status, code }) => status ?? code ?? "");
    store.requests.clear();
    began = store.clock.now();
    return { statuses, seconds };
  };
  await run({ client, store, took });
}

const get = (client: TableClient) => client.getEntity("p", "ann");

function rejects(call: Promise<unknown>, what: Partial<RestError> | { name: string }) {
  return assert.rejects(call, what);
}

// Checks a duration. Half of each delay is random, so it lies within a range.
function about(seconds: number, least: number, most: number): void {
  assert(seconds >= least && seconds <= most, `${seconds} s`);
}

describe("an error response from a rule", () => {
  test("with Retry-After is retried after that many seconds", async (t) => {
    await tried(
      t,
      { faults: [{ on: "get", times: 2, respond: busy }] },
      async ({ client, took }) => {
        await get(client);
        assert.deepEqual(took(), { statuses: [503, 503, 200], seconds: 14 });
      },
    );
  });

  test("with a retry header in milliseconds is retried after that delay", async (t) => {
    const respond = { code: "ServerBusy", headers: { "x-ms-retry-after-ms": "250" } };
    await tried(t, { faults: [{ on: "get", times: 1, respond }] }, async ({ client, took }) => {
      await get(client);
      assert.deepEqual(took(), { statuses: [503, 200], seconds: 0.25 });
    });
  });

  test("without Retry-After is retried with exponential back-off, and then reported", async (t) => {
    const respond = { code: "InternalError", message: "not today" };
    await tried(t, { faults: [{ on: "get", respond }] }, async ({ client, took }) => {
      await rejects(get(client), { statusCode: 500 });
      const { statuses, seconds } = took();
      assert.deepEqual(statuses, [500, 500, 500, 500]);
      about(seconds, 3.5, 7); // 1 + 2 + 4, of which half is random
    });
  });

  for (const [code, status] of [
    ["UpdateConditionNotSatisfied", 412],
    ["AuthenticationFailed", 403],
    ["NotImplemented", 501],
  ] as const) {
    test(`${status} ${code} is not retried`, async (t) => {
      const rule: FaultRule = { on: "get", respond: { code, status } };
      await tried(t, { faults: [rule] }, async ({ client, took }) => {
        await rejects(get(client), { statusCode: status });
        assert.deepEqual(took(), { statuses: [status], seconds: 0 });
      });
    });
  }
});

describe("a rule applies", () => {
  test("after the requests it skips, so that a retry fails", async (t) => {
    const faults: FaultRule[] = [
      { on: "get", times: 1, respond: busy },
      { on: "get", skip: 1, times: 1, respond: { code: "OperationTimedOut" } },
    ];
    await tried(t, { faults }, async ({ client, took }) => {
      await get(client);
      const { statuses } = took();
      assert.deepEqual(statuses, [503, 200], "the second rule has seen one request only");
      await get(client);
      assert.deepEqual(took().statuses, [500, 200]);
    });
  });

  test("with a probability, equally for equal seeds", async (t) => {
    const all: unknown[] = [];
    for (const seed of [3, 3, 4]) {
      const respond = { code: "ServerBusy", retryAfter: 1 };
      const faults: FaultRule[] = [{ on: "get", probability: 0.5, respond }];
      await tried(t, { faults, seed }, async ({ client, took }) => {
        for (let i = 0; i < 20; ++i) await get(client).catch(() => {});
        all.push(took());
      });
      t.mock.restoreAll();
    }
    assert.deepEqual(all[1], all[0]);
    assert.notDeepEqual(all[2], all[0]);
  });

  for (const [what, match] of Object.entries<Partial<FaultRule>>({
    "an operation": { on: "insert" },
    "several operations": { on: ["delete", "insert"] },
    "a table": { on: "*", table: /^peo/ },
    "a partition": { on: "*", partitionKey: "q" },
    "a row": { on: "*", rowKey: /^b/ },
    "what a request says": { on: "*", when: ({ rowKey }) => rowKey === "bob" },
  })) {
    test(`at ${what}, and nothing else is retried`, async (t) => {
      const faults: FaultRule[] = [{ ...match, on: match.on ?? "*", times: 1, respond: busy }];
      const fixtures = { people: [ann], others: [ann] };
      await tried(t, { faults, fixtures }, async ({ client, store, took }) => {
        const others = new TableClient(url, "others", { httpClient: store.httpClient });
        await get(others);
        if (what !== "a table") await get(client);
        assert.equal(took().seconds, 0);
        await client.createEntity({ partitionKey: "q", rowKey: "bob" });
        assert.deepEqual(took(), { statuses: [503, 204], seconds: 7 });
      });
    });
  }

  test("with a delay: the retry comes after both delays", async (t) => {
    const faults: FaultRule[] = [{ on: "get", times: 1, delayMs: 5000, respond: busy }];
    await tried(t, { faults }, async ({ client, took }) => {
      await get(client);
      assert.deepEqual(took(), { statuses: [503, 200], seconds: 12 });
    });
  });

  test("with a delay: a call that its caller aborts is not retried", async (t) => {
    const faults: FaultRule[] = [{ on: "*", delayMs: 60_000, respond: busy }];
    await tried(t, { faults }, async ({ client, store, took }) => {
      store.clock.autoAdvance = false;
      for (const call of [
        (abortSignal: AbortSignal) => client.getEntity("p", "ann", { abortSignal }),
        (abortSignal: AbortSignal) => client.deleteEntity("p", "ann", { abortSignal }),
        (abortSignal: AbortSignal) => client.listEntities({ abortSignal }).next(),
      ]) {
        const abort = new AbortController();
        const given = call(abort.signal);
        await new Promise((resolve) => setImmediate(resolve));
        abort.abort();
        await rejects(given, { name: "AbortError" });
        assert.deepEqual(took(), { statuses: ["AbortError"], seconds: 0 });
      }
    });
  });
});

describe("a network failure from a rule", () => {
  for (const [network, code] of [
    ["offline", "ENOTFOUND"],
    ["reset", "ECONNRESET"],
    ["timeout", "ETIMEDOUT"],
  ] as const) {
    test(`${network}: the call is retried, and then rejected`, async (t) => {
      const faults: FaultRule[] = [{ on: "insert", network }];
      await tried(t, { faults }, async ({ client, store, took }) => {
        const lost = network === "timeout" ? 30 : 0; // seconds lost by each timeout
        const insert = client.createEntity({ partitionKey: "p", rowKey: "x" });
        await rejects(insert, { code });
        const four = took();
        assert.deepEqual(four.statuses, [code, code, code, code]);
        about(four.seconds, 3.5 + 4 * lost, 7 + 4 * lost);
        store.faults.clear();
        store.faults.add({ on: "insert", network, times: 2 });
        await client.createEntity({ partitionKey: "p", rowKey: "x" });
        assert.deepEqual(took().statuses, [code, code, 204]);
      });
    });
  }

  test("timeout-after-commit: the retry finds the effect of the first attempt", async (t) => {
    const faults: FaultRule[] = [{ on: "*", network: "timeout-after-commit", skip: 1, times: 1 }];
    const finds = (call: (client: TableClient) => Promise<unknown>) =>
      tried(t, { faults }, async ({ client, took }) => {
        const { etag } = await get(client);
        took();
        const outcome = await call(client).then(
          () => "done",
          (error) => error.statusCode,
        );
        const expected = outcome === "done" ? 204 : outcome;
        assert.deepEqual(took().statuses, ["ETIMEDOUT", expected]);
        seen.push(outcome);
        assert(etag !== "");
      }).then(() => t.mock.restoreAll());
    const seen: unknown[] = [];
    const bob = { partitionKey: "p", rowKey: "bob" };
    await finds((client) => client.createEntity(bob));
    await finds((client) => client.upsertEntity(bob));
    await finds((client) => client.deleteEntity("p", "ann"));
    await finds(async (client) => client.updateEntity({ ...ann, age: 1 }, "Merge"));
    assert.deepEqual(seen, [409, "done", 404, "done"]);
  });

  test("truncate: half a response is not retried, an empty one is", async (t) => {
    await tried(t, { faults: [{ on: "*", network: "truncate", times: 1 }] }, async (one) => {
      await rejects(get(one.client), { code: "PARSE_ERROR" });
      assert.deepEqual(one.took(), { statuses: ["PARSE_ERROR"], seconds: 0 });
      one.store.faults.add({ on: "delete", network: "truncate", times: 1 });
      await rejects(one.client.deleteEntity("p", "ann"), { statusCode: 404 });
      assert.deepEqual(one.took().statuses, ["ECONNRESET", 404]);
    });
  });
});

describe("an option", () => {
  test("latency: each attempt takes its time", async (t) => {
    const faults: FaultRule[] = [{ on: "get", times: 2, respond: busy }];
    await tried(t, { faults, latency: { get: 500 } }, async ({ client, took }) => {
      await get(client);
      assert.deepEqual(took(), { statuses: [503, 503, 200], seconds: 15.5 });
    });
  });

  for (const throttle of [{ partitionOpsPerSecond: 2 }, { accountOpsPerSecond: 2 }]) {
    test(`throttle: the client retries in time (${Object.keys(throttle)})`, async (t) => {
      await tried(t, { throttle }, async ({ client, took }) => {
        for (let i = 0; i < 6; ++i) await get(client);
        const { statuses, seconds } = took();
        assert.deepEqual(statuses, [200, 200, 503, 200, 200, 503, 200, 200]);
        assert.equal(seconds, 2);
      });
    });
  }

  test("tableDeletionMs: a conflict is not retried", async (t) => {
    await tried(t, { tableDeletionMs: 40_000 }, async ({ client, store, took }) => {
      await client.deleteTable();
      await rejects(client.createTable(), { statusCode: 409 });
      assert.deepEqual(took().statuses, [204, 409]);
      store.clock.advance(40_000);
      await client.createTable();
    });
  });

  test("emptyPages: continuations are followed, and failed requests are retried", async (t) => {
    const people = ["a", "b", "c", "d"].map((rowKey) => ({ partitionKey: "p", rowKey }));
    const faults: FaultRule[] = [{ on: "query", skip: 1, times: 1, respond: busy }];
    await tried(t, { fixtures: { people }, emptyPages: 1, faults }, async ({ client, took }) => {
      const rows: unknown[] = [];
      for await (const { rowKey } of client.listEntities()) rows.push(rowKey);
      assert.deepEqual(rows, ["a", "b", "c", "d"]);
      const { statuses, seconds } = took();
      assert.deepEqual(statuses.slice(0, 3), [200, 503, 200]);
      assert(statuses.length > 3);
      assert.equal(seconds, 7);
    });
  });

  test("clock: the client's waits advance it, and so the dates of responses", async (t) => {
    const clock = "2030-05-05T05:05:05Z";
    const faults: FaultRule[] = [{ on: "insert", times: 1, respond: busy }];
    await tried(t, { clock, faults }, async ({ client }) => {
      const { date } = await client.createEntity({ partitionKey: "p", rowKey: "x" });
      assert.equal(date?.toISOString(), "2030-05-05T05:05:12.000Z");
    });
  });
});
