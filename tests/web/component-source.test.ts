// What components of all frameworks subscribe to (web/src/frameworks/source.ts).

import assert from "node:assert/strict";
import { test } from "node:test";
import { createSource } from "../../web/src/frameworks/source.ts";

// Returns a source of numbers that shows 0 at first, and what it has done.
function numbers() {
  const done: string[] = [];
  let show: (value: number) => void = () => {};
  const source = createSource<number>(0, (given) => {
    done.push("open");
    show = given;
    return () => done.push("close");
  });
  return { source, done, show: (value: number) => show(value) };
}

const soon = () => new Promise((resolve) => setTimeout(resolve));

test("is opened by the first listener, and closed after the last one", async () => {
  const { source, done, show } = numbers();
  assert.equal(source.getSnapshot(), 0);
  const endFirst = source.subscribe(() => done.push("first"));
  const endSecond = source.subscribe(() => done.push("second"));
  show(1);
  assert.equal(source.getSnapshot(), 1);
  endFirst();
  await soon();
  endSecond();
  assert.deepEqual(done, ["open", "first", "second"]);
  await soon();
  assert.deepEqual(done, ["open", "first", "second", "close"]);
  source.subscribe(() => {})();
  await soon();
  assert.deepEqual(done.slice(4), ["open", "close"]);
});

test("stays open for a listener that comes back at once", async () => {
  const { source, done } = numbers();
  const listener = () => {};
  source.subscribe(listener)();
  const end = source.subscribe(listener);
  await soon();
  assert.deepEqual(done, ["open"]);
  end();
  end();
  await soon();
  assert.deepEqual(done, ["open", "close"]);
});

test("does not call a listener that another one has removed", () => {
  const { source, done, show } = numbers();
  source.subscribe(() => {
    done.push("first");
    endSecond();
    source.subscribe(() => done.push("third"));
  });
  const endSecond = source.subscribe(() => done.push("second"));
  show(1);
  assert.deepEqual(done, ["open", "first"]);
});

test("calls the others if a listener throws, and reports the error", async (t) => {
  const { source, done, show } = numbers();
  const runners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  t.after(() => {
    for (const runner of runners) process.on("unhandledRejection", runner);
  });
  const reported = new Promise((resolve) => process.once("unhandledRejection", resolve));
  source.subscribe(() => {
    throw new RangeError("thrown");
  });
  source.subscribe(() => done.push("second"));
  show(1);
  assert.deepEqual(done, ["open", "second"]);
  assert.match(String(await reported), /RangeError: thrown/);
});
