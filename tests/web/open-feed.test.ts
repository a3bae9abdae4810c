// Tests how many batches a reader of the change feed keeps, with a simulated store.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { FeedBatch } from "../../web/src/client/changes-decoder.ts";
import { OpenFeed } from "../../web/src/client/live-feed.ts";
import type { MessageWriter } from "../../web/src/client/message-writer.ts";
import { AbortError, StoreError } from "../../web/src/errors.ts";

const batchesMax = 1000;

function batch(sequence: bigint): FeedBatch {
  return { feed: 1, batch: { sequence, at: new Date(0), origin: "local", changes: [] } };
}

function batches(first: bigint, count: number): FeedBatch[] {
  return Array.from({ length: count }, (_, i) => batch(first + BigInt(i)));
}

function openFeed(): OpenFeed {
  const ignore = () => {};
  return new OpenFeed({ since: 0n }, { AbortError, StoreError }, ignore, ignore);
}

// The store answers "past" with `count` batches after those before.
function readPast(feed: OpenFeed, first: bigint, count: number, isEnd: boolean): void {
  assert.equal(feed.nextRequest, "past");
  const sequence = first + BigInt(count) - 1n;
  const past = { isEnd, isTruncated: false, number: 0n, changes: new Uint8Array() };
  const changes = { sequence, stored: 0n, deltas: [], batches: batches(first, count) };
  feed.onPast(past, changes);
}

// Resolves to how many batches the feed keeps for its user.
async function kept(feed: OpenFeed): Promise<number> {
  let count = 0;
  for (;;) {
    const result = await Promise.race([feed.next(), undefined]);
    if (result === undefined) return count;
    count += 1;
  }
}

test("a feed that catches up keeps no more than 1,000 batches", async () => {
  const feed = openFeed();
  readPast(feed, 1n, 250, true);
  assert.equal(feed.nextRequest, "open");
  feed.onOpen(1, 700n); // 450 commits were published meanwhile
  for (const live of batches(701n, 250)) feed.add(live);
  assert.equal(feed.id, 1);
  readPast(feed, 251n, 450, true);
  assert.equal(feed.nextRequest, undefined);
  for (const live of batches(951n, 50)) feed.add(live);
  assert.equal(feed.id, 1);
  feed.add(batch(1001n)); // one more
  assert.equal(feed.id, 0);
  assert.equal(await kept(feed), batchesMax);
});

test("a feed that falls behind while it catches up reads the log again", () => {
  const feed = openFeed();
  readPast(feed, 1n, 250, true);
  feed.onOpen(1, 700n);
  for (const live of batches(701n, 251)) feed.add(live);
  assert.equal(feed.id, 0);
  assert.equal(feed.staleId, 1);
  readPast(feed, 251n, 500, false);
  assert.equal(feed.nextRequest, undefined); // until its user has read
});

test("a feed is told what is stored, but not before it has caught up", () => {
  const feed = openFeed();
  readPast(feed, 1n, 10, true);
  feed.onOpen(1, 20n);
  feed.onStored(20n); // there may be batches from 11 to 20
  readPast(feed, 11n, 10, true);
  feed.onStored(30n);
  feed.onStored(25n); // of another message
  feed.onReset();
  const words: number[] = [];
  const putWord = (word: number) => void words.push(word);
  const writer = { putWord, putText() {}, putOptionalText() {} };
  feed.put("past", writer as unknown as MessageWriter);
  assert.deepEqual(words.slice(0, 2), [30, 0]); // since
});
