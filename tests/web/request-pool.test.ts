// Tests the pool of copied request messages: a copy does not change until it is released, and its
// memory is reused afterwards.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type PooledRequest, RequestPool } from "../../web/src/host/request-pool.ts";
import { SeededRandom } from "../../web/src/testing/seeded-random.ts";

const filled = (size: number, value: number) => new Uint8Array(size).fill(value);

test("a kept message is a copy", () => {
  const requests = new RequestPool();
  for (const size of [0, 1, 65_536, 65_537, 1_000_000]) {
    const request = filled(size, 7);
    const kept = requests.add(request);
    request.fill(8);
    assert.deepEqual(kept.request, filled(size, 7));
  }
});

test("memory is reused when everything in it is released", () => {
  const requests = new RequestPool();
  const buffers = new Set<ArrayBufferLike>();
  for (let round = 0; round < 50; ++round) {
    const kept = Array.from({ length: 100 }, () => requests.add(filled(5000, round)));
    for (const { request } of kept) buffers.add(request.buffer);
    for (const request of kept) requests.release(request);
  }
  assert.ok(buffers.size <= 4, `${buffers.size} buffers`);
});

test("memory is reused during a burst, and little of it is kept afterwards", () => {
  const requests = new RequestPool();
  const keep = (count: number) =>
    Array.from({ length: count }, () => requests.add(filled(50_000, 1)));
  const buffers = (kept: PooledRequest[]) => new Set(kept.map(({ request }) => request.buffer));
  const all = new Set<ArrayBufferLike>();
  let held = keep(100);
  for (let round = 0; round < 20; ++round) {
    const more = keep(100);
    for (const buffer of buffers([...held, ...more])) all.add(buffer);
    requests.releaseMany(held, true);
    held = more;
  }
  assert.ok(all.size <= 50, `${all.size} buffers`);
  const last = buffers(held);
  requests.releaseMany(held, false);
  const again = [...buffers(keep(100))].filter((buffer) => last.has(buffer));
  assert.ok(again.length <= 2, `${again.length} buffers`);
});

test("messages in the pool do not change, whatever the order in which others are released", () => {
  const seed = Number(process.env["ENTITABLE_SEED"] ?? 20261122);
  const random = new SeededRandom(seed);
  const below = (limit: number) => Math.floor(random.fraction() * limit);
  const requests = new RequestPool();
  const held: { kept: PooledRequest; size: number; value: number }[] = [];
  for (let i = 0; i < 20_000; ++i) {
    if (below(2) === 0 || held.length === 0) {
      const [size, value] = [below(10) === 0 ? below(100_000) : below(3000), below(256)];
      held.push({ kept: requests.add(filled(size, value)), size, value });
    } else {
      const [{ kept, size, value } = held[0] as never] = held.splice(below(held.length), 1);
      const same = kept.request.length === size && kept.request.every((byte) => byte === value);
      assert.ok(same, `seed ${seed}, step ${i}`);
      requests.release(kept);
    }
  }
});
