// Tests the warnings of development (a filter that cannot match, a rejected request, an ignored
// option) and those that are printed.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import "fake-indexeddb/auto";
import { TableClient } from "@azure/data-tables";
import { build } from "esbuild";
import { mockStore, type ParityTarget, parity } from "../../web/src/testing/index.ts";
import type { MockStore } from "../../web/src/testing/types.ts";
import type { OpenOptions, StoreWarning } from "../../web/src/types.ts";
import { dataTables } from "./support/data-tables.ts";
import { openStore } from "./support/package.ts";
import { until } from "./support/until.ts";

const entity = {
  partitionKey: "p",
  rowKey: "r",
  firstName: "Ann",
  age: 31,
  born: new Date("1994-02-03"),
  visits: 5n,
  score: 1.5,
  active: true,
};

interface Watched extends AsyncDisposable {
  store: MockStore;
  warnings: StoreWarning[];
}

async function open(): Promise<Watched> {
  const warnings: StoreWarning[] = [];
  const store = await mockStore({
    fixtures: { people: [entity], none: [] },
    onWarning: (warning) => warnings.push(warning),
  });
  return { store, warnings, [Symbol.asyncDispose]: () => store.close() };
}

async function list({ store }: Watched, filter: string, table = "people"): Promise<number> {
  let rows = 0;
  for await (const _ of store.table(table).listEntities({ queryOptions: { filter } })) rows += 1;
  return rows;
}

// Runs with another value of NODE_ENV.
async function withEnvironment(value: string | undefined, run: () => Promise<void>): Promise<void> {
  const { NODE_ENV: before } = process.env;
  const set = (to: string | undefined) => {
    if (to === undefined) delete process.env["NODE_ENV"];
    else process.env["NODE_ENV"] = to;
  };
  set(value);
  try {
    await run();
  } finally {
    set(before);
  }
}

// More than the check takes, which loads a module and reads once.
const settled = () => sleep(100);

describe("a filter that cannot match is reported", () => {
  const people = (filter: string) => `The filter ${filter} matches no row of "people": `;
  const cases: readonly [filter: string, reason: string][] = [
    ["partitionKey eq 'p'", "its rows have the property PartitionKey, and not partitionKey."],
    ["rowKey ge 'a'", "its rows have the property RowKey, and not rowKey."],
    [
      "timestamp gt datetime'2020-01-01'",
      "its rows have the property Timestamp, and not timestamp.",
    ],
    ["FirstName eq 'Ann'", "its rows have the property firstName, and not FirstName."],
    ["first_name eq 'Ann'", "its rows have the property firstName, and not first_name."],
    ["fistName eq 'Ann'", "its rows have the property firstName, and not fistName."],
    ["firstNmae eq 'Ann'", "its rows have the property firstName, and not firstNmae."],
    [
      "PartitionKey eq 'a/b'",
      "no key contains /. Keys that escapeKey() made are compared with escapeKey(text).",
    ],
    ["age eq '31'", "age is of type Int32, and '31' of type String. Write 31."],
    ["age eq 31L", "age is of type Int32, and 31L of type Int64. Write Int32 as 31."],
    ["age gt 30.5", "age is of type Int32, and 30.5 of type Double. Write Int32 as 31."],
    ["'31' le age", "age is of type Int32, and '31' of type String. Write 31."],
    ["visits eq 5.0", "visits is of type Int64, and 5.0 of type Double. Write Int64 as 31L."],
    ["score eq '1.5'", "score is of type Double, and '1.5' of type String. Write Double as 1.5."],
    [
      "active eq 'true'",
      "active is of type Boolean, and 'true' of type String. Write Boolean as true.",
    ],
    [
      "born gt '1990-01-01'",
      "born is of type DateTime, and '1990-01-01' of type String. Write DateTime as datetime'2008-07-10T00:00:00Z'.",
    ],
    ["firstName eq 7", "firstName is of type String, and 7 of type Int32. Write String as 'text'."],
    ["RowKey eq 7", "RowKey is of type String, and 7 of type Int32. Write String as 'text'."],
    ["age gt 90 and FirstName eq 'x'", "its rows have the property firstName, and not FirstName."],
  ];
  for (const [filter, reason] of cases) {
    test(filter, async () => {
      await using watched = await open();
      assert.equal(await list(watched, filter), 0);
      await until(() => watched.warnings.length > 0);
      const message = people(filter) + reason;
      assert.deepEqual(watched.warnings, [{ code: "FilterCannotMatch", message }]);
    });
  }

  test("once for each filter of a table, also by count", async () => {
    await using watched = await open();
    const filter = "age eq '31'";
    for (let i = 0; i < 3; ++i) await list(watched, filter);
    await watched.store.table("people").count({ queryOptions: { filter } });
    await settled();
    assert.equal(watched.warnings.length, 1);
    await watched.store.table("people").count({ queryOptions: { filter: "Age eq 31" } });
    await until(() => watched.warnings.length === 2);
  });

  test("once for each comparison, whatever value it compares with", async () => {
    await using watched = await open();
    for (let i = 0; i < 1100; ++i) await list(watched, `firstName eq 'x${i}'`);
    for (let i = 0; i < 3; ++i) await list(watched, `age eq '${i}' or firstName eq 'x'`);
    await until(() => watched.warnings.length > 0);
    await settled();
    assert.equal(watched.warnings.length, 1);
  });

  test("once for a mock store and its forks", async () => {
    await using watched = await open();
    for (let i = 0; i < 2; ++i) {
      const fork = watched.store.fork();
      await list({ ...watched, store: fork }, "age eq '31'");
      await until(() => watched.warnings.length > 0);
      await settled();
      await fork.close();
    }
    assert.equal(watched.warnings.length, 1);
  });

  test("also if the table had no rows at first", async () => {
    await using watched = await open();
    const filter = "age eq '31'";
    await list(watched, filter, "none");
    await settled();
    await watched.store.table("none").createEntity(entity);
    await list(watched, filter, "none");
    await until(() => watched.warnings.length === 1);
  });

  test("as one of the first rows, if the table has many", async () => {
    await using watched = await open();
    await addRows(watched, 150);
    await list(watched, "Age gt 31 and Age lt 40 and age eq '31'");
    await until(() => watched.warnings.length === 1);
    const [, reasons] = watched.warnings[0]?.message.split(`"people": `) ?? [];
    assert.equal(
      reasons,
      "its first rows have the property age, and not Age. Also, in its first rows, age is of type Int32, and '31' of type String. Write 31.",
    );
  });

  test("without control characters of the filter", async () => {
    await using watched = await open();
    await list(watched, "age eq '\n\u001b[31m'");
    await until(() => watched.warnings.length === 1);
    assert.match(watched.warnings[0]?.message ?? "", /^The filter age eq 'U\+000AU\+001B\[31m' /);
  });

  test("for the official client", async () => {
    await using watched = await open();
    const { httpClient } = watched.store;
    const options = { httpClient, allowInsecureConnection: true };
    const connection = "UseDevelopmentStorage=true";
    const table = TableClient.fromConnectionString(connection, "people", options);
    const filter = "partitionKey eq 'p'";
    for await (const _ of table.listEntities({ queryOptions: { filter } })) assert.fail();
    await until(() => watched.warnings.length === 1);
    assert.match(watched.warnings[0]?.message ?? "", /PartitionKey, and not partitionKey/);
  });

  test("without a trace in a mock store's log and clock", async () => {
    await using watched = await open();
    const { clock, requests } = watched.store;
    const time = clock.now();
    await list(watched, "age eq '31'");
    await until(() => watched.warnings.length === 1);
    const operations = requests.all().map(({ operation }) => operation);
    assert.deepEqual([operations, clock.now()], [["query"], time]);
  });
});

async function addRows({ store }: Watched, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, i) => ({ ...entity, rowKey: `r${i}` }));
  await store.seed({ people: rows });
}

describe("a filter is not reported", () => {
  const cases = [
    "age eq 32",
    "age eq 32 and firstName eq 'Bob'",
    "score eq 2",
    "score eq 2L",
    "visits eq 6",
    "lastName eq 'Jones'",
    "age lt 10",
    "RowKey eq 'x' and age ne 31",
    "firstName eq 'zzz' and not (age gt '31')",
  ];
  test("if its types and names are right, or are unknown", async () => {
    await using watched = await open();
    for (const filter of cases) assert.equal(await list(watched, filter), 0);
    await settled();
    assert.deepEqual(watched.warnings, []);
  });

  test("if it matches a row, or the table is empty or missing", async () => {
    await using watched = await open();
    assert.equal(await list(watched, "age eq 31 or age eq '31'"), 1);
    assert.equal(await list(watched, "age eq '31'", "none"), 0);
    await assert.rejects(list(watched, "age eq '31'", "missing"));
    await settled();
    assert.deepEqual(watched.warnings, []);
  });

  test("if a later row may have a number of another type", async () => {
    await using watched = await open();
    await addRows(watched, 150);
    const last = { partitionKey: "q", rowKey: "r", age: 10.5 };
    await watched.store.table("people").createEntity(last);
    assert.equal(await list(watched, "age gt 1000.5"), 0);
    await settled();
    assert.deepEqual(watched.warnings, []);
  });

  test("if the request is for a later page", async () => {
    await using watched = await open();
    const url = "http://127.0.0.1:10002/devstoreaccount1/people()";
    const query = "$filter=age%20eq%20'31'%20or%20firstName%20eq%20'Ann'";
    const response = await watched.store.fetch(
      `${url}?${query}&NextPartitionKey=1!4!cQ--&NextRowKey=1!4!cg--`,
      { headers: { Accept: "application/json;odata=nometadata" } },
    );
    assert.deepEqual(await response.json(), { value: [] });
    await settled();
    assert.deepEqual(watched.warnings, []);
  });

  test("after the store was closed", async () => {
    await using watched = await open();
    await list(watched, "age eq '31'");
    await watched.store.close();
    await settled();
    assert.deepEqual(watched.warnings, []);
  });

  test("in production", async () => {
    await using watched = await open();
    await withEnvironment("production", async () => {
      await list(watched, "age eq '31'");
      await watched.store.table("people").count({ queryOptions: { filter: "Age eq 31" } });
      await settled();
    });
    assert.deepEqual(watched.warnings, []);
    // The same filter is reported elsewhere, so the check itself works.
    await withEnvironment("development", async () => {
      await list(watched, "age eq '31'");
      await until(() => watched.warnings.length === 1);
    });
  });

  test("where there is no process, as in a page without a bundler", async (t) => {
    await using watched = await open();
    const { process: real } = globalThis;
    t.after(() => Object.assign(globalThis, { process: real }));
    Object.assign(globalThis, { process: undefined });
    await list(watched, "age eq '31'");
    await settled();
    Object.assign(globalThis, { process: real });
    assert.deepEqual(watched.warnings, []);
  });
});

describe("a rejected request of the official client is reported", () => {
  const officialTable = (store: MockStore, name: string) => {
    const options = { httpClient: store.httpClient, allowInsecureConnection: true };
    return TableClient.fromConnectionString("UseDevelopmentStorage=true", name, options);
  };
  const key = { partitionKey: "p", rowKey: "r" };
  const missing = {
    code: "RequestRejected",
    message:
      'The request POST /devstoreaccount1/missing got the error TableNotFound. The table "missing" does not exist in this store. Create it with createTable().',
  };

  test("with its hint, before the client gets the response", async () => {
    await using watched = await open();
    await assert.rejects(officialTable(watched.store, "missing").createEntity(key));
    assert.deepEqual(watched.warnings, [missing]);
  });

  test("once for each code and table, also by forks", async () => {
    await using watched = await open();
    const { store, warnings } = watched;
    await using fork = store.fork();
    for (const one of [store, fork, store]) {
      const table = officialTable(one, "missing");
      await assert.rejects(table.createEntity(key));
      await assert.rejects(table.getEntity("p", "r"));
      await assert.rejects(table.submitTransaction([["create", key]]));
    }
    assert.deepEqual(warnings, [missing]);
    await assert.rejects(officialTable(store, "other").createEntity(key));
    await assert.rejects(officialTable(store, "missing").createEntity({ ...key, "a-b": 1 }));
    assert.deepEqual(
      warnings.slice(1).map(({ message }) => / error (\w+)/.exec(message)?.[1]),
      ["TableNotFound", "PropertyNameInvalid"],
    );
  });

  test("at most 100 times", async () => {
    await using watched = await open();
    for (let i = 0; i < 120; ++i) {
      const url = `http://127.0.0.1:10002/devstoreaccount1/missing${i}`;
      await watched.store.fetch(url, { headers: { Accept: "application/json" } });
    }
    assert.equal(watched.warnings.length, 100);
  });

  test("without the query, which may have a signature, and without control characters", async () => {
    await using watched = await open();
    const url = "http://127.0.0.1:10002/devstoreaccount1/people";
    const filter = encodeURIComponent("age eq '\n\u001b[31m");
    await watched.store.fetch(`${url}?$filter=${filter}&sig=secret`);
    assert.match(
      watched.warnings[0]?.message ?? "",
      /GET \/devstoreaccount1\/people got .*U\+000A/,
    );
    assert.doesNotMatch(watched.warnings[0]?.message ?? "", /secret|\p{Cc}/u);
  });

  test("but not if programs expect such errors", async () => {
    await using watched = await open();
    const { store, warnings } = watched;
    const table = officialTable(store, "people");
    await assert.rejects(table.getEntity("p", "x"));
    await assert.rejects(table.deleteEntity("p", "x"));
    await assert.rejects(table.createEntity(key));
    await assert.rejects(table.submitTransaction([["create", key]]));
    await assert.rejects(table.updateEntity(key, "Merge", { etag: 'W/"1"' }));
    await table.createTable(); // the client ignores 409
    await officialTable(store, "missing").deleteTable(); // the client ignores 404
    assert.deepEqual(warnings, []);
  });

  test("but not if a browser, or a tool that waits for the server, sent it", async () => {
    await using watched = await open();
    const { store, warnings } = watched;
    for (const path of [
      "",
      "favicon.ico",
      "robots.txt",
      "health",
      "devstoreaccount1",
      "devstoreaccount1/favicon.ico",
      "wp-admin/setup.php",
    ]) {
      for (const method of ["GET", "HEAD"]) {
        const { status } = await store.fetch(`http://127.0.0.1:10002/${path}`, { method });
        assert(status >= 400, path);
      }
    }
    assert.deepEqual(warnings, []);
    await assert.rejects(officialTable(store, "favicon.ico").createTable());
    assert.match(
      warnings.map(({ message }) => message).join(),
      /POST .* error InvalidResourceName/,
    );
  });

  test("but not by parity()", async () => {
    await using watched = await open();
    await using real = await mockStore({ onWarning() {} });
    const url = "http://127.0.0.1:10002/devstoreaccount1";
    const script = async ({ fetch }: ParityTarget) => void (await fetch(`${url}/missing()`));
    const { fetch } = real as unknown as { fetch: typeof globalThis.fetch };
    await parity(script, { mock: watched.store, real: { url, fetch } });
    assert.deepEqual(watched.warnings, []);
  });

  test("but not if it is simulated, or the package's own client shows the hint", async () => {
    await using watched = await open();
    const { store, warnings } = watched;
    store.faults.add({ on: "*", times: 1, respond: { code: "TableNotFound", status: 404 } });
    await assert.rejects(officialTable(store, "people").createEntity(key));
    const options = { store, errorMessages: "readable" } as const;
    const url = "https://devstoreaccount1.table.core.windows.net";
    const own = new dataTables.TableClient(url, "missing", options);
    await assert.rejects(own.getAccessPolicy(), { code: "TableNotFound" });
    await assert.rejects(store.table("missing").createEntity(key), { code: "TableNotFound" });
    assert.deepEqual(warnings, []);
  });

  test("but not in production, or where there is no process", async (t) => {
    await using watched = await open();
    const { store, warnings } = watched;
    const table = officialTable(store, "missing");
    await withEnvironment("production", () => assert.rejects(table.createEntity(key)));
    const { process: real } = globalThis;
    t.after(() => Object.assign(globalThis, { process: real }));
    const url = "http://127.0.0.1:10002/devstoreaccount1/missing";
    Object.assign(globalThis, { process: undefined });
    await store.fetch(url);
    Object.assign(globalThis, { process: real });
    assert.deepEqual(warnings, []);
    await store.fetch(url);
    assert.equal(warnings.length, 1);
  });
});

describe("an option that entitable/data-tables ignores is reported", () => {
  const url = "https://devstoreaccount1.table.core.windows.net";
  const key = { partitionKey: "p", rowKey: "r" };
  type Client = InstanceType<typeof dataTables.TableClient>;
  const read = (client: Client, options: object) => client.listEntities(options).next();
  const unknown = (options: object) => options as never;
  const cases: readonly [what: string, call: (client: Client) => Promise<unknown>, why: string][] =
    [
      [
        "ifMatch of updateEntity",
        (client) => client.updateEntity(key, "Merge", unknown({ ifMatch: "x" })),
        "updateEntity has no option ifMatch, so it is ignored. Pass it as etag.",
      ],
      [
        "ifMatch of deleteEntity",
        (client) => client.deleteEntity("p", "r", unknown({ ifMatch: "x" })),
        "deleteEntity has no option ifMatch, so it is ignored. Pass it as etag.",
      ],
      [
        "etag of upsertEntity",
        (client) => client.upsertEntity(key, "Merge", unknown({ etag: "x" })),
        "upsertEntity has no option etag, so it is ignored. Only updateEntity and deleteEntity have it.",
      ],
      [
        "ifMatch of an action",
        (client) => client.submitTransaction([["update", key, "Merge", unknown({ ifMatch: "x" })]]),
        'The action "update" has no option ifMatch, so it is ignored. Pass it as etag.',
      ],
      [
        "filter of listEntities",
        (client) => read(client, { filter: "RowKey eq 'x'" }),
        "listEntities has no option filter, so it is ignored. Pass it in queryOptions.",
      ],
      [
        "top in queryOptions",
        (client) => read(client, { queryOptions: { top: 1 } }),
        "listEntities has no option queryOptions.top, so it is ignored. Pass maxPageSize to byPage(), and read one page.",
      ],
      [
        "select of getEntity",
        (client) => client.getEntity("p", "r", unknown({ select: ["age"] })),
        "getEntity has no option select, so it is ignored. Pass it in queryOptions.",
      ],
      [
        "a misspelled option",
        (client) => client.createEntity({ ...key, rowKey: "s" }, unknown({ durablity: "relaxed" })),
        "createEntity has no option durablity, so it is ignored. The options are: abortSignal, onResponse, requestOptions, serializerOptions, tracingOptions, durability.",
      ],
    ];
  for (const [what, call, message] of cases) {
    test(what, async () => {
      await using watched = await open();
      const warnings: StoreWarning[] = [];
      const onWarning = (warning: StoreWarning) => void warnings.push(warning);
      const options = { store: watched.store, onWarning };
      await call(new dataTables.TableClient(url, "people", options));
      await until(() => warnings.length > 0);
      assert.deepEqual(warnings, [{ code: "OptionIgnored", message }]);
    });
  }

  test("once, and not in production", async () => {
    await using watched = await open();
    const warnings: StoreWarning[] = [];
    const onWarning = (warning: StoreWarning) => void warnings.push(warning);
    const clients = [1, 2].map(
      () => new dataTables.TableClient(url, "people", { store: watched.store, onWarning }),
    );
    const readAll = async () => {
      for (const client of clients) await read(client, { filter: "RowKey eq 'x'" });
    };
    await withEnvironment("production", async () => {
      await readAll();
      await settled();
    });
    assert.deepEqual(warnings, []);
    await readAll();
    await readAll();
    await until(() => warnings.length > 0);
    await settled();
    assert.equal(warnings.length, 1);
  });

  test("also by listTables", async () => {
    await using watched = await open();
    const service = new dataTables.TableServiceClient(url, { store: watched.store });
    await service.listTables({ filter: "TableName eq 'x'" } as object).next();
    await until(() => watched.warnings.length > 0);
    assert.match(watched.warnings[0]?.message ?? "", /^listTables has no option filter, so/);
  });

  test("and the call has its effect if the listener throws", async (t) => {
    await using watched = await open();
    const thrown = new Error("from the listener");
    const rejections: unknown[] = [];
    const others = process.listeners("unhandledRejection");
    const listen = (error: unknown) => void rejections.push(error);
    process.removeAllListeners("unhandledRejection").on("unhandledRejection", listen);
    t.after(() => {
      process.removeAllListeners("unhandledRejection");
      for (const other of others) process.on("unhandledRejection", other);
    });
    const onWarning = () => {
      throw thrown;
    };
    const client = new dataTables.TableClient(url, "none", { store: watched.store, onWarning });
    await client.upsertEntity(key, "Merge", unknown({ etag: "x" }));
    await until(() => rejections.length > 0);
    assert.deepEqual(rejections, [thrown]);
    assert.equal((await client.getEntity("p", "r")).rowKey, "r");
  });

  test("but no option that the call has", async () => {
    await using watched = await open();
    const { store, warnings } = watched;
    const onWarning = (warning: StoreWarning) => void warnings.push(warning);
    const client = new dataTables.TableClient(url, "people", { store, onWarning });
    const { signal } = new AbortController();
    const all = { abortSignal: signal, requestOptions: { timeout: 1 }, tracingOptions: {} };
    const queryOptions = { filter: "age eq 31", select: ["age"] };
    await read(client, { ...all, queryOptions, disableTypeConversion: true });
    await client.getEntity("p", "r", { ...all, queryOptions: { select: ["age"] } });
    await client.updateEntity(key, "Merge", { ...all, etag: "*", durability: "strict" });
    await client.submitTransaction([["update", key, "Merge", { etag: "*" }]], all);
    await client.upsertEntity(key, "Merge", unknown({ etag: undefined, ifMatch: undefined }));
    await read(client, { queryOptions: { top: undefined } });
    await client.deleteEntity("p", "r", { ...all, etag: "*" });
    await settled();
    assert.deepEqual(warnings, []);
  });

  test("to the store's listener, if the client has none; without both, it is printed", async (t) => {
    const printed: string[] = [];
    t.mock.method(console, "warn", (text: string) => printed.push(text));
    await using watched = await open();
    await using silent = await mockStore({ fixtures: { people: [] } });
    for (const store of [watched.store, silent]) {
      const client = new dataTables.TableClient(url, "people", { store });
      await read(client, { filter: "RowKey eq 'x'" });
    }
    await until(() => printed.length > 0 && watched.warnings.length > 0);
    const message = "listEntities has no option filter, so it is ignored. Pass it in queryOptions.";
    assert.deepEqual(watched.warnings, [{ code: "OptionIgnored", message }]);
    assert.deepEqual(printed, [`entitable: ${message}`]);
  });
});

describe("a bundle", () => {
  async function filesOf(entry: string, environment: string): Promise<string[]> {
    const { metafile } = await build({
      entryPoints: [new URL(`../../web/src/${entry}`, import.meta.url).pathname],
      external: ["node:*"],
      bundle: true,
      splitting: true,
      format: "esm",
      outdir: "unused",
      write: false,
      metafile: true,
      define: { "process.env.NODE_ENV": JSON.stringify(environment) },
    });
    const outputs = Object.values(metafile.outputs);
    return outputs.flatMap(({ inputs }) =>
      Object.keys(inputs).map((path) => path.replace(/.*\//, "")),
    );
  }

  test("for production has no check; one for development has it", async () => {
    for (const [entry, check] of [
      ["client/table-client.ts", "filter-check.ts"],
      ["rest/entry-point.ts", "rejected-request.ts"],
      ["data-tables/table-client.ts", "ignored-options.ts"],
    ] as const) {
      assert(!(await filesOf(entry, "production")).includes(check), check);
      assert((await filesOf(entry, "development")).includes(check), check);
    }
  });
});

describe("without onWarning", () => {
  function printedBy(t: TestContext): string[] {
    const printed: string[] = [];
    t.mock.method(console, "warn", (text: string) => printed.push(text));
    return printed;
  }

  async function withoutIndexedDb(options: OpenOptions): Promise<void> {
    const real = globalThis.indexedDB;
    delete (globalThis as { indexedDB?: IDBFactory }).indexedDB;
    try {
      await (await openStore(options)).close();
    } finally {
      globalThis.indexedDB = real;
    }
  }

  test('a store in memory is printed, unless it has persistence: "memory"', async (t) => {
    const printed = printedBy(t);
    await withoutIndexedDb({ name: "shop" });
    assert.deepEqual(printed, [
      'entitable: IndexedDB is not available here. The store "shop" is in memory only, and is lost with this page. If this is intended, open it with persistence: "memory".',
    ]);
    await withoutIndexedDb({ persistence: "memory" });
    await withoutIndexedDb({ onWarning() {} });
    assert.equal(printed.length, 1);
  });

  test("a worker that cannot start is printed", async (t) => {
    const printed = printedBy(t);
    await (await openStore({ persistence: "memory", thread: "worker" })).close();
    assert.match(printed.join(), /^entitable: .*The store runs without a worker\.$/);
    const silent = { onWarning() {} };
    await (await openStore({ persistence: "memory", thread: "worker", ...silent })).close();
    assert.equal(printed.length, 1);
  });

  test("a filter that cannot match is printed", async (t) => {
    const printed = printedBy(t);
    await using store = await openStore({ persistence: "memory" });
    const table = store.table("people");
    await table.createTable();
    await table.createEntity(entity);
    await table.count({ queryOptions: { filter: "Age eq 31" } });
    await until(() => printed.length > 0);
    assert.match(printed.join(), /^entitable: The filter Age eq 31 matches no row/);
  });

  test("a rejected request is printed", async (t) => {
    const printed = printedBy(t);
    await using store = await openStore({ persistence: "memory", name: "shop" });
    await store.fetch("https://shop.table.core.windows.net/missing");
    assert.match(
      printed.join(),
      /^entitable: The request GET \/missing got the error TableNotFound/,
    );
  });

  test("each kind of rejected request is printed once for all stores", async (t) => {
    const printed = printedBy(t);
    for (let i = 0; i < 3; ++i) {
      await using store = await mockStore();
      await store.fetch("http://127.0.0.1:10002/devstoreaccount1/everyTest");
    }
    assert.equal(printed.length, 1);
  });

  test("other warnings are not printed", async (t) => {
    const printed = printedBy(t);
    const warnings: StoreWarning[] = [];
    const name = "not-persisted";
    await (await openStore({ name })).close();
    await (await openStore({ name, onWarning: (warning) => warnings.push(warning) })).close();
    // The first store was the one that reported StorageNotPersisted, which happens once per page.
    assert.deepEqual([printed, warnings], [[], []]);
  });
});
