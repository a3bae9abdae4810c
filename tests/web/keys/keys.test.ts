// Tests keys that encode values. Each encoding has an inverse, throws errors beyond its limits, and
// preserves the order of the values in the store's order of keys.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TableClient } from "@azure/data-tables";
import { openStore } from "../../../web/src/index.ts";
import {
  compositeKey,
  compositePrefix,
  escapeKey,
  invertedTicks,
  paddedNumber,
  parseCompositeKey,
  parseInvertedTicks,
  parsePaddedNumber,
  parseTimeKey,
  prefixRange,
  rangeFilter,
  type TimeUnit,
  timeKey,
  unescapeKey,
} from "../../../web/src/keys/index.ts";
import { type Random, seededRandom } from "../support/random.ts";

const seed = Number(process.env.ENTITABLE_SEED ?? Math.floor(Math.random() * 2 ** 31));

// Characters for random texts: those that are escaped, their neighbours, and the escape characters.
const alphabet = [
  ...'\0\t\n\x1f !"#$%.,-/0:>?@AZ[\\]az{|}~\x7f\x80\x9f\xa0é',
  ..."\ud7ff\ue000\ufffd\uffff\u{10000}\u{1f600}\u{10ffff}",
];

function textOf(random: Random, most = 6): string {
  return Array.from(
    { length: random.below(most + 1) },
    () => alphabet[random.below(alphabet.length)],
  ).join("");
}

function textsOf(random: Random, count: number): string[] {
  const texts = new Set<string>(["", ...alphabet]);
  for (const a of alphabet) for (const b of alphabet) texts.add(a + b);
  while (texts.size < count) texts.add(textOf(random));
  return [...texts];
}

// Stores rows with these keys and returns the keys in the store's order. The store rejects invalid
// keys.
async function listed(keys: readonly string[]): Promise<string[]> {
  await using store = await openStore({ name: "acme", persistence: "memory" });
  const table = store.table("keys");
  await table.createTable();
  await table.bulk(keys.map((rowKey) => ["create", { partitionKey: "p", rowKey }]));
  const found: string[] = [];
  for await (const { rowKey } of table.listEntities()) found.push(rowKey as string);
  assert.equal(found.length, keys.length);
  return found;
}

// Checks that the encoded values have the same order in the store as the values themselves.
async function keepsOrder<T>(
  values: readonly T[],
  encode: (value: T) => string,
  decode: (key: string) => T,
): Promise<void> {
  const order = await listed(values.map(encode));
  assert.deepEqual(order.map(decode), values);
}

function isForbidden(character: string): boolean {
  const point = character.codePointAt(0) as number;
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || "#/?\\".includes(character);
}

// Compares by UTF-16 units, as JavaScript's operators do.
const byUnits = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

function byParts(a: readonly string[], b: readonly string[]): number {
  const different = a.findIndex((part, i) => part !== b[i]);
  if (different < 0) return a.length - b.length;
  if (different >= b.length) return 1;
  return byUnits(a[different] as string, b[different] as string);
}

describe("escapeKey", () => {
  test(`preserves the order of any text, and has an inverse (seed ${seed})`, async () => {
    const texts = textsOf(seededRandom(seed), 4000).sort(byUnits);
    await keepsOrder(texts, escapeKey, unescapeKey);
  });

  test("returns keys that the official client can send", async () => {
    await using store = await openStore({ name: "acme", persistence: "memory" });
    const { httpClient } = store;
    const table = new TableClient("https://acme.table.core.windows.net", "keys", { httpClient });
    await table.createTable();
    for (const text of alphabet.filter((character) => character !== "\uffff")) {
      const key = escapeKey(`${text}x${text}`);
      await table.upsertEntity({ partitionKey: key, rowKey: compositeKey(text, key) });
      const { rowKey = "" } = await table.getEntity(key, compositeKey(text, key));
      assert.deepEqual(parseCompositeKey(rowKey as string), [text, key]);
    }
  });

  test("keeps ordinary text, and escapes forbidden characters", () => {
    for (const text of [
      "",
      "Sales",
      "New York",
      "jonesj@contoso.com",
      "2026-11-21T09:30:00.000Z",
      "ä € 😀",
    ]) {
      assert.equal(escapeKey(text), text);
    }
    assert.equal(escapeKey("a/b"), "a.~b");
    assert.equal(escapeKey("C:\\x"), "C:[~x");
    assert.equal(escapeKey("why?"), "why>~");
    assert.equal(escapeKey("#1"), '"~1');
    assert.equal(escapeKey("a\tb\n"), "a  9b  A");
    assert.equal(escapeKey("\x7f\x9f"), "~~0~~W");
    assert.equal(escapeKey("~~ .é [} "), "~}~ .}é [}} !");
  });

  test("rejects long keys, unpaired surrogates, other types and unknown keys", () => {
    assert.equal(escapeKey("x".repeat(512)).length, 512);
    assert.equal(escapeKey("/".repeat(256)).length, 512);
    assert.throws(() => escapeKey("x".repeat(513)), {
      name: "RangeError",
      message: /^A key has at most 512 characters \(UTF-16 units\); this one has 513: x{40}…$/,
    });
    assert.throws(() => escapeKey("/".repeat(257)), { name: "RangeError", message: /has 514/ });
    assert.throws(() => escapeKey("ab\ud83d"), {
      name: "RangeError",
      message: "The text of a key is not well-formed text: half a surrogate pair at 2.",
    });
    assert.throws(() => escapeKey("\udc00\ud800"), /at 0/);
    assert.throws(() => escapeKey(undefined as unknown as string), {
      name: "TypeError",
      message: "The text of a key must be a string, not undefined.",
    });
    assert.throws(() => unescapeKey(null as unknown as string), /not null/);
    for (const key of ["a/b", " ", "a ", "  ", "  W", "~~", "~~X", "[é", "~}a", "x !y", "\t"]) {
      assert.throws(() => unescapeKey(key), {
        name: "RangeError",
        message: `escapeKey never makes this key: ${JSON.stringify(key)}.`,
      });
    }
  });
});

describe("compositeKey", () => {
  test(`sorts by its parts in order, and has an inverse (seed ${seed})`, async () => {
    const random = seededRandom(seed);
    const keys = new Map<string, string[]>();
    for (const a of ["", ...alphabet]) {
      for (const parts of [[a], [a, ""], [a, a], ["a", a], ["a", a, "b"], [`a${a}`, "b"]]) {
        keys.set(JSON.stringify(parts), parts);
      }
    }
    while (keys.size < 3000) {
      const parts = Array.from({ length: 1 + random.below(3) }, () => textOf(random, 3));
      keys.set(JSON.stringify(parts), parts);
    }
    await keepsOrder(
      [...keys.values()].sort(byParts),
      (parts) => compositeKey(...parts),
      parseCompositeKey,
    );
  });

  test("is readable", () => {
    assert.equal(compositeKey("empid", "000123", "2012"), "empid!000123!2012");
    assert.equal(compositeKey("jonesj@contoso.com"), "jonesj@contoso.com");
    assert.equal(
      compositeKey("New York", 'a "b"!', ""),
      'New" York!a" ""b""" !'.replace('" !', '"!!'),
    );
    assert.equal(compositePrefix("empid"), "empid!");
    assert.equal(compositePrefix(), "");
  });

  test("rejects an empty list, long keys, and keys that it never returns", () => {
    assert.throws(() => compositeKey(), {
      name: "RangeError",
      message: "A composite key has at least one part.",
    });
    assert.equal(compositeKey("x".repeat(255), "y".repeat(256)).length, 512);
    assert.throws(() => compositeKey("x".repeat(256), "y".repeat(256)), /this one has 513/);
    assert.throws(() => compositeKey("a", 5 as unknown as string), TypeError);
    for (const key of ["a b", 'a"', 'a"b', "a/b", "!\t", `${"x".repeat(513)}`]) {
      assert.throws(() => parseCompositeKey(key), RangeError, key);
    }
  });
});

describe("paddedNumber", () => {
  test(`sorts like the numbers (seed ${seed})`, async () => {
    const random = seededRandom(seed);
    const numbers = new Set([0, 1, 9, 10, 11, 99, 100, Number.MAX_SAFE_INTEGER]);
    while (numbers.size < 500) numbers.add(random.below(10 ** (1 + random.below(12))));
    const sorted = [...numbers].sort((a, b) => a - b);
    await keepsOrder(sorted, (n) => paddedNumber(n, 16), parsePaddedNumber);
  });

  test("rejects values that do not sort or do not fit", () => {
    assert.equal(paddedNumber(123, 8), "00000123");
    assert.equal(paddedNumber(0, 1), "0");
    assert.equal(paddedNumber(999, 3), "999");
    assert.throws(() => paddedNumber(1000, 3), {
      name: "RangeError",
      message: "1000 has more than 3 digits.",
    });
    assert.equal(paddedNumber(2n ** 64n, 20), "18446744073709551616");
    assert.equal(paddedNumber(1, 512).length, 512);
    for (const width of [0, 513, 1.5, Number.NaN]) {
      assert.throws(() => paddedNumber(1, width), /padded to 1 to 512 digits/);
    }
    for (const n of [-1, -1n, 0.5, Number.NaN, 2 ** 53, "7" as unknown as number]) {
      assert.throws(() => paddedNumber(n, 20), {
        name: "RangeError",
        message: /^Only non-negative whole numbers sort as padded text, not /,
      });
    }
    assert.equal(parsePaddedNumber("0009007199254740991"), Number.MAX_SAFE_INTEGER);
    for (const text of ["", "-1", "1.0", " 1", "9007199254740992", "x"]) {
      assert.throws(() => parsePaddedNumber(text), RangeError);
    }
  });
});

describe("invertedTicks", () => {
  test(`sorts the latest first (seed ${seed})`, async () => {
    const random = seededRandom(seed);
    const times = new Set([-62135596800000, -1, 0, 1, 253402300799999]);
    while (times.size < 500) times.add(random.below(2 ** 41) - 2 ** 40);
    const sorted = [...times].sort((a, b) => b - a).map((ms) => new Date(ms));
    await keepsOrder(sorted, invertedTicks, parseInvertedTicks);
  });

  test("counts ticks like .NET, in the years that .NET supports", () => {
    assert.equal(invertedTicks(0), "2534023007999999999");
    assert.equal(invertedTicks(253402300799999), "0000000000000009999");
    assert.equal(invertedTicks(-62135596800000), "3155378975999999999");
    for (const ms of [253402300800000, -62135596800001]) {
      assert.throws(() => invertedTicks(ms), {
        name: "RangeError",
        message: /^Ticks are counted in the years 1 to 9999: /,
      });
    }
    assert.throws(() => invertedTicks(new Date(Number.NaN)), { message: /^This is no time: / });
    // One tick (100 ns) before the first one. It belongs to the millisecond before.
    assert.equal(parseInvertedTicks("2534023007999999998").getTime(), 0);
    assert.equal(parseInvertedTicks("2534023008000000000").getTime(), -1);
    assert.equal(parseInvertedTicks("3155378975999999999").getTime(), -62135596800000);
    for (const text of ["", "1", "3155378976000000000", "253402300799999999x"]) {
      assert.throws(() => parseInvertedTicks(text), RangeError);
    }
  });
});

describe("timeKey", () => {
  test(`sorts by time, and is decoded to the start of its day or hour (seed ${seed})`, async () => {
    const random = seededRandom(seed);
    const times = new Set([-62167219200000, 0, 253402300799999]);
    while (times.size < 500) times.add(random.below(2 ** 41));
    const sorted = [...times].sort((a, b) => a - b);
    await keepsOrder(
      sorted,
      (ms) => timeKey(ms, "millisecond"),
      (key) => parseTimeKey(key).getTime(),
    );
    const units: [TimeUnit, number][] = [
      ["day", 86_400_000],
      ["hour", 3_600_000],
      ["minute", 60_000],
      ["second", 1000],
    ];
    for (const [unit, length] of units) {
      for (const ms of sorted) {
        const begin = parseTimeKey(timeKey(ms, unit)).getTime();
        assert.equal(begin, Math.floor(ms / length) * length);
      }
    }
  });

  test("has a unit, in UTC, and rejects other units", () => {
    const time = new Date("2026-11-21T09:08:07.065Z");
    const keys = ["2026", "202611", "20261121", "2026112109", "202611210908", "20261121090807"];
    const units: TimeUnit[] = ["year", "month", "day", "hour", "minute", "second", "millisecond"];
    assert.deepEqual(
      units.map((unit) => timeKey(time, unit)),
      [...keys, "20261121090807065"],
    );
    assert.equal(parseTimeKey("2026").toISOString(), "2026-01-01T00:00:00.000Z");
    assert.equal(parseTimeKey("202602").toISOString(), "2026-02-01T00:00:00.000Z");
    for (const key of ["", "20261", "20261301", "20260230", "2026112124", "abcd", "2026-11"]) {
      assert.throws(
        () => parseTimeKey(key),
        { name: "RangeError", message: /^timeKey never makes/ },
        key,
      );
    }
    assert.throws(() => timeKey(time, "week" as TimeUnit), /not of week/);
    for (const ms of [253402300800000, -62167219200001]) {
      assert.throws(() => timeKey(ms, "day"), /year of four digits/);
    }
  });
});

describe("prefixRange", () => {
  test(`contains all keys with the prefix, and no other (seed ${seed})`, async () => {
    const random = seededRandom(seed);
    const allowed = alphabet.filter((character) => !isForbidden(character));
    const text = (most: number) =>
      Array.from(
        { length: random.below(most + 1) },
        () => allowed[random.below(allowed.length)],
      ).join("");
    const keys = new Set<string>(["", ...allowed]);
    while (keys.size < 1000) keys.add(text(4));
    await using store = await openStore({ name: "acme", persistence: "memory" });
    const table = store.table("keys");
    await table.createTable();
    await table.bulk([...keys].map((rowKey) => ["create", { partitionKey: "p", rowKey }]));
    for (const prefix of ["", ...allowed, "a'", ...Array.from({ length: 60 }, () => text(2))]) {
      const range = rangeFilter("RowKey", prefixRange(prefix));
      const filter = `PartitionKey eq 'p' and ${range}`;
      const found: string[] = [];
      for await (const { rowKey } of table.listEntities({ queryOptions: { filter } })) {
        found.push(rowKey as string);
      }
      const expected = [...keys].filter((key) => key.startsWith(prefix)).sort(byUnits);
      assert.deepEqual(found, expected, JSON.stringify(prefix));
      const { rowsRead } = await table.explain({ queryOptions: { filter } });
      assert.equal(rowsRead, expected.length);
    }
  });

  test("ends at the first key that cannot have the prefix", () => {
    assert.deepEqual(prefixRange("empid!"), { from: "empid!", to: 'empid"' });
    assert.deepEqual(prefixRange("a\uffff\uffff"), { from: "a\uffff\uffff", to: "b" });
    assert.deepEqual(prefixRange("\ud7ff"), { from: "\ud7ff", to: "\u{10000}" });
    assert.deepEqual(prefixRange("\u{1f7ff}"), { from: "\u{1f7ff}", to: "\u{1f800}" });
    assert.deepEqual(prefixRange("\u{10ffff}"), { from: "\u{10ffff}", to: "\ue000" });
    assert.deepEqual(prefixRange("\uffff"), { from: "\uffff" });
    assert.deepEqual(prefixRange(""), { from: "" });
    assert.equal(
      rangeFilter("PartitionKey", prefixRange("o'")),
      "PartitionKey ge 'o''' and PartitionKey lt 'o('",
    );
    assert.equal(rangeFilter("RowKey", prefixRange("")), "RowKey ge ''");
    assert.throws(() => prefixRange("\ud800"), RangeError);
  });

  test("with compositePrefix: contains the keys that begin with these parts", async () => {
    const keys = [["a"], ["a", ""], ["a", "x", "y"], ["a!"], ["a b"], ["ab"], ['a"', "x"]].map(
      (parts) => compositeKey(...parts),
    );
    const { from, to = "" } = prefixRange(compositePrefix("a"));
    const found = (await listed(keys)).filter((key) => key >= from && key < to);
    assert.deepEqual(found.map(parseCompositeKey), [
      ["a", ""],
      ["a", "x", "y"],
    ]);
  });
});
