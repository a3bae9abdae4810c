// Tests the hints of errors: one case for each hint, and every way on which an error reaches a
// caller.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { get } from "node:http";
import { describe, type TestContext, test } from "node:test";
import "fake-indexeddb/auto";
import * as official from "@azure/data-tables";
import { transform } from "esbuild";
import { StoreError, type StoreErrorCode } from "../../web/src/errors.ts";
import { syntaxErrorHint, unsupportedFilterHint } from "../../web/src/hints/filter-errors.ts";
import * as header from "../../web/src/hints/hint-header.ts";
import { addHttpHint, type HttpResponseParts } from "../../web/src/hints/http-errors.ts";
import { serviceErrorHint } from "../../web/src/hints/service-errors.ts";
import { storeErrorHints } from "../../web/src/hints/store-errors.ts";
import { httpResponseFromError } from "../../web/src/rest/error-response.ts";
import { serve } from "../../web/src/server/serve.ts";
import { mockStore } from "../../web/src/testing/index.ts";
import type { Store, Table } from "../../web/src/types.ts";
import { dataTables } from "./support/data-tables.ts";
import { deleteStore, openStore } from "./support/package.ts";

interface Failure {
  code?: string;
  message: string;
  hint?: string;
}

async function failureOf(run: () => unknown): Promise<Failure> {
  try {
    await run();
  } catch (error) {
    return error as Failure;
  }
  throw new Error("The call has not failed.");
}

const root = new URL("../../", import.meta.url);
const key = { partitionKey: "p", rowKey: "r" };
// The compiler rejects what these cases write.
// biome-ignore lint/suspicious/noExplicitAny: see above
const row = (more: object): any => ({ ...key, rowKey: "new", ...more });
const numbered = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, value]));
const query = (table: Table, filter: string) =>
  table.listEntities({ queryOptions: { filter } }).next();
const noKeyCharacters =
  "A key has no / \\ # ? and no control characters; escapeKey() of entitable/keys encodes any text as a key.";
const nameRule = "A name begins with a letter or _, and has only letters, digits and _.";
const tableRule = "A name begins with a letter, and has only the letters A to Z and digits.";
const largeValues = "entitable/large-values stores larger values.";
const operatorExpected = "An operator (eq, ne, gt, ge, lt, le, and, or) or the end was expected";
const quotes = "Write a quote within a string twice: 'O''Brien'.";

// The table people has one entity, with the keys p and r.
const cases: readonly [
  what: string,
  code: string,
  run: (table: Table, store: Store) => unknown,
  hint: string,
][] = [
  // ---- Names ----
  [
    "a character in the name of a table",
    "InvalidResourceName",
    (_, store) => store.table("my-table").createTable(),
    `The table name "my-table" contains "-". ${tableRule}`,
  ],
  [
    "a table name that begins with a digit",
    "InvalidResourceName",
    (_, store) => store.serviceClient().createTable("1st"),
    `The table name "1st" begins with "1". ${tableRule}`,
  ],
  [
    "the length of the name of a table",
    "OutOfRangeInput",
    (_, store) => store.table("ab").createTable(),
    'The table name "ab" has 2 characters; it must have 3 to 63.',
  ],
  [
    "the reserved name of a table",
    "InvalidInput",
    (_, store) => store.table("tables").createTable(),
    'No table has the name "Tables".',
  ],
  [
    "a character in the name of a property",
    "PropertyNameInvalid",
    (table) => table.createEntity(row({ ok: 1, "first-name": 1 })),
    `The property name "first-name" contains "-". ${nameRule}`,
  ],
  [
    "a property name that begins with a digit",
    "PropertyNameInvalid",
    (table) => table.createEntity(row({ "2nd": 1 })),
    `The property name "2nd" begins with "2". ${nameRule}`,
  ],
  [
    "a blank in the name of a property, in a transaction",
    "PropertyNameInvalid",
    (table) =>
      table.submitTransaction([
        ["create", row({})],
        ["upsert", row({ rowKey: "2", "a b": 1 })],
      ]),
    `The property name "a b" contains a blank. ${nameRule}`,
  ],
  [
    "a long name of a property",
    "PropertyNameTooLong",
    (table) => table.createEntity(row({ ["n".repeat(256)]: 1 })),
    `The property name "${"n".repeat(60)}…" has 256 characters; at most 255 are possible.`,
  ],
  // ---- Keys ----
  [
    "a character in a key that is written",
    "OutOfRangeInput",
    (table) => table.createEntity(row({ rowKey: "a/b" })),
    `The rowKey "a/b" contains "/". ${noKeyCharacters}`,
  ],
  [
    "a character in a key that is read",
    "InvalidInput",
    (table) => table.getEntity("a\\b", "r"),
    `The partitionKey "a\\\\b" contains "\\\\". ${noKeyCharacters}`,
  ],
  [
    "a control character in a key",
    "OutOfRangeInput",
    (table) => table.getEntity("p", "a\nb"),
    `The rowKey "a\\nb" contains U+000A. ${noKeyCharacters}`,
  ],
  [
    "the length of a key",
    "PropertyValueTooLarge",
    (table) => table.createEntity(row({ rowKey: "k".repeat(513) })),
    "The rowKey has 513 characters; at most 512 are possible. Use a hash, or part of the text.",
  ],
  [
    "a key that is a number",
    "PrimaryKeyPropertyIsInvalidType",
    (table) => table.createEntity(row({ rowKey: 7 })),
    "The rowKey is 7 of type number. Keys are strings. paddedNumber() and timeKey() of entitable/keys make keys that sort as numbers and times do.",
  ],
  [
    "an absent key",
    "PropertiesNeedValue",
    (table) => table.createEntity(row({ rowKey: undefined })),
    "The entity has no rowKey. Give it one; it is a string, and may be empty.",
  ],
  [
    "a key in another spelling",
    "PropertiesNeedValue",
    (table) => table.createEntity(row({ rowKey: undefined, rowkey: "r" })),
    'The entity has "rowkey", and no rowKey. In an entity, write rowKey.',
  ],
  [
    "a key with the service's name",
    "DuplicatePropertiesSpecified",
    (table) => table.createEntity({ PartitionKey: "p", RowKey: "r" } as never),
    "The entity has PartitionKey. Write partitionKey in its place, the client's name of this key.",
  ],
  // ---- Values ----
  [
    "a long string",
    "PropertyValueTooLarge",
    (table) => table.createEntity(row({ text: "x".repeat(32_769) })),
    `The property text has 32769 characters; at most 32768 are possible. ${largeValues}`,
  ],
  [
    "long Binary",
    "PropertyValueTooLarge",
    (table) => table.createEntity(row({ bytes: new Uint8Array(65_537) })),
    `The property bytes has 65537 bytes; at most 65536 are possible. ${largeValues}`,
  ],
  [
    "a large entity",
    "EntityTooLarge",
    (table) =>
      table.createEntity(row({ ...numbered(17, "x".repeat(31_000)), top: "x".repeat(32_000) })),
    `An entity has at most 1 MiB. Its largest property is top. ${largeValues}`,
  ],
  [
    "many properties",
    "TooManyProperties",
    (table) => table.createEntity(row(numbered(253, 1))),
    "The entity would have more than 252 properties; this write has 253. Use several entities, or store several values as one JSON string.",
  ],
  [
    "a value that is not of its type",
    "InvalidInput",
    (table) => table.createEntity(row({ ok: 1, age: { type: "Int32", value: "abc" } })),
    'The property age has the value "abc", which is not a value of the type Int32.',
  ],
  [
    "a type that does not exist",
    "InvalidInput",
    (table) => table.createEntity(row({ age: { type: "Int", value: "1" } })),
    'The property age has the value "1" and the type "Int", which does not exist. The types are String, Binary, Boolean, DateTime, Double, Guid, Int32, Int64.',
  ],
  [
    "a date beyond the range of DateTime",
    "OutOfRangeInput",
    (table) => table.createEntity(row({ born: new Date("1500-01-01") })),
    'The property born ("1500-01-01T00:00:00.000Z") is outside the years 1601 to 9999. Store such a date as a string.',
  ],
  // ---- State ----
  [
    "a missing table, in a read",
    "TableNotFound",
    (_, store) => store.table("animals").getEntity("p", "r"),
    'The table "animals" does not exist in this store. Create it with createTable().',
  ],
  [
    "a missing table, in a list",
    "TableNotFound",
    (_, store) => store.table("animals").listEntities().next(),
    'The table "animals" does not exist in this store. Create it with createTable().',
  ],
  [
    "a missing table, in a write",
    "TableNotFound",
    (_, store) => store.table("animals").createEntity(key),
    'The table "animals" does not exist in this store. Create it with createTable().',
  ],
  [
    "a missing table, in a count",
    "TableNotFound",
    (_, store) => store.table("animals").count(),
    'The table "animals" does not exist in this store. Create it with createTable().',
  ],
  [
    "a missing table, in a list of partition keys",
    "TableNotFound",
    (_, store) => store.table("animals").partitionKeys().next(),
    'The table "animals" does not exist in this store. Create it with createTable().',
  ],
  [
    "a missing table, in a plan",
    "TableNotFound",
    (_, store) => store.table("animals").explain(),
    'The table "animals" does not exist in this store. Create it with createTable().',
  ],
  [
    "a missing entity, in a read",
    "ResourceNotFound",
    (table) => table.getEntity("p", "R"),
    'The table "people" has no entity with partitionKey "p" and rowKey "R". Keys are case-sensitive.',
  ],
  [
    "a missing entity, among reads in one turn",
    "ResourceNotFound",
    async (table) => {
      const reads = ["1", "2"].map((rowKey) => table.getEntity("p", rowKey));
      await Promise.allSettled(reads);
      await reads[1];
    },
    'The table "people" has no entity with partitionKey "p" and rowKey "2". Keys are case-sensitive.',
  ],
  [
    "a missing entity, in an update",
    "ResourceNotFound",
    (table) => table.updateEntity(row({ rowKey: "x" })),
    'The table "people" has no entity with partitionKey "p" and rowKey "x". upsertEntity() writes an entity whether or not it exists.',
  ],
  [
    "a missing entity, in a deletion",
    "ResourceNotFound",
    (table) => table.deleteEntity("p", "x"),
    'The table "people" has no entity with partitionKey "p" and rowKey "x". upsertEntity() writes an entity whether or not it exists.',
  ],
  [
    "an entity that exists",
    "EntityAlreadyExists",
    (table) => table.createEntity(key),
    'The table "people" already has an entity with partitionKey "p" and rowKey "r". upsertEntity() writes it whether or not it exists.',
  ],
  [
    "an entity that exists, in a transaction",
    "EntityAlreadyExists",
    (table) =>
      table.submitTransaction([
        ["create", row({})],
        ["create", key],
      ]),
    'The table "people" already has an entity with partitionKey "p" and rowKey "r". upsertEntity() writes it whether or not it exists.',
  ],
  [
    "an ETag that is out of date",
    "UpdateConditionNotSatisfied",
    (table) => table.updateEntity(key, "Merge", { etag: "W/\"datetime'2020-01-01'\"" }),
    "The entity has changed since this ETag was read. Read it again, repeat the change, and write with the new ETag.",
  ],
  [
    "an ETag that is none",
    "InvalidInput",
    (table) => table.deleteEntity("p", "r", { etag: "7" }),
    'Pass the etag that a read or a write returned, unchanged, or "*".',
  ],
  // ---- Transactions ----
  [
    "an entity that occurs twice in a transaction",
    "InvalidDuplicateRow",
    (table) =>
      table.submitTransaction([
        ["create", row({})],
        ["upsert", row({})],
      ]),
    'The entity with partitionKey "p" and rowKey "new" occurs twice. Put all its changes into one action.',
  ],
  [
    "a transaction of many actions",
    "InvalidInput",
    (table) =>
      table.submitTransaction(
        Array.from({ length: 101 }, (_, i) => ["create", row({ rowKey: `${i}` })] as never),
      ),
    "A transaction has at most 100 actions; this one has 101. Use several transactions, or bulk().",
  ],
  [
    "a large transaction",
    "RequestBodyTooLarge",
    (table) =>
      table.submitTransaction(
        Array.from({ length: 5 }, (_, i) => {
          const large = numbered(16, "x".repeat(32_000));
          return ["create", row({ rowKey: `${i}`, ...large })] as never;
        }),
      ),
    "A request has at most 4 MiB. Write fewer entities at once; bulk() does so.",
  ],
  // ---- Pages ----
  [
    "a large page",
    "InvalidInput",
    (table) => table.listEntities().byPage({ maxPageSize: 1001 }).next(),
    "maxPageSize is 1001. A page has at most 1000 entities.",
  ],
  [
    "a page size that the client rejects",
    "InvalidInput",
    (table) => table.listEntities().byPage({ maxPageSize: -1 }).next(),
    "maxPageSize is -1. A page has at most 1000 entities.",
  ],
  [
    "a continuation token of something else",
    "InvalidInput",
    (table) => table.listEntities().byPage({ continuationToken: "x" }).next(),
    "Pass a continuationToken of a page of the same list, unchanged.",
  ],
  [
    "a literal that no property has, in a list with a continuation token",
    "InvalidInput",
    (table) => {
      const list = table.listEntities({ queryOptions: { filter: "price lt 10M" } });
      return list.byPage({ continuationToken: "1!4!cA--!4!cg--" }).next();
    },
    "No property has the type of 10M. Use Double (1.5), Int64 (1L) or datetime'…'.",
  ],
  [
    "a continuation token of tables",
    "InvalidInput",
    (_, store) => store.serviceClient().listTables().byPage({ continuationToken: "1!9!x" }).next(),
    "Pass a continuationToken of a page of the same list, unchanged.",
  ],
  // ---- Filters ----
  [
    "a missing operand",
    "InvalidInput",
    (table) => query(table, "age eq"),
    "A property, a value or ( was expected at the end, after eq.",
  ],
  [
    "a missing operand in the filter of a count",
    "InvalidInput",
    (table) => table.count({ queryOptions: { filter: "age eq" } }),
    "A property, a value or ( was expected at the end, after eq.",
  ],
  [
    "a missing )",
    "InvalidInput",
    (table) => query(table, "(age eq 1"),
    "A ) was expected at the end.",
  ],
  [
    "a missing blank",
    "InvalidInput",
    (table) => query(table, "age eq 31and name eq 'x'"),
    "A blank was expected between 31 and and.",
  ],
  [
    "a date without a type",
    "InvalidInput",
    (table) => query(table, "born gt 2020-01-31"),
    "A blank was expected between 2020 and -01. Write a date as datetime'2020-01-31T00:00:00Z'.",
  ],
  [
    "an operator of JavaScript",
    "InvalidInput",
    (table) => query(table, "age === 31"),
    `${operatorExpected} after age, not =. Write eq for ===.`,
  ],
  [
    "an operator in capitals",
    "InvalidInput",
    (table) => query(table, "age gt 31 AND age lt 50"),
    `${operatorExpected} after 31, not AND. Write and in lower case.`,
  ],
  [
    "two comparisons without a conjunction",
    "InvalidInput",
    (table) => query(table, "1 lt age lt 5"),
    `${operatorExpected} after age, not lt. Join comparisons with and.`,
  ],
  [
    "an operator in place of a property",
    "InvalidInput",
    (table) => query(table, "age eq and name eq 'x'"),
    `${operatorExpected} after and, not name. Here, and is taken as the name of a property.`,
  ],
  [
    "double quotes",
    "InvalidInput",
    (table) => query(table, 'name eq "Jones"'),
    "A property, a value or ( was expected after eq, not \". Write a string in single quotes: 'text'.",
  ],
  [
    "a string without quotes",
    "NotImplemented",
    (table) => query(table, "name eq Jones"),
    "Jones is taken as the name of a property. A string is in quotes: name eq 'Jones'.",
  ],
  [
    "two words without quotes",
    "InvalidInput",
    (table) => query(table, "name eq John Smith"),
    `${operatorExpected} after John, not Smith. Write a string in quotes: 'John Smith'.`,
  ],
  [
    "a quote within a string",
    "InvalidInput",
    (table) => query(table, "name eq 'O'Brien'"),
    `A blank was expected between 'O' and Brien. ${quotes}`,
  ],
  [
    "a string that is not closed",
    "InvalidInput",
    (table) => query(table, "name eq 'Jones"),
    `The string 'Jones is not closed. ${quotes}`,
  ],
  [
    "the prefix of a literal in capitals",
    "InvalidInput",
    (table) => query(table, "id eq Guid'x'"),
    "A blank was expected between Guid and 'x'. Write guid in lower case.",
  ],
  [
    "a filter that is encoded for a URL",
    "InvalidInput",
    (table) => query(table, "age%20eq%2031"),
    `${operatorExpected} after age, not %. Give the filter as it is, not encoded for a URL.`,
  ],
  [
    "a long string without quotes",
    "NotImplemented",
    (table) => query(table, `name eq ${"x".repeat(20_000)}`),
    `${"x".repeat(60)}… is taken as the name of a property. A string is in quotes: name eq '${"x".repeat(60)}…'.`,
  ],
  [
    "two long words without quotes",
    "InvalidInput",
    (table) => query(table, `name eq John ${"x".repeat(1000)}`),
    `${operatorExpected} after John, not ${"x".repeat(60)}…. Write a string in quotes: 'John ${"x".repeat(55)}…'.`,
  ],
  [
    "startswith with a long prefix",
    "NotImplemented",
    (table) => query(table, `startswith(RowKey, '${"x".repeat(1000)}')`),
    "A filter has no functions, such as startswith. Use a range, which prefixRange() of entitable/keys computes.",
  ],
  [
    "True",
    "NotImplemented",
    (table) => query(table, "active eq True"),
    "True is taken as the name of a property. Write it exactly so: active eq true.",
  ],
  [
    "startswith",
    "NotImplemented",
    (table) => query(table, "startswith(RowKey, 'empid_')"),
    "A filter has no functions, such as startswith. Use a range: RowKey ge 'empid_' and RowKey lt 'empid`'. prefixRange(\"empid_\") of entitable/keys computes it.",
  ],
  [
    "another function",
    "NotImplemented",
    (table) => query(table, "not endswith(name, 'x')"),
    "A filter has no functions, such as endswith. Select the rows in your code, or store what you search for as a property.",
  ],
  [
    "not without parentheses",
    "NotImplemented",
    (table) => query(table, "not name eq 'x'"),
    "Write not before parentheses: not (name eq 'x').",
  ],
  [
    "arithmetic",
    "NotImplemented",
    (table) => query(table, "age add 1 eq 31"),
    "A filter cannot compute. Compute the value in your code, and compare with the result.",
  ],
  [
    "a comparison of constants",
    "NotImplemented",
    (table) => query(table, "1 eq 1"),
    "A filter can only compare properties with values, and join comparisons with and, or and not ().",
  ],
  [
    "a large whole number",
    "InvalidInput",
    (table) => query(table, "n eq 5454161346626"),
    "5454161346626 is not a valid literal. Write a whole number beyond 32 bits with the suffix L, and beyond 64 bits with .0.",
  ],
  [
    "a DateTime in another form",
    "InvalidInput",
    (table) => query(table, "t gt datetime'10 July 2008'"),
    "datetime'10 July 2008' is not a valid literal. Write a DateTime as datetime'2008-07-10T00:00:00Z', in the years 1601 to 9999.",
  ],
  [
    "null",
    "InvalidInput",
    (table) => query(table, "name eq null"),
    "No property has the value null: such properties are not stored. A comparison is false where the property is missing, so not (name ge '') selects the rows without the string name.",
  ],
  [
    "a literal of a type that no property has",
    "InvalidInput",
    (table) => query(table, "price lt 10M"),
    "No property has the type of 10M. Use Double (1.5), Int64 (1L) or datetime'…'.",
  ],
  [
    "a long filter",
    "InvalidInput",
    (table) => query(table, `name eq '${"x".repeat(65_536)}'`),
    "A filter has at most 65,536 bytes, and at most 500 nested parentheses. Use several queries.",
  ],
  [
    "a filter of tables",
    "InvalidInput",
    (_, store) =>
      store
        .serviceClient()
        .listTables({ queryOptions: { filter: "Name eq 'x'" } })
        .next(),
    "A filter of tables compares only TableName.",
  ],
];

async function openPeople(): Promise<Store> {
  const store = await openStore({ name: `hints-${++stores}` });
  await store.table("people").createTable();
  await store.table("people").createEntity(key);
  return store;
}
let stores = 0;

async function closeAndDelete(store: Store): Promise<void> {
  await store.close();
  await deleteStore(store.name);
}

describe("the hint of an error of the service names the cause and the way out", async () => {
  const store = await openPeople();
  for (const [what, code, run, hint] of cases) {
    test(what, async () => {
      const error = await failureOf(() => run(store.table("people"), store));
      assert.deepEqual([error.code, error.hint], [code, hint]);
    });
  }
  test("all of them", () => closeAndDelete(store));
});

describe("the tables of hints", () => {
  const source = readFileSync(new URL("core/model/service_error.cc", root), "utf8");
  const codes = [...source.matchAll(/\{\d{3}, "(\w+)"/g)].map(([, code]) => code as string);

  test("have a hint for each code of the service", () => {
    assert(codes.length > 50);
    for (const code of codes) {
      const hint = serviceErrorHint({ code, message: "" }, {});
      assert.match(hint ?? "", /^[A-Z].*[.)]$/s, code);
      assert.doesNotMatch(hint ?? "", /undefined|\[object/, code);
    }
    assert.equal(serviceErrorHint({ code: "toString", message: "" }, {}), undefined);
  });

  test("have a hint for each code of StoreError, which a place can replace", () => {
    for (const [code, hint] of Object.entries(storeErrorHints)) {
      assert.match(hint, /^[A-Z].*\.$/, code);
      assert.equal(new StoreError(code as StoreErrorCode, "x").hint, hint);
    }
    assert.equal(new StoreError("QuotaExceeded", "x", { hint: "Delete." }).hint, "Delete.");
  });

  test("do without an entity that cannot be read", () => {
    const entity = {
      get broken() {
        throw new Error("unreadable");
      },
    };
    const operations = [{ kind: "insert", ...key, entity }];
    const hint = serviceErrorHint({ code: "PropertyValueTooLarge", message: "" }, { operations });
    assert.equal(hint, "Compare the request with the limits of the service.");
  });
});

// Uses the cases of the parser, so that no error of it is forgotten.
describe("for each filter that the parser's cases reject", () => {
  const folder = new URL("tests/testdata/filter/", root);
  const texts = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), "utf8"));

  test("a syntax error has what was expected", () => {
    let count = 0;
    for (const text of texts) {
      for (const [, position, filter = ""] of text.matchAll(
        /^=> InvalidInput: Syntax error at position (\d+) in '(.*)'\.$/gm,
      )) {
        const hint = syntaxErrorHint(filter, Number(position));
        assert.match(hint, /was expected|is not closed/, filter);
        assert.doesNotMatch(hint, /undefined/, filter);
        count += 1;
      }
    }
    assert(count > 150, `${count}`);
  });

  test("an unsupported part has what to write instead", () => {
    let count = 0;
    for (const text of texts) {
      for (const [, filter = ""] of text.matchAll(/^(.+)\n=> NotImplemented/gm)) {
        assert.match(unsupportedFilterHint(filter), /^\S.*\.$/, filter);
        count += 1;
      }
    }
    assert(count > 50, `${count}`);
  });
});

const missing =
  'The table "people" has no entity with partitionKey "p" and rowKey "x". Keys are case-sensitive.';
const exists =
  'The table "people" already has an entity with partitionKey "p" and rowKey "r". upsertEntity() writes it whether or not it exists.';
const noTable = 'The table "animals" does not exist in this store. Create it with createTable().';

describe("a hint reaches", () => {
  test("a tab that sends its calls to the tab that owns the store", async () => {
    const store = await openPeople();
    const follower = await openStore({ name: store.name });
    assert.equal(follower.status.owner, "other-tab");
    const table = follower.table("people");
    assert.equal((await failureOf(() => table.getEntity("p", "x"))).hint, missing);
    assert.equal((await failureOf(() => table.createEntity(key))).hint, exists);
    await follower.close();
    await closeAndDelete(store);
  });

  test("the user of a mock store, also for simulated errors", async () => {
    await using store = await mockStore({ fixtures: { people: [key] } });
    const table = store.table("people");
    assert.equal((await failureOf(() => table.getEntity("p", "x"))).hint, missing);
    store.faults.add({ on: "*", times: 1, network: "reset" });
    const reset = await failureOf(() => table.getEntity("p", "r"));
    assert.match(reset.hint ?? "", /fault rule/);
  });

  test("the user of a mock store, and says that an error of the service is simulated", async () => {
    const entity = { people: [key] };
    await using store = await mockStore({ fixtures: entity, name: "devstoreaccount1" });
    const url = `${store.name}.table.core.windows.net`;
    const table = store.table("people");
    const dropIn = new dataTables.TableClient(`https://${url}`, "people", { store });
    const get = async () => {
      const request = `https://${url}/people(PartitionKey='p',RowKey='r')`;
      const headers = { accept: "application/json", "x-ms-version": "2019-02-02" };
      const response = await store.fetch(request, { headers });
      throw { message: "", hint: response.headers.get("x-entitable-hint") };
    };
    const calls = [() => table.getEntity("p", "r"), () => dropIn.getEntity("p", "r"), get];
    for (const code of ["ServerBusy", "ResourceNotFound", "OwnCode"]) {
      for (const call of calls) {
        store.faults.add({ on: "*", times: 1, respond: { code, status: 404 } });
        assert.equal(
          (await failureOf(call)).hint,
          "A fault rule simulates this error. Repeat the call as for a real failure, or remove the fault rule.",
        );
      }
    }
  });

  test("the user of a mock store that simulates the service's limits", async () => {
    const limits = { throttle: { partitionOpsPerSecond: 1 }, tableDeletionMs: 1000 };
    await using store = await mockStore({ fixtures: { people: [key], animals: [] }, ...limits });
    const table = store.table("people");
    await table.getEntity("p", "r");
    const simulated = (option: string) =>
      `The option ${option} simulates this error. Repeat the call after a while.`;
    const busy = await failureOf(() => table.getEntity("p", "r"));
    assert.deepEqual([busy.code, busy.hint], ["ServerBusy", simulated("throttle")]);
    const animals = store.table("animals");
    await animals.deleteTable();
    const deleted = await failureOf(() => animals.createTable());
    assert.deepEqual(
      [deleted.code, deleted.hint],
      ["TableBeingDeleted", simulated("tableDeletionMs")],
    );
  });

  test("the caller who passes options in place of the update mode", async () => {
    const store = await openPeople();
    const table = store.table("people");
    const options = { etag: "*" } as never;
    for (const call of [
      () => table.updateEntity(key, options),
      () => table.upsertEntity(key, options),
      () => table.submitTransaction([["update", key, options]]),
    ]) {
      const error = await failureOf(call);
      assert.equal(error.message, "Unexpected value for update mode: [object Object]");
      assert.equal(
        error.hint,
        'The mode is "Merge" or "Replace"; options follow it: (entity, "Merge", { etag }).',
      );
    }
    await closeAndDelete(store);
  });

  test("the caller of the drop-in client who writes the update mode in lower case", async () => {
    const store = await openPeople();
    const url = "https://acct.table.core.windows.net";
    const table = new dataTables.TableClient(url, "people", { store });
    const error = await failureOf(() => table.updateEntity(key, "replace" as never));
    assert.equal(error.message, "Unexpected value for update mode: replace");
    assert.match(error.hint ?? "", /^The mode is "Merge" or "Replace"/);
    await closeAndDelete(store);
  });

  test("the caller who passes select as a text", async () => {
    const store = await openPeople();
    const url = "https://acct.table.core.windows.net";
    const options = { queryOptions: { select: "stock" } as never };
    const table = store.table("people");
    const client = store.tableClient("people");
    const dropIn = new dataTables.TableClient(url, "people", { store });
    for (const call of [
      () => table.listEntities(options).next(),
      () => table.getEntity("p", "r", options),
      () => client.listEntities(options).next(),
      () => client.getEntity("p", "r", options),
      () => dropIn.listEntities(options).next(),
      () => dropIn.getEntity("p", "r", options),
    ]) {
      const { message, hint } = await failureOf(call);
      assert.equal(message, "queryOptions.select must be a list of names.");
      assert.equal(hint, 'For example: select: ["name"].');
    }
    await closeAndDelete(store);
  });

  test("the caller who writes the service's names of the keys", async () => {
    const partition = "The entity has PartitionKey. Write partitionKey in its place.";
    const row = "The entity has RowKey. Write rowKey in its place.";
    const upper = { PartitionKey: "p", RowKey: "r" } as never;
    const mixed = { partitionKey: "p", RowKey: "r" } as never;
    const fixture = await failureOf(() => mockStore({ fixtures: { people: [key, upper] } }));
    assert.deepEqual(
      [fixture.message, fixture.hint],
      ["Fixture people[1]: The entity's partitionKey cannot be undefined or null.", partition],
    );
    const store = await openPeople();
    const url = "https://acct.table.core.windows.net";
    for (const table of [
      store.table("people"),
      new dataTables.TableClient(url, "people", { store }),
    ]) {
      for (const call of [
        () => table.updateEntity(mixed),
        () => table.upsertEntity(mixed),
        () => table.submitTransaction([["upsert", mixed]]),
        () => table.submitTransaction([["update", mixed]]),
        () => table.submitTransaction([["delete", mixed]]),
      ])
        assert.equal((await failureOf(call)).hint, row);
      const none = await failureOf(() => table.upsertEntity({ partitionKey: "p" } as never));
      assert.equal(none.hint, undefined);
    }
    await closeAndDelete(store);
  });

  test("the caller of bulk(), from the action that failed", async () => {
    const store = await openPeople();
    const table = store.table("people");
    const failed = await failureOf(() => table.bulk([["create", key]]));
    assert.equal(failed.hint, exists);
    const aborted = await failureOf(() => table.bulk([], { signal: AbortSignal.abort() }));
    assert.match(aborted.hint ?? "", /result lists/);
    await closeAndDelete(store);
  });

  test("the drop-in client, also for its calls over REST", async () => {
    const store = await openPeople();
    const url = "https://acct.table.core.windows.net";
    const table = new dataTables.TableClient(url, "people", { store });
    assert.equal((await failureOf(() => table.getEntity("p", "x"))).hint, missing);
    const transaction = () => table.submitTransaction([["create", key]]);
    assert.equal((await failureOf(transaction)).hint, exists);
    const animals = new dataTables.TableClient(url, "animals", { store });
    assert.equal((await failureOf(() => animals.getAccessPolicy())).hint, noTable);
    const secondary = "https://acct-secondary.table.core.windows.net";
    const readOnly = new dataTables.TableClient(secondary, "people", { store });
    assert.match((await failureOf(() => readOnly.createEntity(key))).hint ?? "", /primary/);
    await closeAndDelete(store);
  });

  test("the official client, in a header", async () => {
    await using store = await mockStore({ fixtures: { people: [key] }, onWarning() {} });
    const options = { httpClient: store.httpClient, allowInsecureConnection: true };
    const connection = "UseDevelopmentStorage=true";
    const table = official.TableClient.fromConnectionString(connection, "people", options);
    const hintOf = async (run: () => unknown) => {
      const { response } = (await failureOf(run)) as unknown as official.RestError;
      return response?.headers.get("x-entitable-hint");
    };
    assert.equal(await hintOf(() => table.getEntity("p", "x")), missing);
    assert.equal(await hintOf(() => table.createEntity(key)), exists);
    assert.equal(await hintOf(() => table.submitTransaction([["create", key]])), exists);
    const filter = "startswith(RowKey,'é')";
    const list = () => table.listEntities({ queryOptions: { filter } }).next();
    assert.match((await hintOf(list)) ?? "", /RowKey ge '\\u00e9'/);
  });

  test("any client of the server", async () => {
    await using store = await mockStore({ fixtures: { people: [key] } });
    await using server = await serve(store, { port: 0 });
    const url = `${server.url}/devstoreaccount1/people(PartitionKey='p',RowKey='x')`;
    const response = await fetch(url, { headers: { Accept: "application/json" } });
    assert.equal(response.headers.get("x-entitable-hint"), missing);
    assert.equal(JSON.parse(await response.text())["odata.error"].code, "ResourceNotFound");
    await store.close();
    const closed = await fetch(url);
    assert.equal(closed.status, 503);
    assert.match(closed.headers.get("x-entitable-hint") ?? "", /Open the store/);
  });

  test("a client of an account that is not served; only the warning names those that are", async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: { message: string }) => void warnings.push(message);
    const hintsOf = async (store: Pick<Store, "fetch">, url: string) => {
      const response = await store.fetch(url, { headers: { Accept: "application/json" } });
      assert.equal(response.status, 403);
      const warning = warnings.splice(0)[0]?.replace(/^.* AuthenticationFailed\. /, "");
      return [response.headers.get("x-entitable-hint"), warning];
    };
    await using store = await mockStore({ onWarning });
    const change = 'Change the client\'s URL, or open a store with account: { name: "shop" }.';
    const header = `The URL names the account "shop", which is not served. ${change}`;
    const one = `The URL names the account "shop", and the served account is "devstoreaccount1". ${change}`;
    const byHost = "https://shop.table.core.windows.net/people";
    assert.deepEqual(await hintsOf(store, byHost), [header, one]);
    const byPath = "http://127.0.0.1:10002/shop-secondary/animals";
    assert.deepEqual(await hintsOf(store, byPath), [header, one]);
    await using first = await mockStore({ account: { name: "one" }, onWarning });
    await using server = await serve({ one: first, devstoreaccount1: store }, { port: 0 });
    assert.deepEqual(await hintsOf({ fetch }, `${server.url}/shop/people`), [
      header,
      `The URL names the account "shop", and the served accounts are "one", "devstoreaccount1". ${change}`,
    ]);
    const silent = { onWarning() {} };
    await using locked = await mockStore({ account: { authorize: true }, ...silent });
    for (const url of [
      "http://127.0.0.1:10002/devstoreaccount1/people",
      "http://127.0.0.1:10002/DevStoreAccount1-secondary/people",
      "https://devstoreaccount1.table.core.windows.net/people",
      "http://devstoreaccount1.lan/people",
    ]) {
      const key = "Check the account's name and key, and this machine's clock.";
      assert.equal((await hintsOf(locked, url))[0], key, url);
    }
  });

  test("a client of an account whose store was opened for another one", async () => {
    await using store = await mockStore({ onWarning() {} });
    await using server = await serve({ shop: store }, { port: 0 });
    const response = await fetch(`${server.url}/shop/people`);
    assert.equal(
      response.headers.get("x-entitable-hint"),
      'The store that is served as "shop" has another account\'s name. Open it with account: { name: "shop" }.',
    );
  });

  test("no response to a request that cannot be interpreted", async () => {
    await using store = await mockStore({ fixtures: { people: [key] } });
    const headers = { Accept: "application/json", "Content-Type": "multipart/mixed; boundary=b" };
    for (const line of ["POST http://[/t HTTP/1.1", "POST // HTTP/1.1"]) {
      const body = `--b\r\nContent-Type: application/http\r\n\r\n${line}\r\n\r\n{}\r\n--b--\r\n`;
      const url = "http://127.0.0.1:10002/devstoreaccount1/$batch";
      const response = await store.fetch(url, { method: "POST", headers, body });
      assert.equal(response.status, 400, line);
    }
    await using server = await serve(store, { port: 0 });
    const status = await new Promise((resolve, reject) => {
      const options = { headers: { Host: "127.0.0.1:99999", "x-ms-version": "2019-02-02" } };
      get(`${server.url}/devstoreaccount1/missing()`, options, ({ statusCode }) =>
        resolve(statusCode),
      ).on("error", reject);
    });
    assert.equal(status, 404);
  });

  test("a page of another origin, if the CORS rule exposes all headers", async () => {
    const exposed = async (names: string) => {
      await using store = await mockStore({ fixtures: { people: [key] } });
      const url = "http://127.0.0.1:10002/devstoreaccount1/";
      const rule = `<CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods><AllowedHeaders>*</AllowedHeaders><ExposedHeaders>${names}</ExposedHeaders><MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule>`;
      const body = `<StorageServiceProperties><Cors>${rule}</Cors></StorageServiceProperties>`;
      const properties = `${url}?restype=service&comp=properties`;
      assert.equal((await store.fetch(properties, { method: "PUT", body })).status, 202);
      const headers = { Accept: "application/json", Origin: "http://shop.example" };
      const response = await store.fetch(`${url}people(PartitionKey='p',RowKey='x')`, { headers });
      assert.equal(response.headers.get("x-entitable-hint"), missing);
      return response.headers.get("access-control-expose-headers") ?? "";
    };
    assert.match(await exposed("*"), /,x-entitable-hint$/);
    assert.equal(await exposed("x-ms-version"), "x-ms-version");
  });

  test("no response that is not an error", async () => {
    await using store = await mockStore({ fixtures: { people: [key] } });
    const url = "http://127.0.0.1:10002/devstoreaccount1/people";
    const accept = { Accept: "application/json" };
    const response = await store.fetch(url, { headers: accept });
    assert.deepEqual([response.status, response.headers.get("x-entitable-hint")], [200, null]);
  });
});

describe("the hint for an HTTP request", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const hintOf = async (method: string, path: string, request: object, response: string) => {
    const url = `http://127.0.0.1:10002/devstoreaccount1/${path}`;
    const exchange = { method, url, body: bytes(JSON.stringify(request)) };
    const given: HttpResponseParts = { headers: [], body: bytes(response) };
    const { headers } = await addHttpHint(given, exchange, header);
    return headers.map(([name, value]) => `${name}: ${value}`).join();
  };
  const json = (code: string) =>
    JSON.stringify({ "odata.error": { code, message: { lang: "en-US", value: "m" } } });

  test("knows the names in its URL and in its body", async () => {
    const url = "people(PartitionKey='p',RowKey='O''Brien%2F1')";
    const missing = await hintOf("GET", url, {}, json("ResourceNotFound"));
    assert.match(missing, /"people" has no entity with partitionKey "p" and rowKey "O'Brien\/1"/);
    const table = { TableName: "a_b" };
    assert.match(
      await hintOf("POST", "Tables", table, json("InvalidResourceName")),
      /contains "_"/,
    );
    const dropped = await hintOf("DELETE", "Tables('people')", {}, json("ResourceNotFound"));
    assert.equal(dropped, 'x-entitable-hint: The table "people" does not exist.');
    const entity = { PartitionKey: "p", RowKey: "r", n: "x", "n@odata.type": "Edm.Int64" };
    assert.match(
      await hintOf("POST", "people", entity, json("InvalidInput")),
      /property n .* Int64/,
    );
  });

  test("uses the service's names of what a body lacks", async () => {
    const without = async (path: string, request: object) =>
      (await hintOf("POST", path, request, json("PropertiesNeedValue"))).replace(/^.*?: /, "");
    assert.equal(
      await without("people", { partitionKey: "p", rowKey: "r" }),
      'The body has "partitionKey", and no PartitionKey. In a REST body, write PartitionKey.',
    );
    assert.equal(
      await without("people", { PartitionKey: "p", rowkey: "r" }),
      'The entity has "rowkey", and no rowKey. In an entity, write rowKey (in a REST body: RowKey).',
    );
    assert.equal(
      await without("people", { PartitionKey: "p" }),
      "The entity has no rowKey (in a REST body: RowKey). Give it one; it is a string, and may be empty.",
    );
    assert.equal(
      await without("Tables", {}),
      "Give the table's name as TableName in the request's body. It is a string.",
    );
  });

  test("names $top", async () => {
    const withTop = (top: string) =>
      hintOf("GET", `people()?$top=${top}`, {}, json("InvalidInput"));
    assert.match(await withTop("abc"), /: \$top is "abc", which is not a whole number\.$/);
    assert.match(
      await withTop("1001"),
      /: \$top \(maxPageSize\) is 1001\. A page has at most 1000 /,
    );
  });

  test("has at most 1024 characters, and no part of an escape sequence", () => {
    for (let blanks = 0; blanks < 7; ++blanks) {
      const hint = " ".repeat(blanks) + "é".repeat(300);
      const { headers } = httpResponseFromError(Object.assign(new Error("m"), { hint }));
      const value = headers.find(([name]) => name === "x-entitable-hint")?.[1] ?? "";
      assert(value.length > 1015 && value.length <= 1024);
      assert.match(value, /^ *(?:\\u00e9)+$/);
    }
  });

  test("is absent if the error that replaced the response has none that is a text", () => {
    const { headers, status } = httpResponseFromError({ message: "m", hint: 7 });
    assert.deepEqual([status, headers.some(([name]) => name === "x-entitable-hint")], [500, false]);
  });

  test("is absent if the response is not an error of the service", async () => {
    for (const body of ["", "<a/>", '{"odata.error":1}', json("Unknown")])
      assert.equal(await hintOf("GET", "people", {}, body), "");
  });
});

describe("the file of the texts", () => {
  const file = new URL("web/src/hints/add-hint.ts", root);

  // Returns the module with another way to load the texts.
  async function loadedBy(
    t: TestContext,
    load: () => Promise<unknown>,
  ): Promise<typeof import("../../web/src/hints/add-hint.ts")> {
    const name = `loadTexts${++modules}`;
    Object.assign(globalThis, { [name]: load });
    t.after(() => Reflect.deleteProperty(globalThis, name));
    const { code } = await transform(readFileSync(file, "utf8"), { loader: "ts" });
    assert(code.includes('import("./texts.ts")'));
    const replaced = code
      .replace('import("./texts.ts")', `globalThis.${name}()`)
      .replaceAll('"./', `"${new URL("./", file).href}`);
    return await import(`data:text/javascript,${encodeURIComponent(replaced)}`);
  }
  let modules = 0;
  const error = () => Object.assign(new Error("m"), { name: "RestError", code: "ServerBusy" });

  test("is requested once, if it cannot be loaded", async (t) => {
    let loads = 0;
    const { rejectWithHint } = await loadedBy(t, async () => {
      loads += 1;
      throw new Error("offline");
    });
    for (let i = 0; i < 3; ++i) await assert.rejects(rejectWithHint(error(), {}), { message: "m" });
    assert.equal(loads, 1);
  });

  test("delays errors by about a second, once, and is used when it is there", {
    timeout: 20_000,
  }, async (t) => {
    let respond: (texts: unknown) => void = () => {};
    const { rejectWithHint } = await loadedBy(
      t,
      () => new Promise((resolve) => (respond = resolve)),
    );
    const withoutHint = (failure: Failure) => failure.hint === undefined;
    await assert.rejects(rejectWithHint(error(), {}), withoutHint);
    const start = performance.now();
    await assert.rejects(rejectWithHint(error(), {}), withoutHint);
    assert(performance.now() - start < 500);
    respond(await import("../../web/src/hints/texts.ts"));
    await new Promise(setImmediate);
    await assert.rejects(rejectWithHint(error(), {}), { hint: "Repeat the call after a while." });
  });

  test("is not needed for what a resolver throws", async (t) => {
    const { withHint } = await loadedBy(t, () => assert.fail());
    for (const thrown of [undefined, null, 7]) {
      const call = async () => {
        throw thrown;
      };
      assert.deepEqual(await Promise.allSettled([withHint(call, () => ({}))]), [
        { status: "rejected", reason: thrown },
      ]);
    }
  });
});

describe("deleteStore, while the store is open", () => {
  test("in this tab, says so", async () => {
    const store = await openPeople();
    const error = await failureOf(() => deleteStore(store.name));
    assert.equal(error.code, "StoreLocked");
    assert.equal(error.message, `The store "${store.name}" is open in this tab.`);
    assert.match(error.hint ?? "", /Close the store/);
    await closeAndDelete(store);
  });

  test("in another tab, does not claim it", async () => {
    const name = "open-elsewhere";
    const elsewhere = new AbortController();
    const held = new Promise<void>((resolve) => {
      elsewhere.signal.addEventListener("abort", () => resolve());
    });
    const holding = navigator.locks.request(`entitable/${name}`, () => held);
    const error = await failureOf(() => deleteStore(name));
    assert.match(error.message, /open in another tab/);
    elsewhere.abort();
    await holding;
  });
});
