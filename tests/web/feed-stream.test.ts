// Tests how a server sends a change feed, without a store.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FeedStream, heartbeatMs } from "../../web/src/server/feed-stream.ts";
import type { ChangeFeed } from "../../web/src/types.ts";
import { until } from "./support/until.ts";

test("a client is told that it has got everything if the position moves without a batch", async () => {
  let position = 1n;
  let end = () => {};
  const ended = new Promise<{ done: true; value: undefined }>((resolve) => {
    end = () => resolve({ done: true, value: undefined });
  });
  const feed = {
    get position() {
      return position;
    },
    next: () => ended,
    return: () => {
      end();
      return ended;
    },
  } as unknown as ChangeFeed;
  let sent = "";
  const write = (bytes: Uint8Array) => {
    sent += new TextDecoder().decode(bytes);
    return true;
  };
  const response = { on: () => {}, writeHead: () => {}, end: () => {}, write };
  const stream = new FeedStream(
    {
      feed,
      headers: [],
      head: { sequence: 5n, store: "a" },
      includesKey: undefined,
      isStillAllowed: async () => true,
      responses: {} as never,
      responseMs: 1000,
    },
    response as never,
  );
  const sending = stream.send(new AbortController().signal);
  await until(() => sent.includes("event: head"));
  const before = sent;
  const began = performance.now();
  position = 7n;
  await until(() => sent !== before);
  assert.equal(sent.slice(before.length), ":\nid: 7\n\n");
  assert(performance.now() - began < heartbeatMs / 2);
  stream.end();
  await sending;
});
