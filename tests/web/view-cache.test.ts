// Tests the cache of views: each view shows the requested bytes of the current buffer.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SubarrayCache } from "../../web/src/util/subarray-cache.ts";

function assertShows(view: Uint8Array, buffer: Uint8Array, from: number, size: number): void {
  assert.deepEqual(
    [view.buffer === buffer.buffer, view.byteOffset, view.length],
    [true, buffer.byteOffset + from, size],
  );
}

test("a view shows the requested bytes", () => {
  const views = new SubarrayCache();
  const memory = new ArrayBuffer(8192);
  const buffers = [new Uint8Array(memory), new Uint8Array(memory, 8), new Uint8Array(8192)];
  for (const buffer of [...buffers, ...buffers]) {
    for (const from of [0, 1, 8, 8, 0]) {
      for (const size of [0, 1, 1023, 1024, 1025, 4096]) {
        assertShows(views.view(buffer, from, size), buffer, from, size);
      }
    }
  }
});

test("short views are reused while they begin at the same offset", () => {
  const views = new SubarrayCache();
  const buffer = new Uint8Array(8192);
  const first = views.view(buffer, 16, 300);
  views.view(buffer, 16, 301);
  assert.equal(views.view(buffer, 16, 300), first);
  assert.notEqual(views.view(buffer, 17, 300), first);
  assert.notEqual(views.view(buffer, 16, 300), first);
  const long = views.view(buffer, 0, 1025);
  assert.notEqual(views.view(buffer, 0, 1025), long);
});

test("views are renewed when memory has grown", () => {
  const views = new SubarrayCache();
  const memory = new WebAssembly.Memory({ initial: 1 });
  const before = new Uint8Array(memory.buffer);
  views.view(before, 0, 100);
  memory.grow(1);
  const after = new Uint8Array(memory.buffer);
  assertShows(views.view(after, 0, 100), after, 0, 100);
});
