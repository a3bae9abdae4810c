import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { VirtualClock } from "../../../web/src/testing/virtual-clock.ts";

const noon = "2026-05-04T12:00:00Z";
const turn = () => new Promise((resolve) => setImmediate(resolve));
const invalid = { name: "StoreError", code: "ValidationFailed" };

describe("a virtual clock", () => {
  test("stands still until it is advanced", () => {
    const clock = new VirtualClock(noon);
    assert.equal(clock.now(), Date.parse(noon));
    clock.advance(1500);
    clock.advance(0);
    assert.equal(clock.now(), Date.parse(noon) + 1500);
    assert.equal(clock.elapsedMs, 1500);
  });

  test("can be set to a later or an earlier time", () => {
    const clock = new VirtualClock(new Date(noon));
    clock.set("2026-05-04T13:00:00Z");
    assert.equal(clock.elapsedMs, 3_600_000);
    clock.set(new Date(0));
    assert.equal(clock.now(), 0);
    clock.set(17);
    assert.equal(clock.now(), 17);
  });

  test("runs with another clock, ahead of it", () => {
    let time = 1000;
    const clock = new VirtualClock({ now: () => time });
    clock.advance(5);
    time += 100;
    assert.equal(clock.now(), 1105);
    assert.equal(clock.elapsedMs, 105);
    clock.set(50);
    time += 1;
    assert.equal(clock.now(), 51);
  });

  test("rejects an invalid time", () => {
    const clock = new VirtualClock(noon);
    assert.throws(() => new VirtualClock("noon"), invalid);
    assert.throws(() => clock.set(new Date(Number.NaN)), invalid);
    assert.throws(() => clock.set(Number.POSITIVE_INFINITY), invalid);
    for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => clock.advance(ms), invalid);
    }
    assert.equal(clock.elapsedMs, 0);
  });

  test("jumps to the end of a wait, and waits overlap", async () => {
    const clock = new VirtualClock(noon);
    const ended: string[] = [];
    const wait = (ms: number, name: string) =>
      clock.wait(ms).then(() => ended.push(`${name} at ${clock.elapsedMs}`));
    await Promise.all([wait(300, "a"), wait(100, "b"), wait(100, "c"), wait(0, "d")]);
    assert.deepEqual(ended, ["d at 0", "b at 100", "c at 100", "a at 300"]);
  });

  test("does not skip a wait that begins when another ends", async () => {
    const clock = new VirtualClock(noon);
    const ended: number[] = [];
    const twice = async () => {
      await clock.wait(100);
      await clock.wait(100);
      ended.push(clock.elapsedMs);
    };
    await Promise.all([twice(), clock.wait(1000).then(() => ended.push(clock.elapsedMs))]);
    assert.deepEqual(ended, [200, 1000]);
  });

  test("without autoAdvance a wait ends when the clock is advanced far enough", async () => {
    const clock = new VirtualClock(noon);
    clock.autoAdvance = false;
    assert.equal(clock.autoAdvance, false);
    let ended = false;
    const wait = clock.wait(100).then(() => {
      ended = true;
    });
    clock.advance(99);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(ended, false);
    clock.advance(1);
    await wait;
    const late = clock.wait(50);
    clock.set(clock.now() + 500);
    await late;
    assert.equal(clock.elapsedMs, 600);
  });

  test("autoAdvance ends the pending waits when it is switched on", async () => {
    const clock = new VirtualClock(noon);
    clock.autoAdvance = false;
    const wait = clock.wait(70);
    clock.autoAdvance = true;
    await wait;
    assert.equal(clock.elapsedMs, 70);
  });

  test("a wait on a running clock ends at its time, unless the clock may jump there", async () => {
    const before = Date.now();
    const clock = new VirtualClock(Date);
    clock.autoAdvance = false;
    let later = false;
    void clock.wait(60_000).then(() => {
      later = true;
    });
    await Promise.all([clock.wait(15), clock.copy().wait(5)]);
    assert(Date.now() - before >= 15);
    assert(clock.elapsedMs < 60_000);
    assert.equal(later, false);
    clock.autoAdvance = true;
    await clock.wait(60_000);
    assert(later && clock.elapsedMs >= 60_000 && Date.now() - before < 60_000);
  });

  test("a wait on a running clock ends when the clock reaches its time", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
    const clock = new VirtualClock({ now: () => Date.now() });
    clock.autoAdvance = false;
    const ended: number[] = [];
    const wait = clock.wait(60_000).then(() => ended.push(clock.elapsedMs));
    clock.advance(59_990);
    t.mock.timers.tick(9);
    await turn();
    assert.deepEqual(ended, []);
    t.mock.timers.tick(1);
    await turn();
    assert.deepEqual(ended, [60_000]);
    await wait;
  });

  test("an aborted wait is over, and does not advance the clock", async () => {
    const clock = new VirtualClock(noon);
    const abort = new AbortController();
    const given = clock.wait(100, abort.signal);
    abort.abort(new Error("enough"));
    await assert.rejects(given, { message: "enough" });
    await assert.rejects(clock.wait(1, abort.signal), { message: "enough" });
    await clock.wait(5);
    await turn();
    assert.equal(clock.elapsedMs, 5);
  });

  test("accepts milliseconds only, and works after an invalid value", async () => {
    const clock = new VirtualClock(noon);
    for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      await assert.rejects(clock.wait(ms), invalid);
    }
    await clock.wait(7);
    assert.equal(clock.elapsedMs, 7);
  });

  test("a copy continues independently", () => {
    const clock = new VirtualClock(noon);
    clock.advance(10);
    clock.autoAdvance = false;
    const copy = clock.copy();
    assert.equal(copy.elapsedMs, 10);
    assert.equal(copy.autoAdvance, false);
    copy.advance(5);
    clock.advance(1);
    assert.equal(copy.elapsedMs, 15);
    assert.equal(clock.elapsedMs, 11);
  });
});
