// Tests how bytes are sent between threads: what is transferred, what is copied, and that no other
// bytes are sent.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ownBuffer, portChannel } from "../../web/src/tabs/channel.ts";
import { arenaBytes, arenaCopyBytesMax, copyToArena } from "../../web/src/util/byte-arena.ts";

const bytes = Uint8Array.from({ length: 3 * arenaCopyBytesMax }, (_, i) => i);

test("small chunks share a buffer, and keep their content", () => {
  const pieces = Array.from({ length: 3000 }, (_, i) => copyToArena(bytes, i, i + 1 + (i % 200)));
  for (const [i, piece] of pieces.entries()) {
    assert.deepEqual(piece, bytes.slice(i, i + 1 + (i % 200)));
    assert.equal(piece.byteOffset % 8, 0);
    assert.equal(piece.buffer.byteLength, arenaBytes);
  }
  assert.ok(new Set(pieces.map(({ buffer }) => buffer)).size < 10);
});

test("a large chunk has its own buffer", () => {
  assert.equal(copyToArena(bytes, 0, arenaCopyBytesMax).buffer.byteLength, arenaBytes);
  const big = copyToArena(bytes, 7, 8 + arenaCopyBytesMax);
  assert.equal(big.buffer.byteLength, 1 + arenaCopyBytesMax);
  assert.deepEqual(big, bytes.slice(7, 8 + arenaCopyBytesMax));
});

test("part of a buffer is sent as a copy, a whole buffer is transferred", async () => {
  const { port1, port2 } = new MessageChannel();
  const arrived = new Promise<Uint8Array[]>((resolve) => {
    port2.onmessage = ({ data }) => resolve(data);
  });
  const channel = portChannel(port1, () => {});
  const part = copyToArena(bytes, 0, 5);
  const own = bytes.slice(0, 9);
  const sent = [ownBuffer(part), ownBuffer(own)];
  channel.post(sent, sent);
  const [first, second] = await arrived;
  assert.deepEqual([first, second], [bytes.slice(0, 5), bytes.slice(0, 9)]);
  assert.equal(first?.buffer.byteLength, 5, "not all of the slab");
  assert.equal(own.buffer.byteLength, 0, "moved");
  assert.deepEqual(part, bytes.slice(0, 5), "still here");
  channel.close();
  port2.close();
});
