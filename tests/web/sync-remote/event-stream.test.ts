// Tests the parser of server-sent events.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EventStreamParser } from "../../../web/src/sync-remote/event-stream.ts";

const text = ": a\r\nid: 1\r\n\r\nid: 2\ndata: x\ndata: y\n\nevent: head\rdata:z\r\rid: 3\n\n";
const events = [
  { type: "message", id: "1", data: "" },
  { type: "message", id: "2", data: "x\ny" },
  { type: "head", id: undefined, data: "z" },
  { type: "message", id: "3", data: "" },
];

test("events may arrive in chunks of any length", () => {
  for (let length = 1; length <= text.length; ++length) {
    const parser = new EventStreamParser();
    const found = [];
    for (let at = 0; at < text.length; at += length)
      found.push(...parser.push(text.slice(at, at + length)));
    assert.deepEqual(found, events, `${length} characters`);
  }
});

test("a large event takes a time that is proportional to its length", () => {
  const parser = new EventStreamParser();
  const began = performance.now();
  parser.push("data: ");
  for (let chunk = 0; chunk < 20_000; ++chunk) assert.deepEqual(parser.push("x".repeat(500)), []);
  const [event] = parser.push("\n\n");
  assert.equal(event?.data.length, 10_000_000);
  assert(performance.now() - began < 10_000);
});

test("an event without an end is refused", () => {
  const parser = new EventStreamParser();
  const chunk = "x".repeat(2 ** 20);
  assert.throws(() => {
    for (let chunks = 0; chunks < 100; ++chunks) parser.push(chunk);
  }, /too large/);
});
