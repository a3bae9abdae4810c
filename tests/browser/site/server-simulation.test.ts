// Tests the simulation of partition servers without a page.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  model,
  type PartitionRequest,
  type Second,
  simulate,
} from "../../../demo/site/src/server-simulation.ts";

const about = (entities: number, ...partitions: string[]): PartitionRequest[] =>
  partitions.map((partition) => ({ partition, entities }));
const users = Array.from({ length: 100 }, (_, i) => `user-${String(i).padStart(3, "0")}`);
const onePartition = about(1, "today");
const hundred = about(1, ...users);

const served = ({ served: servers }: Second) => servers.reduce((sum, one) => sum + one, 0);
const throttled = (second: Second) =>
  Object.values(second.throttled).reduce((sum, one) => sum + one, 0);

describe("the simulation of servers", () => {
  test("no request is rejected and no range moves while one server is enough", () => {
    const { seconds, ranges } = simulate(hundred, 2800, 30);
    assert.equal(seconds.length, 30);
    assert(seconds.every((second) => served(second) === 2800 && throttled(second) === 0));
    assert.deepEqual(ranges, [{ from: "", server: 0, movingUntil: 0 }]);
  });

  test("one partition always serves its 2,000 requests a second, on one server", () => {
    const { seconds, ranges } = simulate(onePartition, 5000, 30);
    for (const second of seconds) {
      assert.deepEqual(second.served, [2000, 0, 0, 0, 0]);
      assert.deepEqual(second.throttled, { account: 0, partition: 3000, server: 0, moving: 0 });
    }
    assert.equal(ranges.length, 1);
    assert.deepEqual(seconds[2]?.events, [
      "one partition is too busy, but a partition can't be split",
    ]);
  });

  test("many partitions are distributed until no request is rejected", () => {
    const { seconds, ranges } = simulate(hundred, 10_000, 30);
    assert.deepEqual(seconds[0]?.served, [model.serverLimit, 0, 0, 0, 0]);
    assert.equal(seconds[0]?.throttled.server, 6000);
    assert.match(
      seconds[2]?.events.join() ?? "",
      /^a range is split at “user-050”; the upper half moves to server 2$/,
    );
    assert.equal(seconds[3]?.throttled.moving, 5000);
    assert.equal(throttled(seconds.at(-1) as Second), 0);
    // 2,500 requests each, which is below a server's limit
    assert.equal(new Set(ranges.map(({ server }) => server)).size, 4);
    assert.deepEqual(
      ranges.map(({ from }) => from),
      ranges.map(({ from }) => from).sort(),
    );
  });

  test("a partition counts entities, and an account requests", () => {
    const packed = simulate(about(100, "today"), 500, 30);
    for (const second of packed.seconds) {
      assert.deepEqual(second.served, [20, 0, 0, 0, 0]);
      assert.deepEqual(second.entities, [2000, 0, 0, 0, 0]);
      assert.equal(second.throttled.partition, 480);
    }
    // 500 requests for 10,000 entities per second over all servers are far below the account's
    // limit.
    const spread = simulate(about(20, ...users), 500, 30);
    const last = spread.seconds.at(-1) as Second;
    assert.deepEqual([served(last), throttled(last)], [500, 0]);
    assert.equal(
      last.entities.reduce((sum, one) => sum + one, 0),
      10_000,
    );
    // Requests that find no entities count too.
    const idle = simulate(about(0, ...users), 25_000, 1);
    assert.deepEqual(
      [served(idle.seconds[0] as Second), idle.seconds[0]?.throttled.account],
      [20_000, 5000],
    );
  });

  test("no choice of keys raises the account's limit", () => {
    const { seconds } = simulate(hundred, 40_000, 30);
    for (const second of seconds) {
      assert(served(second) <= model.accountLimit);
      assert.equal(served(second) + throttled(second), 40_000);
    }
    assert.equal((seconds.at(-1) as Second).throttled.account > 0, true);
  });

  test("every request is served or rejected, at any rate and for any keys", () => {
    for (const rate of [1, 999, 20_000]) {
      for (const run of [
        onePartition,
        hundred,
        about(1, "a", "a", "a", "b"),
        about(7, "", "ü", "\u{1f600}"),
        [...about(100, "a"), ...about(1, "a", "b"), ...about(0, "c")],
      ]) {
        for (const second of simulate(run, rate, 12).seconds) {
          assert.equal(served(second) + throttled(second), rate);
          assert(second.entities.every((one) => one <= model.serverLimit));
        }
      }
    }
  });

  test("no requests, no seconds", () => {
    assert.deepEqual(simulate([], 1000, 30).seconds, []);
  });
});
