// Runs azure-storage, the older JavaScript client, against `entitable serve`. Uses everything that
// it offers for tables.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as https from "node:https";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  connectionString,
  emulatorKey,
  killAllServers,
  start,
} from "../web/support/server-process.ts";
import {
  type AccessPolicy,
  all,
  ask,
  type Entity,
  library,
  type Outcome,
  type Page,
  type Service,
} from "./azure-storage.ts";

const { TableQuery, TableBatch, TableUtilities } = library;
const { String: text, Int32, Int64, Double, Boolean: truth } = TableUtilities.entityGenerator;
const { Binary, Guid, DateTime } = TableUtilities.entityGenerator;

let url: string; // the account's URL
let service: Service;
let tables = 0;
before(async () => {
  const served = await start(["--in-memory", "--auth", "strict"]);
  url = served.endpoint();
  service = library.createTableService(connectionString(served));
});
after(killAllServers);

async function newTable(of = service): Promise<string> {
  const name = `things${++tables}`;
  await ask(of, "createTable", name);
  return name;
}

const entity = (partition: string, row: string, properties: Entity = {}): Entity => ({
  PartitionKey: text(partition),
  RowKey: text(row),
  ...properties,
});

const withETag = (etag: string, of: Entity): Entity => ({ ...of, ".metadata": { etag } });

const etagOf = (of: Entity): string => of[".metadata"]?.etag ?? "";

const values = (of: Entity) =>
  Object.fromEntries(
    Object.entries(of)
      .filter(([name]) => name !== ".metadata" && name !== "Timestamp")
      .map(([name, property]) => [name, property._]),
  );

async function get(table: string, partition: string, row: string, of = service): Promise<Entity> {
  return (await ask<Entity>(of, "retrieveEntity", table, partition, row)).result;
}

const insert = (table: string, row: Entity, of = service) =>
  ask<Entity>(of, "insertEntity", table, row);

async function query(table: string, what: unknown, of = service): Promise<Entity[]> {
  const next = (token: object | null) => ask<Page<Entity>>(of, "queryEntities", table, what, token);
  return (await all(next)).entries;
}

const rowKeys = (rows: Entity[]) => rows.map(({ RowKey }) => RowKey?._);

const rejectedWith = (asking: Promise<unknown>, statusCode: number, code: string) =>
  assert.rejects(asking, (error: { statusCode?: number; code?: string }) => {
    assert.deepEqual([error.statusCode, error.code], [statusCode, code]);
    return true;
  });

describe("tables", () => {
  test("are created, found, listed page by page, and deleted", async () => {
    await ask(service, "createTable", "listedA");
    await rejectedWith(ask(service, "createTable", "ListedA"), 409, "TableAlreadyExists");
    const made = await ask<{ created: boolean }>(service, "createTableIfNotExists", "listedB");
    const again = await ask<{ created: boolean }>(service, "createTableIfNotExists", "listedB");
    assert.deepEqual([made.result.created, again.result.created], [true, false]);
    const exists = async (name: string) =>
      (await ask<{ exists: boolean }>(service, "doesTableExist", name)).result.exists;
    assert.deepEqual([await exists("listedA"), await exists("listedC")], [true, false]);
    const next = (token: object | null) =>
      ask<Page<string>>(service, "listTablesSegmentedWithPrefix", "listed", token, {
        maxResults: 1,
      });
    const { entries, sizes } = await all(next);
    assert.deepEqual(entries, ["listedA", "listedB"]);
    assert(sizes.every((size) => size <= 1));
    await ask(service, "deleteTable", "listedA");
    assert.equal(await exists("listedA"), false);
    await rejectedWith(ask(service, "deleteTable", "listedA"), 404, "ResourceNotFound");
    const gone = await ask<boolean>(service, "deleteTableIfExists", "listedA");
    assert.equal(gone.result, false);
    const { result } = await ask<Page<string>>(service, "listTablesSegmented", null);
    assert(result.entries.includes("listedB") && !result.entries.includes("listedA"));
  });
});

describe("entities", () => {
  test("keep every type", async () => {
    const table = await newTable();
    const written = entity("types", "all", {
      string: text('it\'s "so" – ü 😀\t<&>'),
      empty: text(""),
      int32: Int32(-2147483648),
      int64: Int64("9223372036854775807"),
      whole: Double(3),
      fraction: Double(-0.1),
      large: Double(1.7976931348623157e308),
      nan: Double(Number.NaN),
      infinity: Double(Number.POSITIVE_INFINITY),
      negative: Double(Number.NEGATIVE_INFINITY),
      yes: truth(true),
      no: truth(false),
      guid: Guid("c9da6455-213d-42c9-9a79-3e9149a57833"),
      when: DateTime(new Date("2016-02-29T23:59:59.987Z")),
      bytes: Binary(Buffer.from([0, 1, 254, 255])),
    });
    await insert(table, written);
    const read = await get(table, "types", "all");
    assert.deepEqual(values(read), values(written));
    const types = (["int64", "whole", "nan", "infinity", "guid", "when", "bytes"] as const).map(
      (name) => read[name]?.$,
    );
    const named = ["Int64", "Double", "Double", "Double", "Guid", "DateTime", "Binary"];
    assert.deepEqual(
      types,
      named.map((name) => `Edm.${name}`),
    );
    assert(read["Timestamp"]?._ instanceof Date);
  });

  test("are the same in every format of the payload", async () => {
    const table = await newTable();
    await insert(table, entity("p", "r", { n: Int64("12"), d: Double(2), s: text("s") }));
    for (const metadata of ["fullmetadata", "minimalmetadata", "nometadata"]) {
      const options = { payloadFormat: `application/json;odata=${metadata}` };
      const { result } = await ask<Entity>(service, "retrieveEntity", table, "p", "r", options);
      assert.equal(result["s"]?._, "s", metadata);
      assert.equal(result["n"]?._, "12", metadata);
    }
  });

  test("are found by keys of any characters", async () => {
    const table = await newTable();
    const keys = [
      "o'neil",
      "a b",
      "100%",
      "%41",
      "a+b&c=d",
      "ü ß 中 😀",
      "(1,2)",
      "",
      "~!@$^*;:,.",
    ];
    for (const key of keys) {
      await insert(table, entity(key, key, { key: text(key) }));
      assert.equal((await get(table, key, key))["key"]?._, key);
      await ask(service, "mergeEntity", table, entity(key, key, { more: Int32(1) }));
      const where = new TableQuery().where("RowKey eq ? and more eq ?", key, 1);
      assert.deepEqual(rowKeys(await query(table, where)), [key]);
      await ask(service, "deleteEntity", table, entity(key, key));
    }
    assert.deepEqual(await query(table, null), []);
  });

  test("are given back by an insert only if asked for", async () => {
    const table = await newTable();
    const quiet = await insert(table, entity("p", "1", { n: Int32(1) }));
    assert.equal(quiet.response.statusCode, 204);
    assert.match(etagOf(quiet.result), /^W\/"datetime'/);
    const options = { echoContent: true };
    const words = [table, entity("p", "2", { n: Int32(2) }), options];
    const echoed = await ask<Entity>(service, "insertEntity", ...words);
    assert.deepEqual([echoed.response.statusCode, echoed.result["n"]?._], [201, 2]);
    await rejectedWith(insert(table, entity("p", "1")), 409, "EntityAlreadyExists");
    await rejectedWith(insert("absent", entity("p", "1")), 404, "TableNotFound");
    await rejectedWith(get(table, "p", "3"), 404, "ResourceNotFound");
  });

  test("are replaced and merged, on condition or without", async () => {
    const table = await newTable();
    await insert(table, entity("p", "r", { a: Int32(1), b: Int32(1) }));
    const first = etagOf(await get(table, "p", "r"));
    const change = (method: string, row: Entity) => ask<Entity>(service, method, table, row);

    await change("mergeEntity", withETag(first, entity("p", "r", { b: Int32(2) })));
    let row = await get(table, "p", "r");
    assert.deepEqual([row["a"]?._, row["b"]?._], [1, 2]);
    for (const method of ["mergeEntity", "replaceEntity", "deleteEntity"]) {
      await rejectedWith(
        change(method, withETag(first, entity("p", "r", { b: Int32(3) }))),
        412,
        "UpdateConditionNotSatisfied",
      );
      const absent = change(method, entity("p", "absent"));
      await rejectedWith(absent, 404, "ResourceNotFound");
    }
    const replaced = await change(
      "replaceEntity",
      withETag(etagOf(row), entity("p", "r", { c: Int32(4) })),
    );
    row = await get(table, "p", "r");
    assert.deepEqual(values(row), { PartitionKey: "p", RowKey: "r", c: 4 });
    assert.equal(etagOf(replaced.result), etagOf(row));

    await change("insertOrMergeEntity", entity("p", "r", { d: Int32(5) }));
    await change("insertOrMergeEntity", entity("p", "new", { d: Int32(5) }));
    row = await get(table, "p", "r");
    assert.deepEqual([row["c"]?._, row["d"]?._], [4, 5]);
    await change("insertOrReplaceEntity", entity("p", "r", { e: Int32(6) }));
    await change("insertOrReplaceEntity", entity("p", "newer", { e: Int32(6) }));
    row = await get(table, "p", "r");
    assert.deepEqual(values(row), { PartitionKey: "p", RowKey: "r", e: 6 });
    assert.deepEqual(rowKeys(await query(table, null)), ["new", "newer", "r"]);
    await change("deleteEntity", withETag(etagOf(row), entity("p", "r")));
    await rejectedWith(get(table, "p", "r"), 404, "ResourceNotFound");
  });

  test("that break a rule are refused by its name", async () => {
    const table = await newTable();
    const cases: [Entity, string][] = [
      [entity("p", "a/b"), "OutOfRangeInput"],
      [entity("p", "k".repeat(1025)), "PropertyValueTooLarge"],
      [entity("p", "r", { s: text("x".repeat(32 * 1024 + 1)) }), "PropertyValueTooLarge"],
      [entity("p", "r", { n: Int64("not a number") }), "InvalidInput"],
      [entity("p", "r", { "not-a-name": Int32(1) }), "PropertyNameInvalid"],
    ];
    for (const [row, code] of cases) await rejectedWith(insert(table, row), 400, code);
  });
});

describe("queries", () => {
  test("filter by every type", async () => {
    const table = await newTable();
    const guid = "c9da6455-213d-42c9-9a79-3e9149a57833";
    await insert(
      table,
      entity("p", "here", {
        s: text("it's"),
        i: Int32(5),
        l: Int64("4294967296"),
        d: Double(2.5),
        b: truth(true),
        g: Guid(guid),
        t: DateTime(new Date("2020-01-01T00:00:00Z")),
        x: Binary(Buffer.from([1, 171])),
      }),
    );
    await insert(table, entity("p", "there", { s: text("other"), i: Int32(-5) }));
    const filters = [
      new TableQuery().where("s eq ?", "it's"),
      new TableQuery().where("i gt ?int32?", 4),
      new TableQuery().where("l ge ?int64?", "4294967296"),
      new TableQuery().where("d lt ?double?", 2.75),
      new TableQuery().where("b eq ?bool?", true),
      new TableQuery().where("g eq ?guid?", guid),
      new TableQuery().where("t le ?date?", new Date("2020-01-01T00:00:00Z")),
      new TableQuery().where("x eq ?binary?", Buffer.from([1, 171])),
      new TableQuery().where("s ne ?", "other").and("i ge ?", 5),
      new TableQuery().where("not (i lt ?) and (s eq ? or s eq ?)", 0, "nothing", "it's"),
    ];
    for (const filter of filters) assert.deepEqual(rowKeys(await query(table, filter)), ["here"]);
    const either = new TableQuery().where("i eq ?", 5).or("i eq ?", -5);
    assert.equal((await query(table, either)).length, 2);
    await rejectedWith(query(table, new TableQuery().where("i eq")), 400, "InvalidInput");
  });

  test("select, and take so many", async () => {
    const table = await newTable();
    for (const row of ["1", "2", "3"])
      await insert(table, entity("p", row, { a: Int32(1), b: text("b") }));
    const two = new TableQuery().select("RowKey", "b").top(2);
    const { result } = await ask<Page<Entity>>(service, "queryEntities", table, two, null);
    assert.deepEqual(result.entries.map(values), [
      { RowKey: "1", b: "b" },
      { RowKey: "2", b: "b" },
    ]);
    assert(result.continuationToken !== null);
  });

  test("come in pages, over partitions", async () => {
    const table = await newTable();
    const expected: string[] = [];
    for (let partition = 0; partition < 12; ++partition) {
      const batch = new TableBatch();
      for (let row = 0; row < 100; ++row) {
        const key = String(row).padStart(3, "0");
        batch.insertEntity(entity(`p ${String.fromCharCode(97 + partition)}é`, key));
        expected.push(`p ${String.fromCharCode(97 + partition)}é/${key}`);
      }
      await ask(service, "executeBatch", table, batch);
    }
    for (const [top, pages] of [
      [undefined, [1000, 200]],
      [450, [450, 450, 300]],
    ] as const) {
      const what = top === undefined ? null : new TableQuery().top(top);
      const next = (token: object | null) =>
        ask<Page<Entity>>(service, "queryEntities", table, what, token);
      const { entries, sizes } = await all(next);
      assert.deepEqual(
        entries.map(({ PartitionKey, RowKey }) => `${PartitionKey?._}/${RowKey?._}`),
        expected,
      );
      assert.deepEqual(sizes, pages);
    }
  });
});

describe("batches", () => {
  test("do every operation", async () => {
    const table = await newTable();
    for (const row of ["merged", "replaced", "deleted"])
      await insert(table, entity("p's", row, { a: Int32(1), b: text("ü") }));
    const batch = new TableBatch();
    batch.insertEntity(entity("p's", "inserted", { s: text("😀 \r\n--batch") }));
    batch.insertEntity(entity("p's", "echoed", { n: Int64("7") }), { echoContent: true });
    batch.mergeEntity(entity("p's", "merged", { a: Int32(2) }));
    batch.replaceEntity(entity("p's", "replaced", { a: Int32(2) }));
    batch.deleteEntity(entity("p's", "deleted"));
    batch.insertOrMergeEntity(entity("p's", "upserted", { a: Int32(2) }));
    batch.insertOrReplaceEntity(entity("p's", "put", { a: Int32(2) }));
    const { result } = await ask<Outcome[]>(service, "executeBatch", table, batch);
    assert.deepEqual(
      result.map(({ response }) => response.statusCode),
      [204, 201, 204, 204, 204, 204, 204],
    );
    assert.equal(result[1]?.entity?.["n"]?._, "7");
    assert.deepEqual(
      rowKeys(await query(table, null)),
      ["inserted", "echoed", "merged", "replaced", "upserted", "put"].sort(),
    );
    assert.equal((await get(table, "p's", "inserted"))["s"]?._, "😀 \r\n--batch");
    assert.equal((await get(table, "p's", "merged"))["b"]?._, "ü");
    assert.equal((await get(table, "p's", "replaced"))["b"], undefined);
  });

  test("take a hundred operations and no more", async () => {
    const table = await newTable();
    for (const [count, accepted] of [
      [100, true],
      [101, false],
    ] as const) {
      const batch = new TableBatch();
      const add = () => {
        for (let row = 0; row < count; ++row) batch.insertOrReplaceEntity(entity("p", `${row}`));
      };
      if (accepted) {
        add();
        const { result } = await ask<Outcome[]>(service, "executeBatch", table, batch);
        assert.equal(result.length, 100);
      } else {
        assert.throws(add); // the client throws
      }
    }
  });

  test("fail as one, naming the operation", async () => {
    const table = await newTable();
    await insert(table, entity("p", "there"));
    const batch = new TableBatch();
    batch.insertEntity(entity("p", "new"));
    batch.insertEntity(entity("p", "there"));
    const asking = ask(service, "executeBatch", table, batch);
    await assert.rejects(asking, (error: Error & { statusCode?: number; code?: string }) => {
      assert.deepEqual([error.statusCode, error.code], [409, "EntityAlreadyExists"]);
      assert.match(error.message, /^1:/);
      return true;
    });
    assert.deepEqual(rowKeys(await query(table, null)), ["there"]);
    const stale = new TableBatch();
    stale.mergeEntity(withETag("W/\"datetime'2000-01-01T00%3A00%3A00Z'\"", entity("p", "there")));
    await rejectedWith(
      ask(service, "executeBatch", table, stale),
      412,
      "UpdateConditionNotSatisfied",
    );
  });

  test("read one entity", async () => {
    const table = await newTable();
    await insert(table, entity("p", "r", { s: text("s") }));
    const batch = new TableBatch();
    batch.retrieveEntity("p", "r");
    const { result } = await ask<Outcome[]>(service, "executeBatch", table, batch);
    assert.equal(result[0]?.entity?.["s"]?._, "s");
  });
});

describe("shared access", () => {
  const soon = () => new Date(Date.now() + 3_600_000);
  const signed = (table: string, AccessPolicy: AccessPolicy) =>
    library.createTableServiceWithSas(
      url,
      service.generateSharedAccessSignature(table, { AccessPolicy }),
    );

  test("allows what was signed", async () => {
    const table = await newTable();
    const adder = signed(table, { Permissions: "ra", Expiry: soon() });
    await insert(table, entity("p", "r", { n: Int32(1) }), adder);
    assert.equal((await get(table, "p", "r", adder))["n"]?._, 1);
    await rejectedWith(
      ask(adder, "deleteEntity", table, entity("p", "r")),
      403,
      "AuthorizationPermissionMismatch",
    );
    const late = signed(table, { Permissions: "r", Expiry: new Date(Date.now() - 60_000) });
    await rejectedWith(get(table, "p", "r", late), 403, "AuthenticationFailed");
    const early = signed(table, { Permissions: "r", Start: soon(), Expiry: soon() });
    await rejectedWith(get(table, "p", "r", early), 403, "AuthenticationFailed");
    const elsewhere = signed(table, {
      Permissions: "r",
      Expiry: soon(),
      IPAddressOrRange: "203.0.113.7",
    });
    await rejectedWith(get(table, "p", "r", elsewhere), 403, "AuthorizationSourceIPMismatch");
    const other = await newTable();
    await rejectedWith(query(other, null, adder), 403, "AuthorizationFailure");
    const all = new TableBatch();
    all.insertEntity(entity("q", "1"));
    all.insertEntity(entity("q", "2"));
    await ask(adder, "executeBatch", table, all);
  });

  test("keeps to its range of keys", async () => {
    const table = await newTable();
    for (const [partition, row] of ["a1", "b1", "b5", "c1", "c9", "d1"].map((key) => [...key]))
      await insert(table, entity(partition ?? "", row ?? ""));
    const range = { StartPk: "b", StartRk: "5", EndPk: "c", EndRk: "5" };
    const reader = signed(table, { Permissions: "raud", Expiry: soon(), ...range });
    const seen = await query(table, null, reader);
    assert.deepEqual(
      seen.map(({ PartitionKey, RowKey }) => `${PartitionKey?._}${RowKey?._}`),
      ["b5", "c1"],
    );
    await insert(table, entity("b", "6"), reader);
    const outside = insert(table, entity("d", "6"), reader);
    await rejectedWith(outside, 403, "AuthorizationFailure");
  });

  test("goes by stored policies", async () => {
    const table = await newTable();
    const policies = {
      reading: { Permissions: "r", Start: new Date("2020-01-01T00:00:00Z"), Expiry: soon() },
      "all of it": { Permissions: "raud", Expiry: soon() },
    };
    await ask(service, "setTableAcl", table, policies);
    type Acl = { signedIdentifiers: Record<string, AccessPolicy> };
    const { result } = await ask<Acl>(service, "getTableAcl", table);
    assert.deepEqual(Object.keys(result.signedIdentifiers), ["reading", "all of it"]);
    assert.equal(result.signedIdentifiers["reading"]?.Permissions, "r");
    assert.deepEqual(
      new Date(result.signedIdentifiers["reading"]?.Start ?? 0),
      policies.reading.Start,
    );
    const sas = service.generateSharedAccessSignature(table, { Id: "reading" });
    const reader = library.createTableServiceWithSas(url, sas);
    assert.deepEqual(await query(table, null, reader), []);
    await rejectedWith(
      insert(table, entity("p", "r"), reader),
      403,
      "AuthorizationPermissionMismatch",
    );
    await ask(service, "setTableAcl", table, {});
    await rejectedWith(query(table, null, reader), 403, "AuthenticationFailed");
  });

  test("to the account", async () => {
    const table = await newTable();
    const sas = (Permissions: string, ResourceTypes: string) =>
      library.createTableServiceWithSas(
        url,
        library.generateAccountSharedAccessSignature("devstoreaccount1", emulatorKey, {
          AccessPolicy: { Services: "t", ResourceTypes, Permissions, Expiry: soon() },
        }),
      );
    await insert(table, entity("p", "r"), sas("a", "o"));
    assert.equal((await query(table, null, sas("r", "o"))).length, 1);
    await rejectedWith(
      ask(sas("r", "o"), "deleteEntity", table, entity("p", "r")),
      403,
      "AuthorizationPermissionMismatch",
    );
    await rejectedWith(
      ask(sas("r", "o"), "createTable", "another"),
      403,
      "AuthorizationResourceTypeMismatch",
    );
    await ask(sas("rwdlacup", "sco"), "createTable", `${table}too`);
  });

  test("needs the right key", async () => {
    const wrong = library.createTableService("devstoreaccount1", "d3Jvbmc=", url);
    await rejectedWith(ask(wrong, "createTable", "any"), 403, "AuthenticationFailed");
  });
});

describe("the service", () => {
  test("keeps its properties", async () => {
    const written = {
      Logging: {
        Version: "1.0",
        Delete: true,
        Read: false,
        Write: true,
        RetentionPolicy: { Enabled: true, Days: 7 },
      },
      HourMetrics: {
        Version: "1.0",
        Enabled: true,
        IncludeAPIs: true,
        RetentionPolicy: { Enabled: false },
      },
      MinuteMetrics: { Version: "1.0", Enabled: false, RetentionPolicy: { Enabled: false } },
      Cors: {
        CorsRule: [
          {
            AllowedOrigins: ["https://a.example", "https://b.example"],
            AllowedMethods: ["GET", "PUT"],
            AllowedHeaders: ["x-ms-meta-*"],
            ExposedHeaders: ["x-ms-*"],
            MaxAgeInSeconds: 60,
          },
        ],
      },
    };
    await ask(service, "setServiceProperties", written);
    const { result } = await ask<typeof written>(service, "getServiceProperties");
    assert.deepEqual(result, written);
  });

  test("tells of its secondary, and reads from there", async () => {
    const hosts = { primaryHost: url, secondaryHost: `${url}-secondary` };
    const both = library.createTableService("devstoreaccount1", emulatorKey, hosts);
    const options = { locationMode: 2 }; // secondary only
    type Stats = { GeoReplication: { Status: string; LastSyncTime: Date } };
    const { result } = await ask<Stats>(both, "getServiceStats", options);
    assert.equal(result.GeoReplication.Status, "live");
    assert(!Number.isNaN(new Date(result.GeoReplication.LastSyncTime).getTime()));
    const table = await newTable();
    const words = [table, options] as const;
    const found = await ask<{ exists: boolean }>(both, "doesTableExist", ...words);
    assert.equal(found.result.exists, true);
    const acl = await ask<{ signedIdentifiers: object }>(both, "getTableAcl", ...words);
    assert.deepEqual(acl.result.signedIdentifiers, {});
  });
});

test("accounts of one's own, over HTTPS", async () => {
  const pem = fileURLToPath(new URL("../web/support/localhost.pem", import.meta.url));
  const key = Buffer.from("of one's own").toString("base64");
  const served = await start(["--in-memory", "--cert", pem, "--key", pem], {
    env: { AZURITE_ACCOUNTS: `one:${key};two:${key}` },
    accounts: 2,
  });
  const two = library.createTableService("two", key, served.endpoint(1));
  two.enableGlobalHttpAgent = true;
  https.globalAgent.options.ca = readFileSync(pem);
  const table = await newTable(two);
  await insert(table, entity("p", "r"), two);
  assert.deepEqual(rowKeys(await query(table, null, two)), ["r"]);
  https.globalAgent.destroy();
});
