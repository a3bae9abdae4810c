// Tests entities in the JSON of the service: every type, from and to it.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { keyOf } from "../../../web/src/sync/keys.ts";
import type { Value } from "../../../web/src/sync/value.ts";
import {
  entityJson,
  type JsonEntity,
  parseTypedJson,
  rowOf,
} from "../../../web/src/sync-remote/entity-json.ts";

const etag = "W/\"datetime'2020-07-24T14%3A34%3A48.4767Z'\"";
const timestamp = 15_956_012_884_767_000n;
const system = `"odata.etag":${JSON.stringify(etag)},"PartitionKey":"p","RowKey":"r"`;

const read = (members: string) =>
  rowOf(parseTypedJson(`{${system},${members}}`) as JsonEntity, false)?.row.properties;

const property = (members: string): Value | undefined => read(members)?.get("x");

const values: readonly (readonly [json: string, Value])[] = [
  ['"x":3', { type: "Int32", value: 3 }],
  ['"x":-2147483648', { type: "Int32", value: -2147483648 }],
  ['"x":2147483648', { type: "Double", value: 2147483648 }],
  ['"x":3.0', { type: "Double", value: 3 }],
  ['"x" : -3.50 ', { type: "Double", value: -3.5 }],
  ['"x":-0.0', { type: "Double", value: -0 }],
  ['"x":2147483646.99999995', { type: "Double", value: 2147483647 }],
  ['"x":-2147483647.0000001', { type: "Double", value: -2147483647 }],
  ['"x":4503599627370496.3', { type: "Double", value: 4503599627370496 }],
  ['"x":0.9999999999999999999', { type: "Double", value: 1 }],
  ['"x":1e3', { type: "Double", value: 1000 }],
  ['"x":1.5E+300', { type: "Double", value: 1.5e300 }],
  ['"x@odata.type":"Edm.Double","x":3', { type: "Double", value: 3 }],
  ['"x@odata.type":"Edm.Double","x":3.0', { type: "Double", value: 3 }],
  ['"x@odata.type":"Edm.Double","x":"NaN"', { type: "Double", value: Number.NaN }],
  ['"x@odata.type":"Edm.Double","x":"-Infinity"', { type: "Double", value: -Infinity }],
  [
    '"x":"9223372036854775807","x@odata.type":"Edm.Int64"',
    { type: "Int64", value: "9223372036854775807" },
  ],
  ['"x":true', { type: "Boolean", value: true }],
  ['"x":false', { type: "Boolean", value: false }],
  [
    '"x@odata.type":"Edm.Guid","x":"c9da6455-213d-42c9-9a79-3e9149a57833"',
    { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" },
  ],
  [
    '"x@odata.type":"Edm.DateTime","x":"1601-01-01T00:00:00Z"',
    { type: "DateTime", value: "1601-01-01T00:00:00Z" },
  ],
  ['"x@odata.type":"Edm.Binary","x":"AAEC"', { type: "Binary", value: "AAEC" }],
  ['"x":""', { type: "String", value: "" }],
  [String.raw`"x":"a\":3.0,\"b\\"`, { type: "String", value: 'a":3.0,"b\\' }],
  ['"x":":3.0,"', { type: "String", value: ":3.0," }],
  ['"x" : " : -1.5e3 }"', { type: "String", value: " : -1.5e3 }" }],
  [String.raw`"x":"\ud800\u0000"`, { type: "String", value: "\ud800\0" }],
];

describe("reading an entity", () => {
  for (const [json, value] of values) {
    test(json, () => assert.deepEqual(property(`"w":1.0,${json},"y":2.0`), value));
  }

  test("keeps names that the client's entities cannot have", () => {
    const names = ["partitionKey", "rowKey", "etag", "timestamp", "__proto__", "constructor"];
    const properties = read(names.map((name) => `"${name}":1`).join(","));
    assert.deepEqual([...(properties?.keys() ?? [])], names);
  });

  test("leaves out null, and what the service adds", () => {
    assert.deepEqual(read('"odata.id":"a","odata.metadata":"b","x":null'), new Map());
  });

  test("has the Timestamp, or that of the ETag in a scan of keys", () => {
    const later = '"Timestamp":"2020-07-24T14:34:48.4767001Z"';
    const whole = rowOf(parseTypedJson(`{${system},${later}}`) as JsonEntity, false);
    assert.equal(whole?.row.timestamp, timestamp + 1n);
    const scanned = rowOf(parseTypedJson(`{${system}}`) as JsonEntity, true);
    assert.deepEqual(scanned, { key: "p\0r", row: { properties: new Map(), etag, timestamp } });
  });

  test("has the Timestamp of an ETag, however its colons are written", () => {
    for (const colon of ["%3A", "%3a", ":"]) {
      const text = system.replaceAll("%3A", colon);
      const scanned = rowOf(parseTypedJson(`{${text}}`) as JsonEntity, true);
      assert.equal(scanned?.row.timestamp, timestamp);
    }
  });

  test("fails without keys, ETag or Timestamp, and with values that no entity has", () => {
    const other = (from: string, to: string) =>
      rowOf(parseTypedJson(`{${system.replace(from, to)}}`) as JsonEntity, true);
    assert.equal(other('"PartitionKey":"p",', ""), undefined);
    assert.equal(other('"RowKey":"r"', '"RowKey":1'), undefined);
    assert.equal(other("odata.etag", "etag"), undefined);
    assert.equal(other("datetime", "date"), undefined);
    assert.equal(other("W/", String.raw`W/\r\n`), undefined);
    assert.equal(read('"x":{}'), undefined);
    assert.equal(read('"x":["a"]'), undefined);
    assert.equal(read('"x@odata.type":"Edm.Decimal","x":"1"'), undefined);
    for (const text of ["", "{", "<html>", "3.0.0"]) assert.equal(parseTypedJson(text), undefined);
  });
});

describe("writing an entity", () => {
  for (const [, value] of values) {
    test(`${value.type} ${Object.is(value.value, -0) ? "-0" : value.value}`, () => {
      const json = entityJson(keyOf("o'x", "ü"), new Map([["x", value]]));
      const entity = parseTypedJson(`{"odata.etag":${JSON.stringify(etag)},${json.slice(1)}`);
      const row = rowOf(entity as JsonEntity, false);
      assert.equal(row?.key, "o'x\0ü");
      assert.deepEqual(row?.row.properties, new Map([["x", value]]));
    });
  }
});
