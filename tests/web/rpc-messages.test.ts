// Tests the codec of RPC messages with a real engine: values that are written are read back
// according to the client API's rules.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { MessageReader } from "../../web/src/client/message-reader.ts";
import {
  RequestEncoder,
  ResponseDecoder,
  type WriteOperation,
} from "../../web/src/client/rpc-codec.ts";
import { edm } from "../../web/src/edm/edm.ts";
import { RestError } from "../../web/src/errors.ts";
import { assertLoaded } from "./support/assert-loaded.ts";
import {
  encodeCreateTable,
  encodeExplain,
  encodeGet,
  encodeQuery,
  encodeWrite,
} from "./support/copied-messages.ts";
import { RpcStore, table } from "./support/rpc-store.ts";

const decoder = new ResponseDecoder();

let store: RpcStore;
before(async () => {
  store = await RpcStore.open();
});

function rejectedWith(statusCode: number, code: string, message?: string | RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof RestError);
    assert.equal(error.statusCode, statusCode);
    assert.equal(error.code, code);
    assert.equal(error.details?.odataError?.code, code);
    if (typeof message === "string") assert.equal(error.message, message);
    if (message instanceof RegExp) assert.match(error.message, message);
    return true;
  };
}
const misfit = rejectedWith(
  400,
  "InvalidInput",
  "An error occurred while processing this request.",
);

// Builds the response to a write. `textAt`: the offset of its text. `wide`: the text is UTF-16.
function writtenReply(etag: string, { textAt = 24, wide = false } = {}): Uint8Array {
  const units = Array.from(etag, (_, i) => etag.charCodeAt(i)).flatMap((u) => [u & 0xff, u >> 8]);
  const text = wide ? Uint8Array.from(units) : new TextEncoder().encode(etag);
  const reply = new Uint8Array(textAt + text.length);
  const words = [3 | (1 << 8) | ((wide ? 1 : 0) << 16), textAt, text.length, 0, 1, etag.length];
  reply.set(new Uint8Array(Uint32Array.from(words).buffer));
  reply.set(text, textAt);
  return reply;
}

test("an ETag is decoded correctly, whatever the previous ETags were", () => {
  const etag = (second: string, fraction: string) =>
    `W/"datetime'2026-11-22T13%3A57%3A${second}${fraction}Z'"`;
  const plain = [
    ...["05", "05", "06", "05"].flatMap((s) =>
      ["", ".1", ".1234567", ".7654321"].map((f) => etag(s, f)),
    ),
    "",
    "short",
    etag("05", "").slice(0, 36),
    etag("05", "").slice(0, 37),
    etag("05", ".é"),
    `é${etag("05", ".1")}`,
    etag("05", ".1").repeat(10),
  ];
  const responses = plain.flatMap((text) => [
    [text, writtenReply(text)] as const,
    [text, writtenReply(text, { wide: true })] as const,
    [text, writtenReply(text, { textAt: 26 })] as const,
    [text, writtenReply(text, { textAt: 28 })] as const,
  ]);
  for (const [first] of responses.entries()) {
    for (const [text, reply] of [responses[first] as (typeof responses)[0], ...responses]) {
      assert.equal(decoder.etagOfWrite(reply), text);
      assert.deepEqual(decoder.etagsOfWrite(reply), [text]);
    }
  }
});

describe("values come back as they were written", () => {
  const guid = "c9da6455-213d-42c9-9a79-3e9149a57833";
  const values: Record<string, unknown> = {
    emptyString: "",
    string: "some text",
    accents: "héllo wörld – ßtraße",
    cjk: "你好,世界",
    astral: "a😀b",
    zero: "a\0b",
    bom: "\ufeffmarked",
    loneHigh: "a\ud83d",
    loneLow: "\ude00b",
    reversed: "\ude00\ud83d",
    longString: "x".repeat(32768),
    longAccents: "é".repeat(32768),
    true: true,
    false: false,
    zeroNumber: 0,
    int32Max: 2147483647,
    int32Min: -2147483648,
    fraction: 1.5,
    tiny: 5e-324,
    huge: 1.7976931348623157e308,
    beyondInt32: 2147483648,
    beneathInt32: -2147483649,
    large: 1e21,
    infinity: Number.POSITIVE_INFINITY,
    negativeInfinity: Number.NEGATIVE_INFINITY,
    nan: Number.NaN,
    int64: 1234567890123456789n,
    int64Max: 9223372036854775807n,
    int64Min: -9223372036854775808n,
    smallInt64: 1n,
    epoch: new Date(0),
    date: new Date("2020-07-24T14:34:48.476Z"),
    before1970: new Date(-1),
    firstDate: new Date("1601-01-01T00:00:00.000Z"),
    lastDate: new Date("9999-12-31T23:59:59.999Z"),
    guid: { value: guid, type: "Guid" },
  };
  for (const [name, value] of Object.entries(values)) {
    test(name, () => assert.deepEqual(store.roundTrip({ v: value }), { v: value }));
  }
  test("all in one entity", () => {
    assert.deepEqual(store.roundTrip(values), values);
  });
  test("no properties", () => {
    assert.deepEqual(store.roundTrip({}), {});
    assert.deepEqual(store.roundTrip({ a: undefined, b: null }), {});
  });
  test("252 properties", () => {
    const entity: Record<string, unknown> = {};
    for (let i = 0; i < 252; ++i) entity[`p${i}`] = i % 3 === 0 ? `text ${i}` : i;
    assert.deepEqual(store.roundTrip(entity), entity);
    assert.throws(() => store.put({ ...entity, more: 1 }), rejectedWith(400, "TooManyProperties"));
  });
  test("adjacent strings that end and start with the halves of a surrogate pair", () => {
    const entity = { a: "\ud83d", b: "\ude00", c: "x\ud83d", d: "\ude00y" };
    assert.deepEqual(store.roundTrip(entity), entity);
  });
  test("property names of any script, and names that are special in JavaScript", () => {
    const entity = JSON.parse(
      '{"__proto__":"own","constructor":"c","toString":1,"naïve":true,"名前":"n","hasOwnProperty":0}',
    );
    assert.deepEqual(store.roundTrip(entity), entity);
    const dated = JSON.parse('{"__proto__":null}');
    Object.defineProperty(dated, "__proto__", { value: new Date(5), enumerable: true });
    const back = store.roundTrip(dated);
    assert.deepEqual(Object.getOwnPropertyDescriptor(back, "__proto__")?.value, new Date(5));
    assert.equal(Object.getPrototypeOf(back), Object.prototype);
  });
});

describe("binaries", () => {
  test("come back as Buffer under Node, each a view of its own", () => {
    const back = store.roundTrip({ a: new Uint8Array([1, 2]), b: new Uint8Array(0) });
    assert.ok(Buffer.isBuffer(back.a));
    assert.deepEqual([...(back.a as Uint8Array)], [1, 2]);
    assert.equal((back.b as Uint8Array).length, 0);
  });
  test("empty ones are Buffers too, and keep no earlier page alive", () => {
    store.roundTrip({ v: new Uint8Array(60000) });
    const { v } = store.roundTrip({ v: new Uint8Array(0) }) as { v: Buffer };
    assert.ok(Buffer.isBuffer(v));
    assert.deepEqual([v.length, v.buffer.byteLength], [0, 0]);
  });
  test("65,536 bytes are stored, one more is too much", () => {
    const bytes = new Uint8Array(65536).map((_, i) => i * 7);
    assert.deepEqual(new Uint8Array(store.roundTrip({ v: bytes }).v as Uint8Array), bytes);
    const more = new Uint8Array(65537);
    assert.throws(() => store.put({ v: more }), rejectedWith(400, "PropertyValueTooLarge"));
  });
  test("a view over a larger buffer is written as exactly the view", () => {
    const larger = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]);
    assert.deepEqual(
      [...(store.roundTrip({ v: larger.subarray(2, 5) }).v as Uint8Array)],
      [3, 4, 5],
    );
    const buffer = Buffer.from("pooled");
    assert.equal(String(store.roundTrip({ v: buffer }).v), "pooled");
  });
  test("are sliced from a page, whatever is between them", () => {
    for (let i = 0; i < 5; ++i) {
      store.put({ a: new Uint8Array(i), t: `é${i}`, b: new Uint8Array([i]) }, "bin", String(i));
    }
    const { rows } = store.query({ filter: "PartitionKey eq 'bin'" });
    assert.deepEqual(
      rows.map((row) => [(row.a as Uint8Array).length, row.t, ...(row.b as Uint8Array)]),
      [0, 1, 2, 3, 4].map((i) => [i, `é${i}`, i]),
    );
  });
});

describe("types", () => {
  test("a number is Int32 if it can be, otherwise Double", () => {
    assert.deepEqual(store.typed({ a: 1, b: 1.5, c: 2147483648, d: Number.NaN, e: -0, f: 5e9 }), {
      a: { value: "1", type: "Int32" },
      b: { value: "1.5", type: "Double" },
      c: { value: "2147483648", type: "Double" },
      d: { value: "NaN", type: "Double" },
      e: { value: "0", type: "Int32" },
      f: { value: "5000000000", type: "Double" },
    });
  });
  test("disableTypeConversion returns every property as text and type", () => {
    const entity = {
      s: "text",
      b: true,
      i: 1n,
      d: new Date("2020-07-24T14:34:48.400Z"),
      w: new Date("2020-07-24T14:34:48.000Z"),
      x: new Uint8Array([0, 255]),
      g: edm.guid("C9DA6455-213D-42C9-9A79-3E9149A57833"),
      n: edm.double(-0),
    };
    assert.deepEqual(store.typed(entity), {
      s: { value: "text", type: "String" },
      b: { value: "true", type: "Boolean" },
      i: { value: "1", type: "Int64" },
      d: { value: "2020-07-24T14:34:48.4Z", type: "DateTime" },
      w: { value: "2020-07-24T14:34:48Z", type: "DateTime" },
      x: { value: "AP8=", type: "Binary" },
      g: { value: "c9da6455-213d-42c9-9a79-3e9149a57833", type: "Guid" },
      n: { value: "-0", type: "Double" },
    });
    const { etag, partitionKey, timestamp } = store.get("p", "r", undefined, {
      disableTypeConversion: true,
    });
    for (const member of [etag, partitionKey, timestamp]) assert.equal(typeof member, "string");
  });
  test("entities read with disableTypeConversion can be written back", () => {
    const first = store.typed({ a: 1, b: 0.5, c: edm.double(3), d: "x", e: 5n, f: new Date(5) });
    store.put(first);
    assert.deepEqual(store.properties("p", "r", { disableTypeConversion: true }), first);
  });
  test("DateTime keeps its seven digits as text, and its milliseconds as Date", () => {
    const value = "2020-07-24T14:34:48.1234567Z";
    assert.deepEqual(store.typed({ v: { type: "DateTime", value } }).v, {
      value,
      type: "DateTime",
    });
    assert.deepEqual(store.properties().v, new Date("2020-07-24T14:34:48.123Z"));
    const early = "1601-01-01T00:00:00.0000001Z";
    assert.deepEqual(store.typed({ v: { type: "DateTime", value: early } }).v, {
      value: early,
      type: "DateTime",
    });
  });
  test("edm helpers fix the type", () => {
    const typed = store.typed({
      a: edm.int32(1),
      b: edm.int64(2),
      c: edm.double(3),
      d: edm.dateTime(new Date(0)),
      e: edm.binary(new Uint8Array([1])),
      f: edm.string("s"),
      g: edm.boolean(false),
      h: edm.int64(5n),
    });
    assert.deepEqual(
      Object.values(typed).map((pair) => (pair as { type: string }).type),
      ["Int32", "Int64", "Double", "DateTime", "Binary", "String", "Boolean", "Int64"],
    );
    assert.match(
      edm.guid().value,
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    assert.notEqual(edm.guid().value, edm.guid().value);
  });
  test("pairs accept every sensible form of their value", () => {
    const pairs: [unknown, string, string][] = [
      [5, "Int32", "5"],
      ["5", "Int32", "5"],
      [5, "Int64", "5"],
      [5n, "Int64", "5"],
      ["9223372036854775807", "Int64", "9223372036854775807"],
      [3, "Double", "3"],
      ["3.0", "Double", "3"],
      ["-Infinity", "Double", "-Infinity"],
      [3n, "Double", "3"],
      [true, "Boolean", "true"],
      ["false", "Boolean", "false"],
      [new Date(0), "DateTime", "1970-01-01T00:00:00Z"],
      ["1970-01-01", "DateTime", "1970-01-01T00:00:00Z"],
      [new Uint8Array([1]), "Binary", "AQ=="],
      ["AQ==", "Binary", "AQ=="],
      ["", "String", ""],
    ];
    for (const [value, type, text] of pairs) {
      assert.deepEqual(store.typed({ v: { type, value } }).v, { value: text, type });
    }
  });
  test("a pair without a value is not stored; an object without a type is not a pair", () => {
    assert.deepEqual(store.roundTrip({ v: { type: "String", value: null }, w: 1 }), { w: 1 });
    assert.throws(() => store.put({ v: { value: 1 } }), /^TypeError: Unknown EDM type object/);
    assert.throws(() => store.put({ v: { type: "Int32", value: undefined } }), /Unknown EDM type/);
  });
  test("values that do not fit their type are rejected", () => {
    const misfits: [unknown, string][] = [
      [1.5, "Int32"],
      [2147483648, "Int32"],
      ["x", "Int32"],
      ["9223372036854775808", "Int64"],
      [2 ** 63, "Int64"],
      [2n ** 63n, "Int64"],
      [Number.NaN, "Int64"],
      ["1e400", "Double"],
      [1, "String"],
      [true, "String"],
      [1, "Boolean"],
      ["yes", "Boolean"],
      [5, "DateTime"],
      ["soon", "DateTime"],
      [new Date(Number.NaN), "DateTime"],
      ["not a guid", "Guid"],
      ["A", "Binary"],
      [{}, "Binary"],
      [[1], "String"],
      ["x", "Unknown"],
      ["x", "Edm.String"],
      [1, "toString"],
    ];
    for (const [value, type] of misfits) {
      assert.throws(() => store.put({ v: { type, value } }), misfit, `${type} ${String(value)}`);
    }
    assert.throws(() => store.put({ v: 2n ** 63n }), misfit);
    assert.throws(() => store.put({ v: new Date(Number.NaN) }), misfit);
  });
  test("dates that the service cannot store are rejected as by the service", () => {
    assert.throws(
      () => store.put({ v: new Date("1600-12-31T23:59:59.999Z") }),
      rejectedWith(
        400,
        "OutOfRangeInput",
        /^The 'v' parameter of value '12\/31\/1600 23:59:59' is out/,
      ),
    );
    for (const text of ["+010000-01-01T00:00:00.000Z", "-000001-01-01T00:00:00.000Z"]) {
      assert.throws(() => store.put({ v: new Date(text) }), rejectedWith(400, "InvalidInput"));
    }
  });
  test("the types option applies only to plain numbers", () => {
    const types = { a: "Double", b: "Int64", c: "Double" } as const;
    assert.deepEqual(store.typed({ a: 3, b: 4, c: "text", d: 5 }, types), {
      a: { value: "3", type: "Double" },
      b: { value: "4", type: "Int64" },
      c: { value: "text", type: "String" },
      d: { value: "5", type: "Int32" },
    });
    assert.throws(() => store.put({ a: 1.5 }, "p", "r", { a: "Int32" }), misfit);
  });
  test("the types option ignores inherited property names", () => {
    const types = { a: "Double" } as const;
    assert.deepEqual(store.typed({ constructor: 3, toString: 4 }, types), {
      constructor: { value: "3", type: "Int32" },
      toString: { value: "4", type: "Int32" },
    });
  });
  test("a whole Double stays one", () => {
    assert.deepEqual(store.typed({ v: { type: "Double", value: 3 } }).v, {
      value: "3",
      type: "Double",
    });
    assert.equal(store.properties().v, 3);
  });
});

describe("values without an Edm type", () => {
  const cases: [unknown, RegExp][] = [
    [{}, /^TypeError: Unknown EDM type object/],
    [[1, 2], /^TypeError: Unknown EDM type object: property "v" .* a value of class Array/],
    [new Map(), /class Map/],
    [Object.create(null), /class Object/],
    [new String("x"), /class String/],
    [new ArrayBuffer(1), /class ArrayBuffer/],
    [new Uint16Array(1), /class Uint16Array/],
    [() => {}, /^TypeError: Unknown EDM type function/],
    [Symbol("s"), /^TypeError: Unknown EDM type symbol/],
  ];
  for (const [value, message] of cases) {
    test(String(message), () => assert.throws(() => store.put({ v: value }), message));
  }
  test("the error names the property, the keys and a remedy, and nothing is written", () => {
    store.put({ kept: 1 }, "p", "unknown");
    assert.throws(
      () => store.put({ kept: 2, deep: { a: 1 } }, "p", "unknown"),
      /property "deep" of the entity with partitionKey "p" and rowKey "unknown".*JSON\.stringify/,
    );
    assert.deepEqual(store.properties("p", "unknown"), { kept: 1 });
  });
  test("values of another realm are recognised", async () => {
    const { runInNewContext } = await import("node:vm");
    const foreign = runInNewContext("({ d: new Date(5), b: new Uint8Array([1, 2]) })");
    assert.deepEqual(store.typed({ ...foreign }), {
      d: { value: "1970-01-01T00:00:00.005Z", type: "DateTime" },
      b: { value: "AQI=", type: "Binary" },
    });
  });
});

describe("system properties", () => {
  test("keys, etag, timestamp and odata.* among the properties are not stored", () => {
    const entity = {
      partitionKey: "other",
      rowKey: "other",
      etag: {},
      timestamp: Symbol("ignored"),
      "odata.etag": [],
      "odata.metadata": "x",
      kept: 1,
    };
    assert.deepEqual(store.roundTrip(entity), { kept: 1 });
  });
  test("Timestamp is ignored; a key under its service name is a duplicate", () => {
    assert.deepEqual(store.roundTrip({ Timestamp: "x", kept: 1 }), { kept: 1 });
    for (const name of ["PartitionKey", "RowKey"]) {
      assert.throws(
        () => store.put({ [name]: "x" }),
        rejectedWith(400, "DuplicatePropertiesSpecified"),
      );
    }
  });
  test("an entity read can be written back", () => {
    store.put({ a: 1, when: new Date(5) });
    const first = store.get();
    store.put(first);
    const second = store.get();
    assert.notEqual(second.etag, first.etag);
    assert.deepEqual({ ...second, etag: 0, timestamp: 0 }, { ...first, etag: 0, timestamp: 0 });
  });
  test("results have etag, keys and timestamp first", () => {
    store.put({ b: 1, a: 2 });
    assert.deepEqual(Object.keys(store.get()).slice(0, 4), [
      "etag",
      "partitionKey",
      "rowKey",
      "timestamp",
    ]);
    const { etag, timestamp } = store.get();
    assert.match(String(timestamp), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
    assert.equal(etag, `W/"datetime'${String(timestamp).replaceAll(":", "%3A")}'"`);
  });
});

describe("selections", () => {
  before(() => {
    store.put({ a: 1, b: "x" }, "sel", "1");
    store.put({ c: true }, "sel", "2");
  });
  test("return the selected properties in that order, null where one is absent", () => {
    const row = store.get("sel", "1", ["b", "rowKey", "missing", "a"]);
    assert.deepEqual(Object.keys(row), ["etag", "b", "rowKey", "missing", "a"]);
    assert.deepEqual({ ...row, etag: 0 }, { etag: 0, b: "x", rowKey: "1", missing: null, a: 1 });
  });
  test("accept the client's and the service's names; the ETag is always returned", () => {
    for (const select of [["partitionKey"], ["PartitionKey"], ["etag", "partitionKey"]]) {
      assert.deepEqual(Object.keys(store.get("sel", "1", select)), ["etag", "partitionKey"]);
    }
    assert.equal(Object.keys(store.get("sel", "1", ["etag"])).length, 6);
    assert.equal(Object.keys(store.get("sel", "1", ["*"])).length, 6);
    assert.ok("timestamp" in store.get("sel", "1", ["timestamp"]));
  });
  test("accept inherited property names like any other", () => {
    const select = ["constructor", "v"];
    const { etag: _, ...selected } = store.get("sel", "1", select);
    assert.deepEqual(Object.keys(selected), select);
    assert.equal(selected["constructor"], null);
  });
  test("run over rows of several shapes", () => {
    const { rows } = store.query({ filter: "PartitionKey eq 'sel'", select: ["a", "c"] });
    assert.deepEqual(
      rows.map(({ a, c }) => [a, c]),
      [
        [1, null],
        [null, true],
      ],
    );
  });
  test("with disableTypeConversion null stays null", () => {
    const row = store.get("sel", "1", ["a", "missing"], { disableTypeConversion: true });
    assert.deepEqual(
      { ...row, etag: 0 },
      { etag: 0, a: { value: "1", type: "Int32" }, missing: null },
    );
  });
});

describe("pages", () => {
  before(() => {
    for (let i = 0; i < 25; ++i) {
      const rowKey = String(i).padStart(3, "0");
      store.put({ i, odd: i % 2 === 1, ...(i % 3 === 0 ? { third: "é" } : {}) }, "page", rowKey);
    }
  });
  const filter = "PartitionKey eq 'page'";

  test("follow each other by the next key", () => {
    const seen: unknown[] = [];
    let next: { partitionKey: string; rowKey: string } | undefined;
    let pages = 0;
    do {
      const page = store.query({ filter, top: 10, ...(next === undefined ? {} : { next }) });
      seen.push(...page.rows.map((row) => row.i));
      next = page.next;
      ++pages;
    } while (next !== undefined);
    assert.deepEqual(seen, [...Array(25).keys()]);
    assert.equal(pages, 3);
  });
  test("share one partition key string and have their own values", () => {
    const { rows } = store.query({ filter });
    assert.ok(rows.every((row) => row.partitionKey === "page"));
    assert.deepEqual(
      rows.map((row) => row.rowKey),
      [...Array(25).keys()].map((i) => String(i).padStart(3, "0")),
    );
  });
  test("a top of 0 returns nothing; one that is not an integer up to 1000 is rejected", () => {
    assert.deepEqual(store.query({ filter, top: 0 }), { rows: [] });
    for (const top of [1001, -1, 1.5, Number.NaN, 2 ** 32 + 5]) {
      assert.throws(() => store.query({ filter, top }), rejectedWith(400, "InvalidInput"));
    }
  });
  test("the error of a malformed filter names the position", () => {
    assert.throws(
      () => store.query({ filter: "a eq" }),
      rejectedWith(400, "InvalidInput", /^Syntax error at position 4 in 'a eq'\./),
    );
  });
  test("a copied response at an odd offset decodes equally", () => {
    const reply = assertLoaded(store.engine.read(encodeQuery(table, { filter })));
    for (const offset of [0, 1, 4, 7]) {
      const moved = new Uint8Array(reply.length + offset);
      moved.set(reply, offset);
      assert.equal(decoder.page(moved.subarray(offset)).rows.length, 25);
    }
  });
  test("a page of thousands of shapes is decoded", () => {
    const operations: WriteOperation[] = [];
    for (let i = 0; i < 3000; ++i) {
      const rowKey = String(i).padStart(5, "0");
      operations.push({
        kind: "insertOrReplace",
        partitionKey: "shapes",
        rowKey,
        entity: { [`n${i}`]: i, text: `t${i}` },
      });
    }
    for (let i = 0; i < operations.length; i += 100)
      store.write(operations.slice(i, i + 100), true);
    let next: { partitionKey: string; rowKey: string } | undefined;
    let i = 0;
    do {
      const page = store.query({
        filter: "PartitionKey eq 'shapes'",
        ...(next === undefined ? {} : { next }),
      });
      for (const { [`n${i}`]: n, text } of page.rows) {
        assert.equal(n, i);
        assert.equal(text, `t${i++}`);
      }
      next = page.next;
    } while (next !== undefined);
    assert.equal(i, 3000);
  });
});

describe("errors", () => {
  test("are the service's", () => {
    store.put({}, "p", "there");
    assert.throws(
      () => store.insert({}, "p", "there"),
      rejectedWith(409, "EntityAlreadyExists", "The specified entity already exists."),
    );
    assert.throws(() => store.get("p", "nobody"), rejectedWith(404, "ResourceNotFound"));
    assert.throws(
      () => decoder.page(assertLoaded(store.engine.read(encodeQuery("nowhere", {})))),
      rejectedWith(404, "TableNotFound"),
    );
  });
  test("missing and mistyped keys", () => {
    const insert = (partitionKey: unknown, rowKey: unknown) => () =>
      store.write([
        { kind: "insert", partitionKey, rowKey, entity: {} } as unknown as WriteOperation,
      ]);
    assert.throws(insert(undefined, "r"), rejectedWith(400, "PropertiesNeedValue"));
    assert.throws(insert("p", null), rejectedWith(400, "PropertiesNeedValue"));
    assert.throws(insert(5, "r"), (error: RestError) => error.statusCode === 400);
  });
  test("an outdated, wrong or malformed ETag", () => {
    const etag = store.put({ v: 1 }, "p", "tagged") as string;
    const replace = (tag: string): WriteOperation => ({
      kind: "replace",
      partitionKey: "p",
      rowKey: "tagged",
      entity: { v: 2 },
      etag: tag,
    });
    assert.notEqual(store.write([replace(etag)])[0], etag);
    assert.throws(
      () => store.write([replace(etag)]),
      rejectedWith(412, "UpdateConditionNotSatisfied"),
    );
    assert.throws(() => store.write([replace("etag")]), rejectedWith(400, "InvalidInput"));
    assert.ok(store.write([replace("*")])[0]);
  });
  test("of a transaction name the operation, and nothing is written", () => {
    const operation = (kind: WriteOperation["kind"], rowKey: string): WriteOperation => ({
      kind,
      partitionKey: "tx",
      rowKey,
      ...(kind === "delete" ? { etag: "*" } : { entity: { v: rowKey } }),
    });
    store.write([operation("insert", "1"), operation("insert", "2")], true);
    assert.throws(
      () => store.write([operation("insert", "3"), operation("insert", "2")], true),
      rejectedWith(409, "EntityAlreadyExists", /^1:The specified entity already exists\./),
    );
    assert.equal(store.query({ filter: "PartitionKey eq 'tx'" }).rows.length, 2);
    const etags = store.write([operation("merge", "1"), operation("delete", "2")], true);
    assert.equal(typeof etags[0], "string");
    assert.equal(etags[1], undefined);
    const bad = { ...operation("insert", "4"), entity: { v: { type: "Int32", value: "x" } } };
    assert.throws(
      () => store.write([operation("insert", "5"), bad], true),
      rejectedWith(400, "InvalidInput", "1:An error occurred while processing this request."),
    );
  });
});

test("a text of any length is read back, with one or more bytes per character", () => {
  for (let length = 0; length < 300; ++length) {
    for (const end of ["x", "é", "\ud800"]) {
      const text = "x".repeat(length) + end;
      store.put({ text });
      assert.equal(store.get()["text"], text);
    }
  }
});

describe("operations", () => {
  test("merge keeps the properties that it does not name, replace does not", () => {
    const write = (kind: WriteOperation["kind"], entity: object) =>
      store.write([{ kind, partitionKey: "p", rowKey: "ops", entity }]);
    write("insertOrReplace", { a: 1, b: 2 });
    write("merge", { b: 3, c: 4 });
    assert.deepEqual(store.properties("p", "ops"), { a: 1, b: 3, c: 4 });
    write("insertOrMerge", { a: null, c: undefined, d: 5 });
    assert.deepEqual(store.properties("p", "ops"), { a: 1, b: 3, c: 4, d: 5 });
    write("replace", { e: 6 });
    assert.deepEqual(store.properties("p", "ops"), { e: 6 });
    assert.deepEqual(
      store.write([{ kind: "delete", partitionKey: "p", rowKey: "ops", etag: "*" }]),
      [undefined],
    );
    assert.throws(() => store.get("p", "ops"), rejectedWith(404, "ResourceNotFound"));
  });
  test("entities with different properties in one transaction keep their own", () => {
    const operations = [{ a: 1, b: 2 }, { b: 3, a: 4 }, { a: 5 }, { c: "x", a: 6 }, {}].map(
      (entity, i): WriteOperation => ({
        kind: "insert",
        partitionKey: "mixed",
        rowKey: String(i),
        entity,
      }),
    );
    store.write(operations, true);
    operations.forEach(({ entity }, i) => {
      assert.deepEqual(store.properties("mixed", String(i)), entity);
    });
  });
  test("a message does not depend on the previous message's names", () => {
    const entities: object[] = [
      ...[{ a: 1, b: 2 }, { b: 1, a: 2 }, { a: 1, c: 2 }, { a: 1 }, { a: 1, b: 2, c: 3 }, {}],
      ...[{ a: "\ud800", b: 2 }, { é: 1, b: 2 }, { é: "\udc00", b: 2 }, { ["x".repeat(5000)]: 1 }],
    ];
    const message = (of: string, entity: object) =>
      encodeWrite(of, [{ kind: "insert", partitionKey: "p", rowKey: "r", entity }], false).slice();
    const messages = entities.flatMap((entity) => [
      () => message("people", entity),
      () => message("places", entity),
    ]);
    const afterAnother = messages.map((encoded) => {
      message("another", { z: 1 });
      return encoded();
    });
    for (const before of messages) {
      for (const [i, encoded] of messages.entries()) {
        before();
        assert.deepEqual(encoded(), afterAnother[i]);
      }
    }
  });
  test("a request message is unchanged while it is sent, and is rejected afterwards", () => {
    const encoder = new RequestEncoder();
    const insert = (length: number): WriteOperation[] => [
      { kind: "insert", partitionKey: "x".repeat(length), rowKey: "", entity: { a: 1.5, b: 2n } },
    ];
    for (const length of [100, 5000, 70_000, 2_000_000]) {
      const alone = encodeWrite(table, insert(length), false);
      const kept = encoder.write(table, insert(length), false, undefined, (message) => {
        for (let i = 0; i < 2000; ++i) encoder.get(table, "e", String(i), undefined, () => {});
        encoder.write(table, insert(length), false, undefined, (inner) => {
          assert.deepEqual(inner, alone);
        });
        assert.deepEqual(message, alone);
        return message;
      });
      assert.throws(() => decoder.etagOfWrite(store.commit(kept)), { statusCode: 400 });
      assert.throws(
        () =>
          encoder.get(table, "e", "f", undefined, () => {
            throw new Error("of send");
          }),
        /of send/,
      );
      encoder.write(table, insert(length), false, undefined, (message) => {
        assert.deepEqual(message, alone);
      });
    }
  });
  test("a getter that calls a store is rejected, and the entity is written unchanged", () => {
    const refusals: unknown[] = [];
    const callStore = (value: unknown) => {
      try {
        encodeGet(table, "another", "key");
      } catch (error) {
        refusals.push((error as { code?: unknown }).code);
      }
      return value;
    };
    const keys = { kind: "insert", partitionKey: "getters", rowKey: "1" } as const;
    const plain = { a: "text", b: 2, c: new Uint8Array([3]) };
    const entity = {
      get a() {
        return callStore(plain.a);
      },
      get b() {
        return callStore(plain.b);
      },
      c: plain.c,
    };
    const message = encodeWrite(table, [{ ...keys, entity: plain }], false).slice();
    assert.deepEqual(encodeWrite(table, [{ ...keys, entity }], false), message);
    assert.deepEqual(refusals, ["NotSupported", "NotSupported"]);
    const throwing = {
      get a() {
        throw new Error("of the getter");
      },
    };
    assert.throws(
      () => encodeWrite(table, [{ ...keys, entity: throwing }], false),
      /of the getter/,
    );
    assert.deepEqual(encodeWrite(table, [{ ...keys, entity: plain }], false), message);
  });
  test("reads flushed by a getter's call are encoded by another encoder, without disturbing the entity", () => {
    const keys = { kind: "insert", partitionKey: "getters", rowKey: "2" } as const;
    for (const end of ["x", "\u00e9", "\ud800"]) {
      const plain = { a: end, b: new Uint8Array([3]), c: "x".repeat(300), d: end, e: 1 };
      const read = (key: string) => encodeGet(table, key, "x".repeat(9000));
      const another = new RequestEncoder();
      const readApart = (key: string) =>
        another.get(table, key, "x".repeat(9000), undefined, (message) => message.slice());
      const alone = [read("p"), read("\ud800")];
      const entity = Object.create(null, {
        ...Object.getOwnPropertyDescriptors(plain),
        d: {
          enumerable: true,
          get: () => {
            assert.deepEqual([readApart("p"), readApart("\ud800")], alone);
            assert.throws(() => read("p"), { code: "NotSupported" });
            return plain.d;
          },
        },
      }) as object;
      const message = encodeWrite(table, [{ ...keys, entity: plain }], false).slice();
      assert.deepEqual(encodeWrite(table, [{ ...keys, entity }], false), message);
    }
  });
  test("a UTF-16 message is entirely UTF-16, whichever of its strings requires it", () => {
    const lone = "\ud800";
    for (const at of [0, 1, 2, 3, 4]) {
      const ill = (place: number, text: string) => (place === at ? text + lone + text : text);
      const entity = { [ill(0, "first")]: "\u00e9", n: 1, [ill(1, "second")]: ill(2, "value") };
      const operation = { partitionKey: ill(3, "p\ud83d\ude00"), rowKey: ill(4, "r") };
      const message = encodeWrite(table, [{ kind: "insert", ...operation, entity }], false);
      assert.equal(message[2], 1, "the flag");
      const [, textAt = 0, textBytes = 0] = new Uint32Array(message.slice(0, 12).buffer);
      const units = new Uint16Array(message.slice(textAt, textAt + textBytes).buffer);
      const names = [ill(0, "first"), "n", ill(1, "second")];
      const texts = [operation.partitionKey, operation.rowKey, "\u00e9", ill(2, "value")];
      assert.equal(String.fromCharCode(...units), [table, ...names, ...texts].join(""));
    }
  });
  test("keys of every length are read back, however their text is encoded", () => {
    for (const last of ["a", "\u007f", "\u0080", "\u00e9", "\ud83d\ude00", "\ud800"]) {
      for (let length = 0; length < 80; ++length) {
        const row = "x".repeat(length) + last;
        if (last === "\u007f" || last === "\u0080") {
          assert.throws(() => store.get("p", row), rejectedWith(400, "OutOfRangeInput"));
          continue;
        }
        store.put({ length }, "p", row);
        assert.equal(store.get("p", row).rowKey, row);
      }
    }
  });
  test("texts of short responses are decoded correctly", () => {
    for (const value of [
      "",
      "a",
      "\u007f",
      "\u0080",
      "\u00e9",
      "\ud83d\ude00",
      "\ud800",
      "\ufeff",
    ]) {
      store.put({ value }, "short", "r");
      const query = { filter: "PartitionKey eq 'short'", select: ["value"] };
      const reply = assertLoaded(store.engine.read(encodeQuery(table, query)));
      assert.equal(decoder.page(reply).rows[0]?.["value"], value);
    }
  });
  test("messages do not depend on earlier messages", () => {
    const entity = { t: "x".repeat(300), d: new Date(5), n: 0.5, l: 7n, b: new Uint8Array(9) };
    const keys = { partitionKey: "p", rowKey: "\ud800" };
    const make = () => encodeWrite(table, [{ kind: "insert", ...keys, entity }], false);
    const first = make().slice();
    for (let i = 0; i < 500; ++i) {
      encodeGet(table, "q", "y".repeat(i)); // a different length each time
      assert.deepEqual(make(), first);
    }
  });
});

describe("a response decoder", () => {
  const message = () => assertLoaded(store.engine.read(encodeQuery(table, {})));

  test("decodes the next response after one that failed", () => {
    const own = new ResponseDecoder();
    const etag = `W/"datetime'2026-11-22T13%3A57%3A05.1Z'"`;
    assert.throws(() => own.page(writtenReply(etag)), { code: "VersionConflict" });
    assert.throws(() => own.page(new Uint8Array(16)), { code: "VersionConflict" });
    assert.throws(() => own.error(writtenReply(etag)), { code: "VersionConflict" });
    assert.throws(
      () => own.page(assertLoaded(store.engine.read(encodeQuery("nowhere", {})))),
      rejectedWith(404, "TableNotFound"),
    );
    const missing = own.error(assertLoaded(store.engine.read(encodeQuery("nowhere", {}))));
    rejectedWith(404, "TableNotFound")(missing);
    assert.equal(own.etagOfWrite(writtenReply(etag)), etag);
  });
  test("decodes a response that arrives after release()", () => {
    const own = new ResponseDecoder();
    store.put({ v: 1 }, "p", "released");
    const before = own.page(message());
    own.dropCaches();
    assert.deepEqual(own.page(message()), before);
    assert.deepEqual(own.page(message()), before);
  });
  test("a reader throws unless a message is open, and reads one message at a time", () => {
    const reader = new MessageReader();
    const readings = [
      () => reader.readWord(),
      () => reader.readText(),
      () => reader.readOptionalText(),
      () => reader.readLongAsNumber(),
      () => reader.readDouble(),
      () => reader.readLong(),
      () => reader.words[0],
    ];
    const assertClosed = () => {
      for (const read of readings) assert.throws(read, /read after it was closed/);
    };
    assertClosed();
    for (const reply of [message(), message().slice()]) {
      reader.open(reply);
      assert.throws(() => reader.open(reply), /Another response message is open/);
      assert.ok(reader.readWord() > 0);
      reader.close();
      assertClosed();
      assert.equal(reader.text, "");
    }
  });
});

describe("tables", () => {
  test("are created, listed and dropped", () => {
    for (const name of ["Zebra", "alpha", "Beta"]) store.commit(encodeCreateTable(name));
    assert.throws(() => store.drop("nothere"), rejectedWith(404, "ResourceNotFound"));
    assert.deepEqual(store.tables().names, ["alpha", "Beta", table, "Zebra"]);
    const first = store.tables({ top: 2 });
    assert.deepEqual(first.names, ["alpha", "Beta"]);
    assert.ok(first.next !== undefined);
    assert.deepEqual(store.tables({ next: first.next }).names, [table, "Zebra"]);
    assert.deepEqual(store.tables({ filter: "TableName ge 'b'" }).names, [table]);
    assert.deepEqual(store.drop("zebra"), [undefined]);
    assert.deepEqual(store.tables().names, ["alpha", "Beta", table]);
  });
});

describe("explain", () => {
  test("returns the plan, the counts and what the service would do", () => {
    store.put({ v: 1 }, "why", "1");
    store.put({ v: 2 }, "why", "2");
    const filter = "PartitionKey eq 'why' and v gt 1";
    const explained = decoder.explain(
      assertLoaded(store.engine.read(encodeExplain(table, { filter }))),
    );
    assert.equal(explained.kind, "partition");
    assert.equal(explained.serviceKind, "partition");
    assert.equal(explained.rowsRead, 2);
    assert.equal(explained.rowsReturned, 1);
    assert.ok(explained.bytesRead > 0);
    assert.equal(explained.serviceRoundTrips, 1);
    assert.equal(explained.ranges.length, 1);
    assert.deepEqual(explained.ranges[0]?.from, { partitionKey: "why", rowKey: "" });
    const all = decoder.explain(assertLoaded(store.engine.read(encodeExplain(table, {}))));
    assert.equal(all.kind, "table");
    assert.deepEqual(all.ranges, [{ from: { partitionKey: "", rowKey: "" } }]);
    const never = "PartitionKey lt 'a' and PartitionKey gt 'b'";
    const nothing = decoder.explain(
      assertLoaded(store.engine.read(encodeExplain(table, { filter: never }))),
    );
    assert.equal(nothing.kind, "empty");
    const contradiction = nothing.warnings.find(({ code }) => code === "Contradiction");
    assert.ok(contradiction?.message && contradiction.help);
  });
});
