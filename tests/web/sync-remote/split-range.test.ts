// Tests how a key range is divided for parallel readers.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isInRange, type Key, type KeyRange, keyOf } from "../../../web/src/sync/keys.ts";
import { splitRange } from "../../../web/src/sync-remote/split-range.ts";
import { seededRandom } from "../support/random.ts";
import { openPeople, openRemote } from "./support.ts";

const all: KeyRange = { from: "" };

/** A table with these keys. Counts the probes. */
function tableOf(keys: readonly Key[]) {
  const sorted = [...keys].sort();
  const table = {
    probes: 0,
    firstKey: async (range: KeyRange) => {
      assert.doesNotMatch(range.from, /\p{Surrogate}/u);
      table.probes += 1;
      return { kind: "key", key: sorted.find((key) => isInRange(key, range)) } as const;
    },
  };
  return table;
}

/** Checks that the ranges are the whole range, and returns how many keys each has. */
function sizesOf(ranges: readonly KeyRange[], range: KeyRange, keys: readonly Key[]): number[] {
  assert.equal(ranges[0]?.from, range.from);
  assert.equal(ranges.at(-1)?.to, range.to);
  for (const [at, { to }] of ranges.slice(0, -1).entries()) assert.equal(ranges[at + 1]?.from, to);
  return ranges.map((one) => keys.filter((key) => isInRange(key, one)).length);
}

const numbered = (count: number, digits: number, prefix = ""): string[] =>
  Array.from({ length: count }, (_, at) => prefix + String(at).padStart(digits, "0"));

describe("a range is divided", () => {
  test("by partitions", async () => {
    const keys = numbered(1000, 3, "user").map((partition) => keyOf(partition, "1"));
    const table = tableOf(keys);
    const sizes = sizesOf(await splitRange(table.firstKey, all, 8), all, keys);
    assert.deepEqual(sizes, [100, 100, 100, 200, 100, 100, 100, 200]);
    assert(table.probes <= 20);
  });

  test("by row keys, if there is one partition", async () => {
    const keys = numbered(1000, 3).map((row) => keyOf("p", row));
    const sizes = sizesOf(await splitRange(tableOf(keys).firstKey, all, 4), all, keys);
    assert.deepEqual(sizes, [200, 300, 200, 300]);
  });

  test("and stays whole if it is empty, or has one key", async () => {
    for (const keys of [[], [keyOf("p", "1")]]) {
      const ranges = await splitRange(tableOf(keys).firstKey, { from: "a", to: "z" }, 8);
      assert.deepEqual(ranges, [{ from: "a", to: "z" }]);
    }
  });

  test("completely, whatever the keys", async () => {
    const random = seededRandom(7);
    const letters = ["", "a", "b", "\ud7ff", "\ud83d\ude00", "\udbff\udfff", "\ue000", "\uffff"];
    const text = () =>
      Array.from({ length: random.below(4) }, () => letters[random.below(letters.length)]).join("");
    for (let round = 0; round < 200; ++round) {
      const keys = Array.from({ length: random.below(30) }, () => keyOf(text(), text()));
      const [from = "", to] = [text(), text()].sort();
      const range = random.below(2) === 0 ? all : { from, to };
      const table = tableOf(keys);
      const count = 1 + random.below(6);
      const ranges = await splitRange(table.firstKey, range, count);
      const inside = keys.filter((key) => isInRange(key, range)).length;
      const sizes = sizesOf(ranges, range, keys);
      assert.equal(
        sizes.reduce((a, b) => a + b),
        inside,
      );
      assert(ranges.length <= count && table.probes <= 110);
      if (ranges.length > 1) assert(sizes.every((size) => size > 0));
    }
  });

  test("by the prefixes that could be read, if a read fails", async () => {
    const keys = numbered(1000, 3, "user").map((partition) => keyOf(partition, "1"));
    const never = async () => ({ kind: "failed" });
    assert.deepEqual(await splitRange(never, all, 8), [{ from: "", to: undefined }]);
    const mixed = [...keys, ...numbered(100, 3, "x").map((partition) => keyOf(partition, "1"))];
    const two = tableOf(mixed);
    const some = async (range: KeyRange) =>
      two.probes < 4 ? two.firstKey(range) : ({ kind: "failed" } as const);
    assert.deepEqual(sizesOf(await splitRange(some, all, 8), all, mixed), [1000, 100]);
  });

  test("no further when its ranges are not needed any more", async () => {
    const table = tableOf(numbered(1000, 3, "user").map((partition) => keyOf(partition, "1")));
    await splitRange(table.firstKey, all, 8, () => table.probes >= 7);
    assert.equal(table.probes, 7);
  });

  test("without the control characters that no key can have", async () => {
    const keys = [keyOf("p", "a~1"), keyOf("p", "a~2"), keyOf("p", "b")];
    const table = tableOf(keys);
    await splitRange(
      (range) => {
        assert.doesNotMatch(range.from, /[\u007f-\u009f]/);
        return table.firstKey(range);
      },
      all,
      3,
    );
  });

  test("by reads of one entity each", async () => {
    const rows = numbered(20, 2).map((row) => [keyOf("p", row), new Map()] as const);
    const people = await openPeople(new Map(rows));
    const tops = new Set<string | null>();
    const remote = openRemote({
      fetch: (input, init) => {
        tops.add(new URL(String(input)).searchParams.get("$top"));
        return people(input, init);
      },
    });
    const ranges = await splitRange((range) => remote.firstKey(range), all, 2);
    assert.deepEqual(ranges, [
      { from: "", to: "p\u00001" },
      { from: "p\u00001", to: undefined },
    ]);
    assert.deepEqual([...tops], ["1"]);
  });
});
