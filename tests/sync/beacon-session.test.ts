// Tests how a session uses a beacon: other clients name there what they have pushed.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Beacon } from "../../web/src/sync-session/beacon-work.ts";
import { key, minute, second, text, World } from "./session-world.ts";

class ScriptedBeacon implements Beacon {
  /** What the next call resolves to. Undefined: not known. */
  changed_: string[] | undefined = [];
  calls = 0;
  announced: string[][] = [];

  changed(): Promise<string[] | undefined> {
    this.calls += 1;
    const changed = this.changed_;
    this.changed_ = [];
    return Promise.resolve(changed);
  }

  announce(partitions: ReadonlySet<string>): Promise<void> {
    this.announced.push([...partitions]);
    return Promise.resolve();
  }
}

const only = (requests: readonly string[], kind: string) =>
  requests.filter((request) => request === kind).length;

async function started(): Promise<[World, ScriptedBeacon]> {
  const world = new World({ maxAgeMs: 1000 * minute });
  const beacon = new ScriptedBeacon();
  world.beacon = beacon;
  world.session.start();
  await world.pass(20 * second);
  return [world, beacon];
}

test("while the beacon names nothing, nothing is scanned", async () => {
  const [world, beacon] = await started();
  const calls = beacon.calls;
  assert.deepEqual(await world.pass(60 * minute), []);
  assert(beacon.calls - calls >= 12);
});

test("only the partitions are scanned that the beacon names", async () => {
  const [world, beacon] = await started();
  world.change(key("1"), text("there"));
  world.change(key("1", "q"), text("not named"));
  beacon.changed_ = ["p"];
  assert.deepEqual(await world.pass(minute), ["delta"]);
  assert.deepEqual([world.local(key("1")), world.local(key("1", "q"))], ["there", ""]);
});

test("if the beacon cannot tell, everything is scanned", async () => {
  const [world, beacon] = await started();
  world.change(key("1", "q"), text("there"));
  beacon.changed_ = undefined;
  await world.pass(minute);
  assert.equal(world.local(key("1", "q")), "there");
});

test("what could not be read is read with the next poll", async () => {
  const [world, beacon] = await started();
  world.change(key("1"), text("there"));
  beacon.changed_ = ["p"];
  world.remote.failure = { kind: "failed" };
  await world.pass(2 * minute);
  assert.equal(world.local(key("1")), "");
  world.remote.failure = undefined;
  await world.pass(10 * minute);
  assert.equal(world.local(key("1")), "there");
});

test("pushes are named once for those of a moment", async () => {
  const [world, beacon] = await started();
  world.write(key("1"), text("here"));
  world.write(key("1", "q"), text("here"));
  assert.equal(only(await world.pass(second), "push"), 2);
  assert.deepEqual(beacon.announced.flat().sort(), ["p", "q"]);
});
