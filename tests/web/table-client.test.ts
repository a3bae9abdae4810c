// Tests the official client's methods and result types with a real engine in memory. Each test is a
// rule of the service or of the official client. (client-rules.test.ts tests what is rejected
// before it reaches the store.)

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Store, TableClient, TransactionAction } from "../../web/src/types.ts";
import { edm, openStore, TableTransaction } from "./support/package.ts";

let store: Store;
let tables = 0;

before(async () => {
  store = await openStore({ persistence: "memory" });
});
after(() => store.close());

// Creates a new table.
async function newTable(): Promise<TableClient> {
  const table = store.tableClient(`table${++tables}`);
  await table.createTable();
  return table;
}

const key = { partitionKey: "p", rowKey: "r" };
const etagPattern = /^W\/"datetime'\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d(\.\d{1,7})?Z'"$/;

function rejectedWith(statusCode: number, code: string, message?: string | RegExp) {
  return (error: unknown) => {
    const { name, ...rest } = error as Error & { statusCode: number; code: string };
    assert.equal(name, "RestError");
    assert.deepEqual([rest.statusCode, rest.code], [statusCode, code], (error as Error).message);
    const details = (error as { details?: { odataError?: { code: string } } }).details;
    assert.equal(details?.odataError?.code, code);
    if (typeof message === "string") assert.equal((error as Error).message, message);
    else if (message !== undefined) assert.match((error as Error).message, message);
    return true;
  };
}

describe("tables", () => {
  test("createTable resolves when the table exists, deleteTable when it does not", async () => {
    const table = store.tableClient("lifeCycle");
    await table.createTable();
    await table.createTable();
    await table.createEntity(key);
    await table.deleteTable();
    await table.deleteTable();
    await assert.rejects(table.getEntity("p", "r"), rejectedWith(404, "TableNotFound"));
    await table.createTable();
    await assert.rejects(table.getEntity("p", "r"), rejectedWith(404, "ResourceNotFound"));
  });

  test("the service client creates, deletes and lists them", async () => {
    const own = await openStore({ persistence: "memory" });
    const service = own.serviceClient();
    for (const name of ["beta", "Alpha", "gamma"]) await service.createTable(name);
    await service.createTable("ALPHA");
    await service.deleteTable("gamma");
    await service.deleteTable("never");
    const names: (string | undefined)[] = [];
    for await (const { name } of service.listTables()) names.push(name);
    assert.deepEqual(names, ["Alpha", "beta"]);
    await own.close();
  });

  test("are listed page by page, filtered by TableName", async () => {
    const own = await openStore({ persistence: "memory" });
    const service = own.serviceClient();
    const all = ["aaa", "bbb", "ccc", "ddd", "eee"];
    for (const name of all) await service.createTable(name);
    const pages: string[][] = [];
    let token: string | undefined;
    for await (const page of service.listTables().byPage({ maxPageSize: 2 })) {
      pages.push(page.map(({ name }) => String(name)));
      token ??= page.continuationToken;
    }
    assert.deepEqual(pages, [["aaa", "bbb"], ["ccc", "ddd"], ["eee"]]);
    assert.equal(token, "ccc", "the bare name of the next table");
    const rest = await service.listTables().byPage({ continuationToken: "ccc" }).next();
    assert.deepEqual(
      rest.value.map(({ name }: { name: string }) => name),
      ["ccc", "ddd", "eee"],
    );
    const queryOptions = { filter: "TableName ge 'b' and TableName lt 'd'" };
    const some: unknown[] = [];
    for await (const { name } of service.listTables({ queryOptions })) some.push(name);
    assert.deepEqual(some, ["bbb", "ccc"]);
    await own.close();
  });

  test("of an illegal name are rejected", async () => {
    await assert.rejects(
      store.tableClient("no-dashes").createTable(),
      rejectedWith(400, "InvalidResourceName"),
    );
    await assert.rejects(
      store.serviceClient().createTable("ab"),
      rejectedWith(400, "OutOfRangeInput"),
    );
  });

  test("that do not exist are TableNotFound", async () => {
    const table = store.tableClient("missing");
    await assert.rejects(table.createEntity(key), rejectedWith(404, "TableNotFound"));
    await assert.rejects(table.getEntity("p", "r"), rejectedWith(404, "TableNotFound"));
    await assert.rejects(table.listEntities().next(), rejectedWith(404, "TableNotFound"));
  });
});

describe("single entities", () => {
  test("createEntity returns the ETag and date, not the entity", async () => {
    const table = await newTable();
    const response = await table.createEntity({ ...key, name: "Ann" });
    assert.match(response.etag ?? "", etagPattern);
    assert(response.date instanceof Date);
    assert.equal(response.preferenceApplied, "return-no-content");
    assert(!("name" in response));
    await assert.rejects(
      table.createEntity(key),
      rejectedWith(409, "EntityAlreadyExists", "The specified entity already exists."),
    );
  });

  test("getEntity returns keys, timestamp and ETag under the client's names", async () => {
    const table = await newTable();
    const { etag } = await table.createEntity({ ...key, Name: "Ann", name: "ann" });
    const entity = await table.getEntity("p", "r");
    const { timestamp, ...rest } = entity;
    assert.deepEqual(rest, { ...key, etag, Name: "Ann", name: "ann" });
    assert.match(String(timestamp), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,7}Z$/);
    assert(etag?.includes(encodeURIComponent(String(timestamp))));
    await assert.rejects(table.getEntity("p", "x"), rejectedWith(404, "ResourceNotFound"));
  });

  test("empty strings are legal keys", async () => {
    const table = await newTable();
    await table.createEntity({ partitionKey: "", rowKey: "", n: 1 });
    assert.equal((await table.getEntity("", "")).n, 1);
    await table.deleteEntity("", "");
  });

  test("a missing key on create is PropertiesNeedValue", async () => {
    const table = await newTable();
    const noRowKey = { partitionKey: "p" } as unknown as typeof key;
    await assert.rejects(table.createEntity(noRowKey), rejectedWith(400, "PropertiesNeedValue"));
  });

  test("a written etag or timestamp is not stored", async () => {
    const table = await newTable();
    await table.createEntity({ ...key, etag: "mine", timestamp: "2000-01-01T00:00:00Z", n: 1 });
    const entity = await table.getEntity("p", "r");
    assert.notEqual(entity.etag, "mine");
    assert(!String(entity.timestamp).startsWith("2000"));
  });

  test("updateEntity merges by default, replaces on request, and requires the entity", async () => {
    const table = await newTable();
    await assert.rejects(
      table.updateEntity({ ...key, a: 1 }),
      rejectedWith(404, "ResourceNotFound"),
    );
    await table.createEntity({ ...key, a: 1, b: 2 });
    const merged = await table.updateEntity({ ...key, b: 3 });
    assert.match(merged.etag ?? "", etagPattern);
    assert.deepEqual(await properties(table), { a: 1, b: 3 });
    await table.updateEntity({ ...key, c: 4 }, "Replace");
    assert.deepEqual(await properties(table), { c: 4 });
  });

  test("upsertEntity inserts or updates", async () => {
    const table = await newTable();
    await table.upsertEntity({ ...key, a: 1 });
    await table.upsertEntity({ ...key, b: 2 });
    assert.deepEqual(await properties(table), { a: 1, b: 2 });
    await table.upsertEntity({ ...key, c: 3 }, "Replace");
    assert.deepEqual(await properties(table), { c: 3 });
  });

  test("deleteEntity returns no ETag", async () => {
    const table = await newTable();
    await table.createEntity(key);
    const response = await table.deleteEntity("p", "r");
    assert(!("etag" in response));
    assert(response.date instanceof Date);
    await assert.rejects(table.deleteEntity("p", "r"), rejectedWith(404, "ResourceNotFound"));
  });

  test("an ETag that no longer matches is UpdateConditionNotSatisfied", async () => {
    const table = await newTable();
    const { etag } = await table.createEntity({ ...key, n: 1 });
    const second = await table.updateEntity({ ...key, n: 2 }, "Merge", { etag });
    const stale = rejectedWith(412, "UpdateConditionNotSatisfied");
    await assert.rejects(table.updateEntity({ ...key, n: 3 }, "Merge", { etag }), stale);
    await assert.rejects(table.updateEntity({ ...key, n: 3 }, "Replace", { etag }), stale);
    await assert.rejects(table.deleteEntity("p", "r", { etag }), stale);
    assert.deepEqual(await properties(table), { n: 2 });
    await table.deleteEntity("p", "r", { etag: second.etag ?? "" });
  });

  test("ETags rise with every write", async () => {
    const table = await newTable();
    const writes = Array.from({ length: 20 }, (_, n) => table.upsertEntity({ ...key, n }));
    const etags = (await Promise.all(writes)).map(({ etag }) => String(etag));
    assert.deepEqual([...new Set(etags)], etags);
  });

  test("the service's limits apply", async () => {
    const table = await newTable();
    const long = "x".repeat(32 * 1024);
    await table.createEntity({ ...key, long });
    const tooLong = { ...key, rowKey: "s", long: `${long}x` };
    await assert.rejects(table.createEntity(tooLong), rejectedWith(400, "PropertyValueTooLarge"));
    const many = Object.fromEntries(Array.from({ length: 253 }, (_, i) => [`p${i}`, i]));
    await assert.rejects(
      table.createEntity({ ...key, rowKey: "s", ...many }),
      rejectedWith(400, "TooManyProperties"),
    );
    for (const bad of ["a/b", "a\\b", "a#b", "a?b", "a\u0001b"]) {
      await assert.rejects(
        table.createEntity({ partitionKey: bad, rowKey: "r" }),
        (error: { statusCode?: number }) => error.statusCode === 400,
        bad,
      );
    }
  });
});

describe("values", () => {
  const guid = "8aa7e6c1-27a4-4b6f-8f2b-2f0f4a4f9a11";
  const buffer = Uint8Array.from([9, 1, 2, 3, 9]);
  const written = {
    text: "ümlaut 😀",
    empty: "",
    yes: true,
    int: 42,
    negative: -2147483648,
    big: 2n ** 63n - 1n,
    half: 0.5,
    beyond: 2 ** 31,
    nan: Number.NaN,
    infinity: Number.POSITIVE_INFINITY,
    minus: Number.NEGATIVE_INFINITY,
    when: new Date("2024-02-29T12:34:56.789Z"),
    bytes: buffer.subarray(1, 4),
    id: edm.guid(guid),
    whole: edm.double(3),
    typedInt: { type: "Int32", value: 7 },
    typedLong: { type: "Int64", value: "8" },
    typedDate: { type: "DateTime", value: "2024-01-01T00:00:00.1234567Z" },
    typedText: { type: "String", value: "t" },
    none: null,
    missing: undefined,
  };

  test("are read as they were written", async () => {
    const table = await newTable();
    await table.createEntity({ ...key, ...written });
    const entity = await table.getEntity("p", "r");
    const { etag: _e, timestamp: _t, partitionKey: _p, rowKey: _r, ...read } = entity;
    assert(read.bytes instanceof Uint8Array);
    assert.deepEqual([...read.bytes], [1, 2, 3], "exactly the view");
    assert.deepEqual(
      { ...read, bytes: undefined },
      {
        text: written.text,
        empty: "",
        yes: true,
        int: 42,
        negative: -2147483648,
        big: 2n ** 63n - 1n,
        half: 0.5,
        beyond: 2 ** 31,
        nan: Number.NaN,
        infinity: Number.POSITIVE_INFINITY,
        minus: Number.NEGATIVE_INFINITY,
        when: written.when,
        bytes: undefined,
        id: { value: guid, type: "Guid" },
        whole: 3,
        typedInt: 7,
        typedLong: 8n,
        typedDate: new Date("2024-01-01T00:00:00.123Z"),
        typedText: "t",
      },
      "null and undefined are not stored",
    );
  });

  test("with disableTypeConversion are { type, value }, except system properties", async () => {
    const table = await newTable();
    await table.createEntity({ ...key, ...written });
    for (const entity of [
      await table.getEntity("p", "r", { disableTypeConversion: true }),
      (await table.listEntities({ disableTypeConversion: true }).next()).value,
    ]) {
      const { etag, timestamp, partitionKey, rowKey, ...read } = entity;
      assert.deepEqual(
        [typeof etag, typeof timestamp, partitionKey, rowKey],
        ["string", "string", "p", "r"],
      );
      assert.deepEqual(read, {
        text: { type: "String", value: written.text },
        empty: { type: "String", value: "" },
        yes: { type: "Boolean", value: "true" },
        int: { type: "Int32", value: "42" },
        negative: { type: "Int32", value: "-2147483648" },
        big: { type: "Int64", value: "9223372036854775807" },
        half: { type: "Double", value: "0.5" },
        beyond: { type: "Double", value: "2147483648" },
        nan: { type: "Double", value: "NaN" },
        infinity: { type: "Double", value: "Infinity" },
        minus: { type: "Double", value: "-Infinity" },
        when: { type: "DateTime", value: "2024-02-29T12:34:56.789Z" },
        bytes: { type: "Binary", value: "AQID" },
        id: { type: "Guid", value: guid },
        whole: { type: "Double", value: "3" },
        typedInt: { type: "Int32", value: "7" },
        typedLong: { type: "Int64", value: "8" },
        typedDate: { type: "DateTime", value: "2024-01-01T00:00:00.1234567Z" },
        typedText: { type: "String", value: "t" },
      });
      // Writing the values that were read changes nothing.
      const copy = store.tableClient(table.tableName);
      await copy.upsertEntity({ partitionKey: "copy", rowKey: "r", ...read }, "Replace");
      const again = await copy.getEntity("copy", "r", { disableTypeConversion: true });
      assert.deepEqual(
        { ...again, etag, timestamp, partitionKey },
        { ...read, etag, timestamp, partitionKey, rowKey },
      );
    }
  });

  test("the table option `types` fixes the type of plain numbers", async () => {
    const plain = await newTable();
    const typed = store.table<{ price: number; views: number; code: string }>(plain.tableName, {
      types: { price: "Double", views: "Int64" },
    });
    await typed.createEntity({ ...key, price: 3, views: 5, code: "x" });
    const raw = await plain.getEntity("p", "r", { disableTypeConversion: true });
    assert.deepEqual(raw.price, { type: "Double", value: "3" });
    assert.deepEqual(raw.views, { type: "Int64", value: "5" });
    await typed.submitTransaction([["update", { ...key, price: 4 }]]);
    const after = await plain.getEntity("p", "r", { disableTypeConversion: true });
    assert.deepEqual(after.price, { type: "Double", value: "4" });
  });

  test("unpaired surrogates survive in keys, property names and text", async () => {
    const table = await newTable();
    await table.createEntity({ partitionKey: "\ud800", rowKey: "x\udfff", text: "a\ud83dz" });
    const entity = await table.getEntity("\ud800", "x\udfff");
    assert.equal(entity.text, "a\ud83dz");
    assert.equal(entity.partitionKey, "\ud800");
  });
});

describe("listing", () => {
  async function filled(count: number): Promise<TableClient> {
    const table = await newTable();
    const row = (i: number) => ({
      partitionKey: `p${i % 3}`,
      rowKey: String(i).padStart(5, "0"),
      n: i,
    });
    const writes: Promise<unknown>[] = [];
    for (let i = 0; i < count; ++i) writes.push(table.createEntity(row(i)));
    await Promise.all(writes);
    return table;
  }

  test("returns entities in key order, beyond a page of 1000", async () => {
    const table = await filled(2500);
    const keys: string[] = [];
    for await (const { partitionKey, rowKey } of table.listEntities()) {
      keys.push(`${partitionKey}/${rowKey}`);
    }
    assert.equal(keys.length, 2500);
    assert.deepEqual(keys, [...keys].sort());
    const first = await table.listEntities().byPage().next();
    assert.equal(first.value.length, 1000);
  });

  test("continues from a token, even if the entity that it names was deleted", async () => {
    const table = await filled(10);
    const pages = table
      .listEntities({ queryOptions: { filter: "n ge 0" } })
      .byPage({ maxPageSize: 4 });
    const first = (await pages.next()).value;
    assert.equal(first.length, 4);
    const token = first.continuationToken;
    assert.deepEqual(Object.keys(JSON.parse(atob(token))), ["nextPartitionKey", "nextRowKey"]);
    const next = (await table.listEntities().byPage({ continuationToken: token }).next()).value;
    assert.equal(next.length, 6);
    assert.equal(next.continuationToken, undefined);
    await table.deleteEntity(next[0].partitionKey, next[0].rowKey);
    // A row before the position of the token is not returned.
    await table.createEntity({ partitionKey: "p0", rowKey: "0", n: -1 });
    const later = (await table.listEntities().byPage({ continuationToken: token }).next()).value;
    assert.deepEqual(
      later.map(({ n }: { n: number }) => n),
      next.slice(1).map(({ n }: { n: number }) => n),
    );
  });

  test("selects: names are mapped, and missing properties are null", async () => {
    const table = await newTable();
    await table.createEntity({ ...key, a: 1, b: 2 });
    const select = ["rowKey", "b", "none", "etag"];
    for (const entity of [
      await table.getEntity("p", "r", { queryOptions: { select } }),
      (await table.listEntities({ queryOptions: { select } }).next()).value,
    ]) {
      const { etag, ...rest } = entity;
      assert.match(String(etag), etagPattern);
      assert.deepEqual(rest, { rowKey: "r", b: 2, none: null });
    }
    const everything = (await table.listEntities({ queryOptions: { select: [] } }).next()).value;
    assert.equal(everything.a, 1);
    const byOwnName = ["PartitionKey", "timestamp"];
    const own = await table.getEntity("p", "r", { queryOptions: { select: byOwnName } });
    assert.deepEqual(Object.keys(own).sort(), ["etag", "partitionKey", "timestamp"]);
  });

  test("filters by the service's grammar and names", async () => {
    const table = await filled(9);
    const numbers = async (filter: string) => {
      const found: unknown[] = [];
      for await (const { n } of table.listEntities({ queryOptions: { filter } })) found.push(n);
      return found;
    };
    assert.deepEqual(await numbers("PartitionKey eq 'p1'"), [1, 4, 7]);
    assert.deepEqual(await numbers("PartitionKey eq 'p1' and RowKey gt '00001'"), [4, 7]);
    assert.deepEqual(await numbers("n lt 2 or not (n le 7)"), [0, 1, 8]);
    assert.deepEqual(await numbers("partitionKey eq 'p1'"), [], "names are the service's");
    await assert.rejects(numbers("n lt"), rejectedWith(400, "InvalidInput"));
    await assert.rejects(numbers("n eq 1 garbage"), rejectedWith(400, "InvalidInput"));
  });

  test("checks page sizes", async () => {
    const table = await filled(3);
    const page = (maxPageSize: number) => table.listEntities().byPage({ maxPageSize }).next();
    await assert.rejects(page(1001), rejectedWith(400, "InvalidInput"));
    assert.equal((await page(1000)).value.length, 3);
    const none = (await page(0)).value;
    assert.deepEqual([none.length, none.continuationToken], [0, undefined]);
    const exact = (await page(3)).value;
    assert.equal(exact.continuationToken, undefined, "the last page has no token");
  });

  test("resolves each overlapping call with its own response", async () => {
    const table = store.table("overlapping");
    await table.createTable();
    await table.createEntity({ ...key, n: 1 });
    const point = { queryOptions: { filter: "PartitionKey eq 'p' and RowKey eq 'r'" } };
    const [first, entity, second] = await Promise.all([
      table.explain(point),
      table.getEntity("p", "r"),
      table.explain(),
    ]);
    assert.deepEqual([first.kind, entity["n"], second.kind], ["point", 1, "table"]);
  });

  test("returns its query plan", async () => {
    const table = store.table((await filled(30)).tableName);
    const kind = async (filter?: string) =>
      (await table.explain(filter === undefined ? {} : { queryOptions: { filter } })).kind;
    assert.equal(await kind("PartitionKey eq 'p1' and RowKey eq '00001'"), "point");
    assert.equal(await kind("PartitionKey eq 'p1' and RowKey ge '00001'"), "range");
    assert.equal(await kind("PartitionKey eq 'p1'"), "partition");
    assert.equal(await kind(), "table");
    assert.equal(await kind("PartitionKey eq 'a' and PartitionKey eq 'b'"), "empty");
    const plan = await table.explain({
      queryOptions: { filter: "PartitionKey eq 'p1' and n gt 4" },
    });
    assert.deepEqual([plan.rowsRead, plan.rowsReturned], [10, 8]);
    assert.equal(plan.ranges.length, 1);
    assert.equal(plan.ranges[0]?.from.partitionKey, "p1");
    assert(plan.bytesRead > 0);
    assert.equal(plan.serviceKind, "partition");
    assert.equal(plan.serviceRoundTrips, 1);
  });
});

describe("transactions", () => {
  const row = (rowKey: string, more: object = {}) => ({ partitionKey: "p", rowKey, ...more });

  test("succeed as a whole, with a response for each operation", async () => {
    const table = await newTable();
    await table.createEntity(row("old", { a: 1, b: 1 }));
    await table.createEntity(row("gone"));
    const transaction = new TableTransaction();
    transaction.createEntity(row("new", { n: 1 }));
    transaction.updateEntity(row("old", { a: 2 }));
    transaction.upsertEntity(row("up", { u: 1 }), "Replace");
    transaction.deleteEntity("p", "gone");
    const response = await table.submitTransaction(transaction.actions);
    assert.equal(response.status, 202);
    assert.deepEqual(
      response.subResponses.map(({ status, rowKey }) => [status, rowKey]),
      [
        [204, "new"],
        [204, "old"],
        [204, "up"],
        [204, "gone"],
      ],
    );
    const etags = response.subResponses.map(({ etag }) => etag);
    assert.match(etags[0] ?? "", etagPattern);
    assert.equal(etags[3], undefined, "a delete has none");
    assert.equal(response.getResponseForEntity("old")?.etag, etags[1]);
    assert.equal(response.getResponseForEntity("nobody"), undefined);
    const old = await table.getEntity("p", "old");
    assert.deepEqual([old.a, old.b, old.etag], [2, 1, etags[1]]);
  });

  test("fail as a whole, and name the operation and the reason", async () => {
    const table = await newTable();
    await table.createEntity(row("b"));
    const clash: TransactionAction[] = [
      ["create", row("a")],
      ["create", row("b")],
      ["create", row("c")],
    ];
    const message = "1:The specified entity already exists.";
    await assert.rejects(
      table.submitTransaction(clash),
      rejectedWith(409, "EntityAlreadyExists", message),
    );
    await assert.rejects(table.getEntity("p", "a"), rejectedWith(404, "ResourceNotFound"));
    const stale: TransactionAction[] = [
      ["create", row("a")],
      ["update", row("b"), "Merge", { etag: `W/"datetime'2000-01-01T00%3A00%3A00Z'"` }],
    ];
    await assert.rejects(
      table.submitTransaction(stale),
      rejectedWith(412, "UpdateConditionNotSatisfied", /^1:/),
    );
    await assert.rejects(table.getEntity("p", "a"), rejectedWith(404, "ResourceNotFound"));
  });

  test("have at most 100 operations, each entity once", async () => {
    const table = await newTable();
    const creates = (count: number): TransactionAction[] =>
      Array.from({ length: count }, (_, i) => ["create", row(`r${i}`)]);
    await assert.rejects(table.submitTransaction(creates(101)), rejectedWith(400, "InvalidInput"));
    assert.equal((await table.submitTransaction(creates(100))).subResponses.length, 100);
    const twice: TransactionAction[] = [
      ["upsert", row("x")],
      ["upsert", row("x")],
    ];
    await assert.rejects(
      table.submitTransaction(twice),
      rejectedWith(400, "InvalidDuplicateRow", /^1:/),
    );
  });
});

describe("concurrent writes", () => {
  test("are applied in the order of the calls", async () => {
    const table = await newTable();
    const results = await Promise.allSettled([
      table.createEntity({ ...key, n: 1 }),
      table.createEntity({ ...key, n: 2 }),
      table.updateEntity({ ...key, n: 3 }),
      table.deleteEntity("p", "r"),
      table.createEntity({ ...key, n: 4 }),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status === "fulfilled"),
      [true, false, true, true, true],
    );
    assert.deepEqual(await properties(table), { n: 4 });
  });
});

async function properties(table: Pick<TableClient, "getEntity">): Promise<Record<string, unknown>> {
  const {
    etag: _e,
    timestamp: _t,
    partitionKey: _p,
    rowKey: _r,
    ...rest
  } = await table.getEntity("p", "r");
  return rest;
}
