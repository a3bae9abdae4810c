import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SeededRandom } from "../../../web/src/testing/seeded-random.ts";

function bytes(random: SeededRandom, count: number): string {
  const out = new Uint8Array(count);
  random.fill(out);
  return Buffer.from(out).toString("hex");
}

describe("seeded bytes", () => {
  test("are equal for equal seeds, on every machine", () => {
    assert.equal(bytes(new SeededRandom(42), 12), "7cefe1998a2bc372c0323bda");
  });

  test("differ from seed to seed, and from call to call", () => {
    const seeds = [0, 1, 2, 3, 2 ** 31, 2 ** 32 - 1];
    const seen = seeds.flatMap((seed) => {
      const random = new SeededRandom(seed);
      return [bytes(random, 16), bytes(random, 16)];
    });
    assert.equal(new Set(seen).size, seen.length);
  });

  test("fill every byte of any length", () => {
    for (let length = 0; length < 20; ++length) {
      const all = new Uint8Array(length);
      const random = new SeededRandom(7);
      for (let round = 0; round < 40; ++round) {
        const out = new Uint8Array(length);
        random.fill(out);
        for (const [i, byte] of out.entries()) all[i] = (all[i] as number) | byte;
      }
      assert.deepEqual([...all], Array(length).fill(255));
    }
  });

  test("continue from a saved state", () => {
    const random = new SeededRandom(5);
    bytes(random, 12);
    const { state } = random;
    const expected = bytes(random, 8);
    random.state = state;
    assert.equal(bytes(random, 8), expected);
  });

  test("require an integer", () => {
    for (const seed of [1.5, -1, 2 ** 32, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => new SeededRandom(seed), { code: "ValidationFailed" });
    }
  });
});
