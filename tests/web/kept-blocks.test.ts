// Blocks that are kept for a while: they stay what they were as long as they are held, and their memory serves again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type KeptBlock, KeptBlocks } from "../../web/src/host/kept-blocks.ts";
import { SeededRandom } from "../../web/src/testing/seeded-random.ts";

const filled = (size: number, value: number) => new Uint8Array(size).fill(value);

test("what is kept is a copy", () => {
  const blocks = new KeptBlocks();
  for (const size of [0, 1, 65_536, 65_537, 1_000_000]) {
    const block = filled(size, 7);
    const kept = blocks.keep(block);
    block.fill(8);
    assert.deepEqual(kept.block, filled(size, 7));
  }
});

test("memory serves again when all in it is released", () => {
  const blocks = new KeptBlocks();
  const buffers = new Set<ArrayBufferLike>();
  for (let round = 0; round < 50; ++round) {
    const kept = Array.from({ length: 100 }, () => blocks.keep(filled(5000, round)));
    for (const { block } of kept) buffers.add(block.buffer);
    for (const block of kept) blocks.release(block);
  }
  assert.ok(buffers.size <= 4, `${buffers.size} buffers`);
});

test("memory of a burst serves again while it goes on, and little of it is kept behind it", () => {
  const blocks = new KeptBlocks();
  const keep = (count: number) =>
    Array.from({ length: count }, () => blocks.keep(filled(50_000, 1)));
  const buffers = (kept: KeptBlock[]) => new Set(kept.map(({ block }) => block.buffer));
  const all = new Set<ArrayBufferLike>();
  let held = keep(100);
  for (let round = 0; round < 20; ++round) {
    const more = keep(100);
    for (const buffer of buffers([...held, ...more])) all.add(buffer);
    blocks.releaseAll(held, true);
    held = more;
  }
  assert.ok(all.size <= 50, `${all.size} buffers`);
  const last = buffers(held);
  blocks.releaseAll(held, false);
  const again = [...buffers(keep(100))].filter((buffer) => last.has(buffer));
  assert.ok(again.length <= 2, `${again.length} buffers`);
});

test("what is held stays what it was, in any order of releases", () => {
  const seed = Number(process.env["ENTITABLE_SEED"] ?? 20261122);
  const random = new SeededRandom(seed);
  const below = (limit: number) => Math.floor(random.fraction() * limit);
  const blocks = new KeptBlocks();
  const held: { kept: KeptBlock; size: number; value: number }[] = [];
  for (let i = 0; i < 20_000; ++i) {
    if (below(2) === 0 || held.length === 0) {
      const [size, value] = [below(10) === 0 ? below(100_000) : below(3000), below(256)];
      held.push({ kept: blocks.keep(filled(size, value)), size, value });
    } else {
      const [{ kept, size, value } = held[0] as never] = held.splice(below(held.length), 1);
      const same = kept.block.length === size && kept.block.every((byte) => byte === value);
      assert.ok(same, `seed ${seed}, step ${i}`);
      blocks.release(kept);
    }
  }
});
