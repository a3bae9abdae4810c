// Tests bulk writes through a store's table and through the official client: batches have the right
// size, failed actions are found, and the result is as if each action had been sent alone.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as official from "@azure/data-tables";
import type { BulkClient, BulkOptions, BulkResult } from "../../../web/src/bulk/index.ts";
import { BulkError, bulk } from "../../../web/src/bulk/index.ts";
import { type MockStore, mockStore } from "../../../web/src/testing/index.ts";
import type { TransactionAction } from "../../../web/src/types.ts";
import { dataTables } from "../support/data-tables.ts";
import { type Random, seededRandom } from "../support/random.ts";

const seed = Number(process.env.ENTITABLE_SEED ?? Math.floor(Math.random() * 2 ** 31));
const steps = Number(process.env.ENTITABLE_STEPS ?? 25);

const open = () => mockStore({ name: "acme", fixtures: { lamps: [] } });

type ClientFactory = (store: MockStore) => BulkClient;

const clients: Readonly<Record<string, ClientFactory>> = {
  "a store's table": (store) => store.table("lamps"),
  "the official client": (store) =>
    new official.TableClient("https://acme.table.core.windows.net", "lamps", {
      httpClient: store.httpClient,
      retryOptions: { maxRetries: 0 },
    }),
  "the client in its place": (store) =>
    new dataTables.TableClient("https://acme.table.core.windows.net", "lamps", { store }),
};

const upsert = (partitionKey: string, rowKey: string, more: object = {}): TransactionAction => [
  "upsert",
  { partitionKey, rowKey, ...more },
];
const create = (partitionKey: string, rowKey: string): TransactionAction => [
  "create",
  { partitionKey, rowKey },
];

// Returns this many actions, distributed over this many partitions in turn.
function* rows(count: number, partitions = 1): Generator<TransactionAction> {
  for (let i = 0; i < count; ++i) yield upsert(`p${i % partitions}`, String(i).padStart(6, "0"));
}

function batchSizes(store: MockStore): number[] {
  return store.requests.matching({ on: "batch" }).map(({ operations = [] }) => operations.length);
}

async function failing(promise: Promise<BulkResult>): Promise<BulkError> {
  const error = await promise.then(
    () => assert.fail("It should have been rejected."),
    (reason: unknown) => reason,
  );
  assert(error instanceof BulkError, String(error));
  return error;
}

async function contents(store: MockStore): Promise<string[]> {
  const found: string[] = [];
  for await (const { partitionKey, rowKey, etag, timestamp, ...rest } of store
    .table("lamps")
    .listEntities()) {
    found.push(JSON.stringify([partitionKey, rowKey, Object.entries(rest).sort()]));
  }
  return found;
}

for (const [name, clientOf] of Object.entries(clients)) {
  describe(`through ${name}`, () => {
    test("a hundred actions of a partition share a batch, and keep their order", async () => {
      await using store = await open();
      const progress: number[] = [];
      const onProgress: BulkOptions["onProgress"] = ({ done }) => progress.push(done);
      const result = await bulk(clientOf(store), rows(501, 2), { onProgress });
      assert.deepEqual(result, { read: 501, done: 501, failed: [], notAttempted: [], requests: 6 });
      assert.deepEqual(batchSizes(store).sort(), [100, 100, 100, 100, 50, 51].sort());
      assert.deepEqual(progress.at(-1), 501);
      assert.equal(progress.length, 6);
      assert.equal((await store.stats()).rows, 501);
      for (const partitionKey of ["p0", "p1"]) {
        const sent = store.requests
          .matching({ partitionKey })
          .flatMap(({ operations = [] }) => operations.map(({ rowKey }) => rowKey));
        assert.deepEqual(sent, sent.toSorted());
      }
    });

    test("an entity occurs once in a batch; later actions on it come later", async () => {
      await using store = await open();
      const actions = [1, 2, 3].map((n) => upsert("p", "r", { n }));
      await bulk(clientOf(store), [...actions, upsert("p", "s")]);
      assert.deepEqual(batchSizes(store), [1, 1, 2]);
      assert.deepEqual(await contents(store), ['["p","r",[["n",3]]]', '["p","s",[]]']);
    });

    test("a batch stays below 4 MiB, whatever characters its text has", async () => {
      for (const text of ["x".repeat(32_000), "\u20ac".repeat(32_000), "\n".repeat(32_000)]) {
        await using store = await open();
        const texts = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`t${i}`, text]));
        const actions = Array.from({ length: 12 }, (_, i) => upsert("p", `${i}`, texts));
        const { done } = await bulk(clientOf(store), actions);
        assert.equal(done, 12);
        assert.equal(
          store.requests.all().find(({ code }) => code !== undefined),
          undefined,
        );
        const sizes = batchSizes(store);
        assert(Math.max(...sizes) >= 2, "batches are filled");
        assert.deepEqual(new Set(sizes).size <= 2, true);
      }
    });

    test("after a failure no batch begins, and the result has all outcomes", async () => {
      await using store = await open();
      await store.table("lamps").createEntity({ partitionKey: "p0", rowKey: "000150" });
      const actions = [...rows(400)].map(([, entity]): TransactionAction => ["create", entity]);
      const error = await failing(bulk(clientOf(store), actions));
      assert.equal(error.name, "BulkError");
      assert.match(
        error.message,
        /^Action 150 failed, after 100 of the 400 read were carried out: 50:The spec/,
      );
      const { failed, notAttempted, ...counts } = error.result;
      assert.deepEqual(counts, { read: 400, done: 100, requests: 2 });
      assert.deepEqual(
        failed.map(({ index, uncertain, action }) => [index, uncertain, action]),
        [[150, false, actions[150]]],
      );
      assert.equal(error.cause, failed[0]?.error);
      assert.equal((error.cause as official.RestError).statusCode, 409);
      assert.deepEqual(notAttempted, [
        ...Array.from({ length: 50 }, (_, i) => 100 + i),
        ...Array.from({ length: 249 }, (_, i) => 151 + i),
      ]);
      assert.equal((await store.stats()).rows, 101);
    });

    test("with onError 'continue' all batches run, and failures are located", async () => {
      await using store = await open();
      const table = store.table("lamps");
      for (const row of ["000003", "000007", "000199"]) {
        await table.createEntity({ partitionKey: "p0", rowKey: row });
      }
      const actions = [...rows(250)].map(([, entity]): TransactionAction => ["create", entity]);
      const result = await bulk(clientOf(store), actions, { onError: "continue" });
      assert.deepEqual(
        result.failed.map(({ index }) => index),
        [3, 7, 199],
      );
      assert.deepEqual([result.done, result.notAttempted, result.requests], [247, [], 6]);
      assert.equal((await store.stats()).rows, 250);
    });

    test("an action that cannot be sent is located", async () => {
      await using store = await open();
      const actions = [...rows(10)];
      actions[6] = upsert("p0", "bad", { wrong: [] });
      const result = await bulk(clientOf(store), actions, { onError: "continue" });
      assert.deepEqual([result.done, result.failed.length, result.failed[0]?.index], [9, 1, 6]);
      assert.match(result.failed[0]?.error.message ?? "", /^Unknown EDM type object/);
      assert.equal(result.failed[0]?.uncertain, false);
    });

    test("a table that is missing or being deleted ends the run at once", async () => {
      for (const code of ["TableNotFound", "TableBeingDeleted"]) {
        await using store = await open();
        store.faults.add({ on: "batch", respond: { code } });
        const going = bulk(clientOf(store), rows(5000, 2), { onError: "continue", concurrency: 2 });
        const { result, cause } = await failing(going);
        assert.equal(
          (cause as official.RestError).statusCode,
          code === "TableNotFound" ? 404 : 409,
        );
        assert.deepEqual([result.requests, result.done, result.failed.length], [2, 0, 200]);
        assert.equal(result.failed.length + result.notAttempted.length, result.read);
        assert(result.failed.every(({ uncertain }) => !uncertain));
      }
    });

    test("a key range without permission does not stop the others", async () => {
      await using store = await open();
      store.faults.add({
        on: "batch",
        partitionKey: "p0",
        respond: { code: "AuthorizationFailure" },
      });
      const result = await bulk(clientOf(store), rows(300, 2), { onError: "continue" });
      assert.deepEqual([result.done, result.failed.length, result.requests], [150, 150, 4]);
    });

    test("a lost response makes the outcome of the whole batch uncertain", async () => {
      await using store = await open();
      store.faults.add({ on: "batch", skip: 1, times: 1, network: "timeout-after-commit" });
      const result = await bulk(clientOf(store), rows(300), {
        onError: "continue",
        concurrency: 1,
      });
      assert.deepEqual([result.done, result.failed.length, result.requests], [200, 100, 3]);
      assert(
        result.failed.every(({ index, uncertain }) => uncertain && index >= 100 && index < 200),
      );
      assert.equal((await store.stats()).rows, 300);
    });

    test("a busy service is reported, and nothing is sent again", async () => {
      await using store = await open();
      store.faults.add({ on: "batch", times: 1, respond: { code: "ServerBusy" } });
      const error = await failing(bulk(clientOf(store), rows(10)));
      assert.equal((error.cause as official.RestError).statusCode, 503);
      assert(error.result.failed.every(({ uncertain }) => uncertain));
      assert.equal(store.requests.all().length, 1);
    });

    test("after an abort the run waits for running batches", async () => {
      await using store = await open();
      const abort = new AbortController();
      let given = 0;
      async function* endless(): AsyncGenerator<TransactionAction> {
        for (const action of rows(1e9)) {
          given += 1;
          yield action;
        }
      }
      const onProgress: BulkOptions["onProgress"] = ({ done }) => {
        if (done >= 300) abort.abort();
      };
      const error = await failing(
        bulk(clientOf(store), endless(), { signal: abort.signal, onProgress }),
      );
      assert.equal(error.name, "AbortError");
      const { read, done, failed, notAttempted } = error.result;
      assert.equal(done + failed.length + notAttempted.length, read);
      assert(given - read <= 1);
      assert.equal(done, 300);
      const { rows: stored } = await store.stats();
      assert(stored >= done && stored <= done + failed.length);
    });

    test(`has the result of the actions done one by one (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      for (let step = 0; step < steps; ++step) await sameAsAlone(clientOf, random);
    });
  });
}

// Compares a bulk write of random actions, many of which fail, with sending the same actions one by
// one. Results, failures and the final table must be equal.
async function sameAsAlone(clientOf: ClientFactory, random: Random): Promise<void> {
  const partitions = 1 + random.below(4);
  const perPartition = 1 + random.below(random.below(2) ? 8 : 150);
  const actions = Array.from({ length: random.below(400) }, (_, i): TransactionAction => {
    const partitionKey = `p${random.below(partitions)}`;
    const rowKey = `${random.below(perPartition)}`;
    const entity = { partitionKey, rowKey, [`v${random.below(3)}`]: i };
    const mode = random.below(2) ? "Merge" : "Replace";
    const kind = random.below(20);
    if (kind === 0)
      return ["update", entity, mode, { etag: `W/"datetime'2020-01-01T00%3A00%3A00Z'"` }];
    if (kind === 1) return ["create", { ...entity, rowKey: "a/b" }];
    if (kind === 2) return ["upsert", { ...entity, big: "x".repeat(32_769) }, mode];
    if (kind < 7) return ["create", entity];
    if (kind < 10) return ["delete", entity];
    return [kind < 13 ? "update" : "upsert", entity, mode];
  });

  await using alone = await open();
  const failed: number[] = [];
  for (const [index, action] of actions.entries()) {
    await alone
      .table("lamps")
      .submitTransaction([action])
      .catch(() => failed.push(index));
  }

  await using together = await open();
  const concurrency = 1 + random.below(5);
  const result = await bulk(clientOf(together), actions, { onError: "continue", concurrency });
  assert.deepEqual(
    result.failed.map(({ index }) => index),
    failed,
  );
  assert.equal(result.done, actions.length - failed.length);
  assert.deepEqual(await contents(together), await contents(alone));
  assert(batchSizes(together).every((size) => size <= 100));
}

describe("bulk", () => {
  test("is a method of a store's tables, and accepts asynchronous input", async () => {
    await using store = await open();
    async function* slowly() {
      for (const action of rows(250)) {
        await null;
        yield action;
      }
    }
    const { done, requests } = await store.table("lamps").bulk(slowly());
    assert.deepEqual([done, requests], [250, 3]);
  });

  test("runs as many batches at a time as allowed, each of another partition", async () => {
    for (const concurrency of [1, 3]) {
      let most = 0;
      const under = new Set<string>();
      const client: BulkClient = {
        async submitTransaction([first]) {
          const key = first?.[1].partitionKey as string;
          assert(!under.has(key));
          under.add(key);
          most = Math.max(most, under.size);
          await new Promise(setImmediate);
          under.delete(key);
        },
      };
      await bulk(client, rows(2000, 5), { concurrency });
      assert.equal(most, concurrency);
    }
  });

  test("reads no more input than it can send, and closes the input early", async () => {
    let given = 0;
    let ended = false;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const client: BulkClient = { submitTransaction: () => held };
    function* counted() {
      try {
        for (const action of rows(100_000, 7)) {
          given += 1;
          yield action;
        }
      } finally {
        ended = true;
      }
    }
    const abort = new AbortController();
    const running = failing(bulk(client, counted(), { signal: abort.signal }));
    await new Promise(setImmediate);
    assert.equal(given, 16_384 + 400);
    abort.abort();
    release();
    const { result } = await running;
    assert(ended);
    assert.deepEqual([result.read, result.done, result.notAttempted.length], [16_784, 400, 16_384]);
  });

  test("batches are as full as possible with many small partitions", async () => {
    await using store = await open();
    const { requests, done } = await store.table("lamps").bulk(rows(40_000, 1000));
    assert.equal(done, 40_000);
    // The buffer holds 16,384 actions, about 16 for each of the 1,000 partitions. A batch therefore
    // has more than 10 actions on average.
    assert(requests < 4000, `${requests}`);
  });

  test("errors of the input and of onProgress end the run", async () => {
    await using store = await open();
    function* broken(): Generator<TransactionAction> {
      yield* rows(150);
      throw new Error("no more");
    }
    const error = await failing(store.table("lamps").bulk(broken()));
    assert.match(
      error.message,
      /^A bulk write ended, after 100 of the 150 read were carried out: no more$/,
    );
    assert.deepEqual(error.result.notAttempted.length, 50);
    const second = await failing(
      store.table("lamps").bulk(rows(150), {
        onProgress: () => {
          throw new Error("enough");
        },
      }),
    );
    assert.equal((second.cause as Error).message, "enough");
  });

  test("can be aborted before it begins, and while it waits for input", async () => {
    await using store = await open();
    const table = store.table("lamps");
    const error = await failing(table.bulk(rows(5), { signal: AbortSignal.abort() }));
    assert.deepEqual([error.name, error.result.read], ["AbortError", 0]);
    const abort = new AbortController();
    async function* stuck(): AsyncGenerator<TransactionAction> {
      yield create("p", "r");
      await new Promise(() => {});
    }
    const waiting = failing(table.bulk(stuck(), { signal: abort.signal }));
    await new Promise(setImmediate);
    abort.abort();
    assert.deepEqual((await waiting).result.notAttempted, [0]);
  });

  test("ends at once when the store is closed", async () => {
    const store = await open();
    const table = store.table("lamps");
    let closing: Promise<void> | undefined;
    const onProgress = () => {
      closing ??= store.close();
    };
    const options: BulkOptions = { onError: "continue", concurrency: 1, onProgress };
    const { result, cause } = await failing(table.bulk(rows(1000), options));
    assert.equal((cause as { code?: string }).code, "StoreClosed");
    assert.deepEqual([result.done, result.requests], [100, 2]);
    await closing;
  });

  test("locates actions that a table view rejects", async () => {
    const mergeError = Object.assign(new Error("no merges"), {
      name: "StoreError",
      code: "NotSupported",
    });
    const client: BulkClient = {
      async submitTransaction(actions) {
        if (actions.some(([, { rowKey }]) => rowKey === "000003")) throw mergeError;
      },
    };
    const { done, failed } = await bulk(client, rows(10), { onError: "continue" });
    assert.deepEqual([done, failed.map(({ index }) => index)], [9, [3]]);
  });

  test("accepts empty input, and rejects invalid options", async () => {
    await using store = await open();
    const nothing = { read: 0, done: 0, failed: [], notAttempted: [], requests: 0 };
    assert.deepEqual(await bulk(store.table("lamps"), []), nothing);
    for (const concurrency of [0, -1, Number.NaN]) {
      await assert.rejects(bulk(store.table("lamps"), [], { concurrency }), RangeError);
    }
    const onError = "ignore" as "stop";
    await assert.rejects(bulk(store.table("lamps"), [], { onError }), {
      message: "onError must be one of stop, continue, not ignore.",
    });
  });
});
