// Runs each operation through the official client and through entitable/data-tables, and compares
// the results field by field. Documented differences are not compared; drop-in-differences.test.ts
// tests each of them.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { SignedIdentifier, TransactionAction, UpdateMode } from "@azure/data-tables";
import {
  all,
  assertSameOutcome,
  type Call,
  type ClientPair,
  openClientPair,
} from "./support/client-pair.ts";

let both: ClientPair;
before(async () => {
  both = await openClientPair();
});
after(() => both.close());

// Cases run in order and depend on the data of earlier cases.
function same(name: string, call: Call): void {
  test(name, async () => {
    both.advanceClock();
    await assertSameOutcome(both, call);
  });
}

const key = (rowKey: string, partitionKey = "p") => ({ partitionKey, rowKey });
const none = null as unknown as string;

describe("tables", () => {
  same("are created", ({ service }) => service.createTable("people"));
  same("that exist are created again without an error", ({ service }) =>
    service.createTable("People"),
  );
  same("are created by their own client", ({ table }) => table("another").createTable());
  same("with an illegal name are rejected", ({ service }) => service.createTable("9lives"));
  same("with a name that is too short are rejected", ({ service }) => service.createTable("ab"));
  same("named Tables are rejected", ({ service }) => service.createTable("tables"));
  same("are listed", ({ service }) => all(service.listTables()));
  same("are listed page by page", ({ service }) =>
    all(service.listTables().byPage({ maxPageSize: 1 })),
  );
  same("are listed from a continuation token", async ({ service }) => {
    const { value } = await service.listTables().byPage({ maxPageSize: 1 }).next();
    const { continuationToken } = value;
    return all(service.listTables().byPage({ continuationToken }));
  });
  same("are filtered", ({ service, entry }) =>
    all(service.listTables({ queryOptions: { filter: entry.odata`TableName eq ${"people"}` } })),
  );
  same("are filtered with operators of the service's grammar", ({ service }) =>
    all(service.listTables({ queryOptions: { filter: "TableName eq" } })),
  );
  same("are deleted", ({ service }) => service.deleteTable("another"));
  same("that do not exist are deleted without an error", ({ table }) =>
    table("another").deleteTable(),
  );
  same("reject an illegal page size", ({ service }) =>
    all(service.listTables().byPage({ maxPageSize: 1001 })),
  );
});

const guid = { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" } as const;
const values = {
  text: "\u20ac \ud83d\ude00 \"'\\ \n\t\u0000",
  empty: "",
  yes: true,
  no: false,
  int32: -5,
  zero: 0,
  minusZero: -0,
  largest: 2147483647,
  half: 0.5,
  tiny: 5e-324,
  huge: 1.7976931348623157e308,
  int64: -9223372036854775808n,
  date: new Date("2024-01-02T03:04:05.678Z"),
  bytes: new Uint8Array([0, 1, 255]),
  noBytes: new Uint8Array(),
  guid,
  wholeDouble: { type: "Double", value: 3 },
  doubleText: { type: "Double", value: "1e3" },
  int32Typed: { type: "Int32", value: 7 },
  int64Text: { type: "Int64", value: "9007199254740993" },
  dateText: { type: "DateTime", value: "2024-01-02T03:04:05.6789012Z" },
  binaryText: { type: "Binary", value: "AAH/" },
  booleanTyped: { type: "Boolean", value: true },
  stringTyped: { type: "String", value: "7" },
  nothing: null,
  missing: undefined,
  value: "lower case",
  Timestamp2: "a",
};

describe("entities are written", () => {
  same("with every type of value", ({ table }) => table().createEntity({ ...key("1"), ...values }));
  same("only once with the same keys", ({ table }) => table().createEntity({ ...key("1") }));
  same("with keys of any text", ({ table }) =>
    table().createEntity({ ...key("\u00fc 1%+&='x'", "o'x"), a: 1 }),
  );
  same("with empty keys", ({ table }) => table().createEntity({ ...key("", ""), a: 1 }));
  same("without a partition key: rejected", ({ table }) =>
    table().createEntity({ ...key("1", none) }),
  );
  same("without a row key: rejected", ({ table }) => table().createEntity(key(none)));
  same("with forbidden characters in a key: rejected", ({ table }) =>
    table().createEntity(key("a/b")),
  );
  same("with keys that are too long: rejected", ({ table }) =>
    table().createEntity(key("k".repeat(1025))),
  );
  same("without etag and timestamp", ({ table }) =>
    table().upsertEntity({ ...key("stamps"), etag: "x", timestamp: "y" }),
  );
  same("into a table that does not exist: rejected", ({ table }) =>
    table("nowhere").createEntity(key("1")),
  );
  same("with an illegal property name: rejected", ({ table }) =>
    table().createEntity({ ...key("2"), "a-b": 1 }),
  );
  same("with a property name that is too long: rejected", ({ table }) =>
    table().createEntity({ ...key("2"), ["n".repeat(256)]: 1 }),
  );
  same("with a string that is too long: rejected", ({ table }) =>
    table().createEntity({ ...key("2"), text: "x".repeat(32769) }),
  );
  same("with too many properties: rejected", ({ table }) =>
    table().createEntity({
      ...key("2"),
      ...Object.fromEntries(Array.from({ length: 253 }, (_, i) => [`p${i}`, i])),
    }),
  );
  same("with an Int64 out of range: rejected", ({ table }) =>
    table().createEntity({ ...key("2"), n: 9223372036854775808n }),
  );
  same("with a malformed GUID: rejected", ({ table }) =>
    table().createEntity({ ...key("2"), g: { type: "Guid", value: "x" } }),
  );
  same("with a date before 1601: rejected", ({ table }) =>
    table().createEntity({ ...key("2"), d: new Date("1600-12-31T00:00:00Z") }),
  );
  for (const mode of ["Merge", "Replace"] as const) {
    same(`by upsert, ${mode}`, ({ table }) => table().upsertEntity({ ...key(mode), a: 1 }, mode));
    same(`by upsert again, ${mode}`, ({ table }) =>
      table().upsertEntity({ ...key(mode), b: 2 }, mode),
    );
    same(`by update, ${mode}`, ({ table }) => table().updateEntity({ ...key(mode), c: 3 }, mode));
    same(`by update with their ETag, ${mode}`, async ({ table }) => {
      const { etag } = await table().getEntity("p", mode);
      return table().updateEntity({ ...key(mode), d: 4 }, mode, { etag });
    });
    same(`by update with another ETag: rejected, ${mode}`, ({ table }) =>
      table().updateEntity({ ...key(mode), e: 5 }, mode, {
        etag: "W/\"datetime'2020-01-01T00%3A00%3A00Z'\"",
      }),
    );
    same(`by update with a malformed ETag: rejected, ${mode}`, ({ table }) =>
      table().updateEntity({ ...key(mode), e: 5 }, mode, { etag: "five" }),
    );
    same(`by update of an entity that does not exist: rejected, ${mode}`, ({ table }) =>
      table().updateEntity(key("nobody"), mode),
    );
  }
  same("in an unknown mode, by update: rejected", ({ table }) =>
    table().updateEntity(key("1"), "merge" as UpdateMode),
  );
  same("in an unknown mode, by upsert: rejected", ({ table }) =>
    table().upsertEntity(key("1"), "" as UpdateMode),
  );
});

describe("entities are read", () => {
  same("with every type of value", ({ table }) => table().getEntity("p", "1"));
  same("that do not exist", ({ table }) => table().getEntity("p", "nobody"));
  same("from a table that does not exist", ({ table }) => table("nowhere").getEntity("p", "1"));
  same("by keys of any text", ({ table }) => table().getEntity("o'x", "\u00fc 1%+&='x'"));
  same("by empty keys", ({ table }) => table().getEntity("", ""));
  same("with selected properties", ({ table }) =>
    table().getEntity("p", "1", { queryOptions: { select: ["text", "rowKey", "absent", "etag"] } }),
  );
  same("all of them", ({ table }) => all(table().listEntities()));
  same("all of them, with selected properties", ({ table }) =>
    all(table().listEntities({ queryOptions: { select: ["partitionKey", "timestamp", "a"] } })),
  );
  same("all of them, with nothing but the ETag selected", ({ table }) =>
    all(table().listEntities({ queryOptions: { select: ["etag", "a"] } })),
  );
  same("page by page", ({ table }) => all(table().listEntities().byPage({ maxPageSize: 2 })));
  same("from a continuation token", async ({ table }) => {
    const { value } = await table().listEntities().byPage({ maxPageSize: 2 }).next();
    const { continuationToken } = value;
    return all(table().listEntities().byPage({ continuationToken, maxPageSize: 3 }));
  });
  same("by a filter", ({ table, entry }) =>
    all(
      table().listEntities({
        queryOptions: { filter: entry.odata`int32 lt ${0} and yes eq ${true}` },
      }),
    ),
  );
  same("by a filter that matches nothing", ({ table }) =>
    all(
      table()
        .listEntities({ queryOptions: { filter: "a eq 99" } })
        .byPage(),
    ),
  );
  same("by a malformed filter", ({ table }) =>
    all(table().listEntities({ queryOptions: { filter: "a eq eq" } })),
  );
  same("with a page size of zero", ({ table }) =>
    all(table().listEntities().byPage({ maxPageSize: 0 })),
  );
  same("with a page size that is too large", ({ table }) =>
    all(table().listEntities().byPage({ maxPageSize: 1001 })),
  );
  same("from a table that does not exist, page by page", ({ table }) =>
    all(table("nowhere").listEntities().byPage()),
  );
});

describe("transactions", () => {
  const submit =
    (actions: TransactionAction[]): Call =>
    ({ table }) =>
      table().submitTransaction(actions);
  same(
    "do every operation",
    submit([
      ["create", { ...key("t0"), name: "o'x" }],
      ["update", { ...key("Merge"), a: 9 }],
      ["update", { ...key("Replace"), a: 9 }, "Replace", { etag: "*" }],
      ["upsert", { ...key("t1"), a: 9 }],
      ["upsert", { ...key("t2"), a: 9 }, "Replace"],
      ["delete", key("stamps")],
    ]),
  );
  same("return responses by row key", async ({ table }) => {
    const done = await table().submitTransaction([
      ["upsert", key("t1")],
      ["upsert", key("t'2")],
    ]);
    return [done.getResponseForEntity("t1"), done.getResponseForEntity("nobody")];
  });
  same("store what they wrote", ({ table }) => all(table().listEntities()));
  same(
    "fail whole",
    submit([
      ["create", key("t3")],
      ["create", key("t0")],
    ]),
  );
  same(
    "fail for an ETag",
    submit([["update", key("t0"), "Merge", { etag: "W/\"datetime'2020-01-01T00%3A00%3A00Z'\"" }]]),
  );
  same(
    "fail for who is not there",
    submit([
      ["upsert", key("t0")],
      ["delete", key("nobody")],
    ]),
  );
  same("fail for a key", submit([["create", key("a/b")]]));
  same(
    "fail for the same entity twice",
    submit([
      ["upsert", key("t0")],
      ["upsert", key("t0")],
    ]),
  );
  same(
    "fail for 101 operations",
    submit(Array.from({ length: 101 }, (_, i): TransactionAction => ["create", key(`x${i}`)])),
  );
  same(
    "are of one partition",
    submit([
      ["create", key("x")],
      ["create", key("x", "q")],
    ]),
  );
  same("reject an unknown mode", submit([["update", key("x"), "merge" as UpdateMode]]));
  same("require keys", submit([["delete", key(none)]]));
  same(
    "are of 4 MiB at most",
    submit(
      Array.from(
        { length: 100 },
        (_, i): TransactionAction => [
          "create",
          { ...key(`big${i}`), text: "x".repeat(30000), more: "x".repeat(30000) },
        ],
      ),
    ),
  );
  same("reject an empty list", ({ table }) =>
    table()
      .submitTransaction([])
      .catch(({ name }: Error) => name),
  );
  same("require an existing table", ({ table }) =>
    table("nowhere").submitTransaction([["create", key("x")]]),
  );
  same("that fail store nothing", ({ table }) => all(table().listEntities()));
  same("can be built step by step", ({ table, entry }) => {
    const built = new entry.TableTransaction();
    built.createEntity({ ...key("b0"), a: 1 });
    built.upsertEntity({ ...key("t0"), a: 1 });
    built.updateEntity({ ...key("t1"), a: 1 }, "Replace");
    built.updateEntity({ ...key("t2"), b: 1 }, { etag: "*" });
    built.deleteEntity("p", "t'2");
    return table().submitTransaction(built.actions);
  });
});

describe("entities are deleted", () => {
  same("by key", ({ table }) => table().deleteEntity("p", "1"));
  same("only once", ({ table }) => table().deleteEntity("p", "1"));
  same("with their ETag", async ({ table }) => {
    const { etag } = await table().getEntity("p", "Merge");
    return table().deleteEntity("p", "Merge", { etag });
  });
  same("with another ETag: rejected", ({ table }) =>
    table().deleteEntity("p", "Replace", { etag: "W/\"datetime'2020-01-01T00%3A00%3A00Z'\"" }),
  );
  same("from a table that does not exist: rejected", ({ table }) =>
    table("nowhere").deleteEntity("p", "1"),
  );
});

describe("keys that are missing", () => {
  same("to read: throws at the call", ({ table }) => {
    const client = table();
    assert.throws(() => client.getEntity(none, "r"));
    return client.getEntity("p", none);
  });
  same("to delete: throws at the call", ({ table }) => {
    const client = table();
    assert.throws(() => client.deleteEntity("p", none));
    return client.deleteEntity(none, "r");
  });
  same("to update: throws at the call", ({ table }) => {
    const client = table();
    assert.throws(() => client.updateEntity(key(none)));
    return client.updateEntity(key("r", none));
  });
  same("to upsert: rejects", ({ table }) => table().upsertEntity(key(none)));
});

describe("access policies", () => {
  const start = new Date("2024-01-01T00:00:00.789Z");
  const expiry = new Date("2030-01-01T00:00:00Z");
  const set =
    (identifiers: SignedIdentifier[], name?: string): Call =>
    ({ table }) =>
      table(name).setAccessPolicy(identifiers);
  const get =
    (name?: string): Call =>
    ({ table }) =>
      table(name).getAccessPolicy();
  same("are empty at first", get());
  same(
    "are set",
    set([
      { id: "all", accessPolicy: { start, expiry, permission: "raud" } },
      { id: "<&> 'x' \"y\"", accessPolicy: { permission: "r" } },
      { id: "expires", accessPolicy: { expiry } },
      { id: "empty" },
    ]),
  );
  same("are returned as they were set", get());
  same("are five at most", set(Array.from({ length: 6 }, (_, i) => ({ id: `${i}` }))));
  same(
    "reject a permission that tables do not have",
    set([{ id: "x", accessPolicy: { permission: "w" } }]),
  );
  same("reject duplicate ids", set([{ id: "x" }, { id: "x" }]));
  same("are unchanged when they could not be set", get());
  same("of a table that does not exist are rejected", get("nowhere"));
  same("cannot be set for a table that does not exist", set([], "nowhere"));
  same("can be cleared", set([]));
  same("are empty after that", get());
});

describe("the service", () => {
  const off = { enabled: false };
  const rule = {
    allowedOrigins: "https://a.example",
    allowedMethods: "GET,PUT",
    allowedHeaders: "x-ms-*",
    exposedHeaders: "*",
    maxAgeInSeconds: 200,
  };
  same("has properties", ({ service }) => service.getProperties());
  same("accepts all of them", ({ service }) =>
    service.setProperties({
      logging: {
        version: "1.0",
        read: true,
        write: true,
        delete: false,
        retentionPolicy: { enabled: true, days: 7 },
      },
      hourMetrics: { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy: off },
      minuteMetrics: { version: "1.0", enabled: false, retentionPolicy: off },
      cors: [rule, { ...rule, allowedOrigins: "*", allowedHeaders: "" }],
    }),
  );
  same("returns them", ({ service }) => service.getProperties());
  same("accepts some of them", ({ service }) => service.setProperties({ cors: [] }));
  same("keeps the others", ({ service }) => service.getProperties());
  same("rejects an empty set", ({ service }) => service.setProperties({}));
  same("rejects an unknown method", ({ service }) =>
    service.setProperties({ cors: [{ ...rule, allowedMethods: "GRAB" }] }),
  );
  same("rejects six rules", ({ service }) =>
    service.setProperties({ cors: Array.from({ length: 6 }, () => rule) }),
  );
});

describe("an aborted signal", () => {
  const abortSignal = AbortSignal.abort();
  const nameOf = async (call: Promise<unknown>) => call.catch((error: Error) => error.name);
  same("keeps a write from happening", ({ table }) =>
    nameOf(table().createEntity(key("aborted"), { abortSignal })),
  );
  same("keeps a read from happening", ({ table }) =>
    nameOf(table().getEntity("p", "t0", { abortSignal })),
  );
  same("keeps a list from happening", ({ table }) =>
    nameOf(all(table().listEntities({ abortSignal }))),
  );
  same("keeps a table from being created", ({ service }) =>
    nameOf(service.createTable("aborted", { abortSignal })),
  );
  same("has no effect", ({ service }) => all(service.listTables()));
});
