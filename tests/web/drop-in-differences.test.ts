// Tests every difference between entitable/data-tables and the official client. Each test also
// checks what the official client does.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { all, type ClientPair, openClientPair } from "./support/client-pair.ts";
import { dataTables } from "./support/data-tables.ts";
import { openStore } from "./support/package.ts";

let both: ClientPair;
before(async () => {
  both = await openClientPair();
  await both.official.table().createTable();
  await both.ours.table().createTable();
});
after(() => both.close());

const key = (rowKey: string) => ({ partitionKey: "p", rowKey });

// Resolves to the error with which a call rejects.
async function refusal(call: Promise<unknown>): Promise<Record<string, unknown> & Error> {
  try {
    await call;
  } catch (error) {
    return error as Record<string, unknown> & Error;
  }
  throw new Error("it was not refused");
}

describe("the differences", () => {
  test("1: errors of single operations have a code", async () => {
    const theirs = await refusal(both.official.table().getEntity("p", "nobody"));
    const ours = await refusal(both.ours.table().getEntity("p", "nobody"));
    assert.deepEqual([theirs.code, ours.code], [undefined, "ResourceNotFound"]);
    const { odataError } = ours.details as { odataError: { code: string } };
    assert.equal(odataError.code, "ResourceNotFound");
  });

  test("2: messages are text, on request", async () => {
    const wire = await refusal(both.ours.table().getEntity("p", "nobody"));
    assert.match(wire.message, /^\{"odata.error":\{"code":"ResourceNotFound"/);
    const store = await openStore({ persistence: "memory" });
    const options = { store, errorMessages: "readable" } as const;
    const table = new dataTables.TableClient("https://a.table.core.windows.net", "people", options);
    const readable = await refusal(table.getEntity("p", "r"));
    assert.equal(readable.message, "The table specified does not exist.");
    const policies = await refusal(table.getAccessPolicy());
    assert.equal(policies.message, "The table specified does not exist.");
    const failed = await refusal(table.submitTransaction([["create", key("r")]]));
    assert.equal(failed.message, "0:The table specified does not exist.");
    await store.close();
  });

  test("3: a view over a larger buffer is written as exactly the view", async () => {
    const view = new Uint8Array([1, 2, 3, 4]).subarray(1, 3);
    const read = await roundTrip("view", { view });
    assert.deepEqual([...(read.official.view as Uint8Array)], [1, 2, 3, 4]);
    assert.deepEqual([...(read.ours.view as Uint8Array)], [2, 3]);
  });

  test("4, 5: NaN and the infinities are stored as Double, and read as numbers", async () => {
    const odd = { nan: Number.NaN, up: Number.POSITIVE_INFINITY, down: Number.NEGATIVE_INFINITY };
    const read = await roundTrip("odd", odd);
    assert.deepEqual([read.official.nan, read.official.up], [undefined, undefined]);
    assert.deepEqual([read.ours.nan, read.ours.up, read.ours.down], Object.values(odd));
    const typed = await roundTrip("typed", { nan: { type: "Double", value: "NaN" } });
    assert.deepEqual([typed.official.nan, typed.ours.nan], ["NaN", Number.NaN]);
  });

  test("6: an integer outside Int32 is a Double; `portable` rejects it", async () => {
    const wide = { ...key("wide"), n: 2147483648 };
    await both.ours.table().createEntity(wide);
    const { n } = await both.ours.table().getEntity<{ n: unknown }>("p", "wide", {
      disableTypeConversion: true,
    });
    assert.deepEqual(n, { type: "Double", value: "2147483648" });

    const store = await openStore({ persistence: "memory" });
    const table = new dataTables.TableClient("https://a.table.core.windows.net", "people", {
      store,
      portable: true,
    });
    await table.createTable();
    const notPortable = { name: "StoreError", code: "NotPortable", message: /"n".*2147483648/ };
    await assert.rejects(table.createEntity(wide), notPortable);
    await assert.rejects(async () => table.updateEntity(wide), notPortable);
    await assert.rejects(table.upsertEntity(wide), notPortable);
    await assert.rejects(table.submitTransaction([["upsert", wide]]), notPortable);
    const fits = { largest: 2147483647, half: 0.5, huge: dataTables.edm.double(2147483648) };
    await table.createEntity({ ...key("fits"), ...fits, int64: 2147483648n });
    await store.close();
  });

  test("7: odata formats every type that a filter has", () => {
    const { odata, edm } = dataTables;
    assert.equal(odata`a eq ${10n}`, "a eq 10L");
    assert.equal(odata`a eq ${new Uint8Array([0, 10, 255])}`, "a eq X'000aff'");
    const guid = "c9da6455-213d-42c9-9a79-3e9149a57833";
    assert.equal(odata`a eq ${edm.guid(guid)}`, `a eq guid'${guid}'`);
    assert.equal(odata`a eq ${edm.int64(5)} or a eq ${edm.double(5)}`, "a eq 5L or a eq 5.0");
    assert.equal(odata`a eq ${edm.binary("AAr/")}`, "a eq X'000aff'");
    assert.equal(odata`a eq ${edm.string("o'x")}`, "a eq 'o''x'");
    assert.equal(odata`a eq ${edm.int32(5)} and b eq ${edm.boolean(true)}`, "a eq 5 and b eq true");
    const date = "2024-01-02T03:04:05.6789012Z";
    assert.equal(odata`a eq ${edm.dateTime(date)}`, `a eq datetime'${date}'`);
    assert.throws(() => odata`a eq ${null}`, { name: "TypeError", message: /null/ });
    assert.throws(() => odata`a eq ${undefined}`, { name: "TypeError", message: /undefined/ });
  });

  test("8: an entity has no odata.metadata", async () => {
    const read = await roundTrip("metadata", {});
    assert("odata.metadata" in read.official && !("odata.metadata" in read.ours));
  });

  test("9: createTable on an existing table does not call onResponse twice", async () => {
    let calls = 0;
    const onResponse = () => {
      ++calls;
    };
    await both.official.table().createTable({ onResponse });
    assert.equal(calls, 2);
    const options = { onResponse } as object;
    await assert.rejects(both.ours.table().createTable(options), { code: "NotSupported" });
    assert.equal(calls, 2);
  });

  test("11: `version` is honoured in every form of the options", async () => {
    const store = await openStore({ persistence: "memory" });
    const options = { store, version: "2020-12-06" };
    const url = "https://a.table.core.windows.net";
    const key64 = new dataTables.AzureNamedKeyCredential("a", "a2V5");
    for (const service of [
      new dataTables.TableServiceClient(url, options),
      new dataTables.TableServiceClient(url, key64, options),
    ]) {
      assert.equal((await service.getProperties()).version, "2020-12-06");
    }
    const table = new dataTables.TableClient(url, "people", options);
    await table.createTable();
    assert.equal((await table.createEntity(key("1"))).version, "2020-12-06");
    await store.close();
  });

  test("12: a malformed token is rejected as the service rejects input", async () => {
    const pages = (side: "official" | "ours") =>
      all(both[side].table().listEntities().byPage({ continuationToken: "bm90IGpzb24=" }));
    assert.equal((await refusal(pages("official"))).name, "SyntaxError");
    const { name, statusCode, code } = await refusal(pages("ours"));
    assert.deepEqual([name, statusCode, code], ["RestError", 400, "InvalidInput"]);
  });

  test("13: iterators can be ended early", async () => {
    type Ending = { return?: () => Promise<IteratorResult<unknown>> };
    const iterator = both.ours.table().listEntities() as Ending & AsyncIterable<unknown>;
    assert.equal((both.official.table().listEntities() as Ending).return, undefined);
    assert.deepEqual(await iterator.return?.(), { done: true, value: undefined });
    assert.deepEqual(await all(iterator), []);
  });

  test("14: a whole Double stays a Double without type conversion", async () => {
    const properties = { whole: { type: "Double", value: 3 } };
    const read = await roundTrip("whole", properties, { disableTypeConversion: true });
    assert.deepEqual(read.ours.whole, { type: "Double", value: "3" });
  });

  test("15: the error for a value without a type names the property", async () => {
    const tags = { ...key("tags"), tags: ["a"] };
    const theirs = await refusal(both.official.table().createEntity(tags));
    const ours = await refusal(both.ours.table().createEntity(tags));
    assert.equal(theirs.message, "Unknown EDM type object");
    assert.match(ours.message, /^Unknown EDM type object: property "tags" .*"p".*"tags"/);
  });

  // Writes an entity with these properties, and returns what is read.
  async function roundTrip(rowKey: string, properties: object, options: object = {}) {
    const read = { official: {}, ours: {} } as Record<"official" | "ours", Record<string, unknown>>;
    for (const side of ["official", "ours"] as const) {
      const table = both[side].table();
      await table.createEntity({ ...key(rowKey), ...properties });
      read[side] = await table.getEntity("p", rowKey, options);
    }
    return read;
  }
});

describe("10: keys work in pages", () => {
  const page = globalThis as { document?: unknown };
  afterEach(() => {
    delete page.document;
  });
  const warned = (url: string, isPage = true) => {
    const codes: string[] = [];
    if (isPage) page.document = {};
    const credential = new dataTables.AzureNamedKeyCredential("acct", "a2V5");
    const options = { onWarning: ({ code }: { code: string }) => codes.push(code) };
    new dataTables.TableClient(url, "people", credential, options);
    new dataTables.TableServiceClient(url, credential, options);
    new dataTables.TableServiceClient(url, new dataTables.AzureSASCredential("sv=1"), options);
    return codes;
  };

  test("with a warning for hosts other than localhost", () => {
    const twice = ["AccountKeyInPage", "AccountKeyInPage"];
    assert.deepEqual(warned("https://acct.table.core.windows.net"), twice);
    for (const url of [
      "http://127.0.0.1:10002/acct",
      "http://localhost:10002/acct",
      "http://[::1]:10002/acct",
      "http://acct.table.localhost",
    ]) {
      assert.deepEqual(warned(url), []);
    }
  });

  test("without a warning elsewhere", () => {
    assert.deepEqual(warned("https://acct.table.core.windows.net", false), []);
  });

  test("and sign requests there", () => {
    page.document = {};
    const credential = new dataTables.AzureNamedKeyCredential("acct", "a2V5");
    assert.match(dataTables.generateTableSas("people", credential), /sig=/);
    assert.match(dataTables.generateAccountSas(credential), /sig=/);
  });
});
