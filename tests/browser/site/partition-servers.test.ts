// The simulation of servers, by itself.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { model, type Second, simulate } from "../../../demo/site/src/partition-servers.ts";

const onePartition = ["today"];
const hundred = Array.from({ length: 100 }, (_, i) => `user-${String(i).padStart(3, "0")}`);

const served = ({ served: servers }: Second) => servers.reduce((sum, one) => sum + one, 0);
const refused = (second: Second) =>
  Object.values(second.refused).reduce((sum, one) => sum + one, 0);

describe("the simulation of servers", () => {
  test("nothing is refused, and nothing moves, while one server can do it all", () => {
    const { seconds, ranges } = simulate(hundred, 2800, 30);
    assert.equal(seconds.length, 30);
    assert(seconds.every((second) => served(second) === 2800 && refused(second) === 0));
    assert.deepEqual(ranges, [{ from: "", server: 0, movingUntil: 0 }]);
  });

  test("one partition serves its 2,000 a second, for ever, on one server", () => {
    const { seconds, ranges } = simulate(onePartition, 5000, 30);
    for (const second of seconds) {
      assert.deepEqual(second.served, [2000, 0, 0, 0, 0]);
      assert.deepEqual(second.refused, { account: 0, partition: 3000, server: 0, moving: 0 });
    }
    assert.equal(ranges.length, 1);
    assert.deepEqual(seconds[2]?.events, [
      "one partition is too busy, and a partition can't be split",
    ]);
  });

  test("many partitions are spread until nothing is refused", () => {
    const { seconds, ranges } = simulate(hundred, 10_000, 30);
    assert.deepEqual(seconds[0]?.served, [model.serverLimit, 0, 0, 0, 0]);
    assert.equal(seconds[0]?.refused.server, 6000);
    assert.match(
      seconds[2]?.events.join() ?? "",
      /^a range is split at “user-050”; the upper half moves to server 2$/,
    );
    assert.equal(seconds[3]?.refused.moving, 5000);
    assert.equal(refused(seconds.at(-1) as Second), 0);
    assert.equal(new Set(ranges.map(({ server }) => server)).size, 4); // 2,500 each: none is busy
    assert.deepEqual(
      ranges.map(({ from }) => from),
      ranges.map(({ from }) => from).sort(),
    );
  });

  test("no keys help against the account's limit", () => {
    const { seconds } = simulate(hundred, 40_000, 30);
    for (const second of seconds) {
      assert(served(second) <= model.accountLimit);
      assert.equal(served(second) + refused(second), 40_000);
    }
    assert.equal((seconds.at(-1) as Second).refused.account > 0, true);
  });

  test("what arrives is served or refused, at any rate and for any keys", () => {
    for (const rate of [1, 999, 20_000]) {
      for (const keys of [onePartition, hundred, ["a", "a", "a", "b"], ["", "ü", "\u{1f600}"]]) {
        for (const second of simulate(keys, rate, 12).seconds) {
          assert.equal(served(second) + refused(second), rate);
          assert(second.served.every((one) => one <= model.serverLimit));
        }
      }
    }
  });

  test("no requests, no seconds", () => {
    assert.deepEqual(simulate([], 1000, 30).seconds, []);
  });
});
