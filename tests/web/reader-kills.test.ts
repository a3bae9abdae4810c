// Kills processes that read the change feed with a durable reader. The reader gets each commit, in
// order, and none again that it has acknowledged.

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "./support/random.ts";
import type { ReaderEvent } from "./support/reader-process.ts";

const kills = Number(process.env["ENTITABLE_KILLS"] ?? 3);
const root = mkdtempSync(join(tmpdir(), "entitable-reader-kills-"));

after(() => rmSync(root, { recursive: true, force: true }));

// What all processes have seen. Rows that were not stored when a process was killed are written
// again, with other sequences.
class Seen {
  rows = 0;
  acknowledged = 0n; // by a call that has resolved
  openings = 0;
  #requested = 0n; // the greatest sequence whose acknowledgement was requested
  #rowAt = new Map([[0n, 0]]); // by sequence
  #next = 0; // the next row; 0: any
  #last = 0n; // the last sequence

  add(event: ReaderEvent): void {
    if (event.is === "open") {
      const at = BigInt(event.at);
      assert(at >= this.acknowledged, "an acknowledgement was lost");
      assert(at <= this.#requested, "never acknowledged");
      this.#last = at;
      this.#next = this.#rowUpTo(at) + 1;
      this.openings += 1;
    } else if (event.is === "read") {
      const sequence = BigInt(event.sequence);
      assert(sequence > this.#last, "a batch came twice, or too late");
      assert.equal(event.row, this.#next, "a gap");
      this.#last = sequence;
      this.#next += 1;
      this.#rowAt.set(sequence, event.row);
      this.rows += 1;
    } else if (event.is === "acknowledging") {
      if (BigInt(event.at) > this.#requested) this.#requested = BigInt(event.at);
    } else if (BigInt(event.at) > this.acknowledged) {
      this.acknowledged = BigInt(event.at);
    }
  }

  // If the commit that was acknowledged may be lost, the store knows an earlier one. What was lost
  // has a number above that one's.
  #rowUpTo(at: bigint): number {
    const commitOf = (sequence: bigint) => BigInt.asUintN(40, sequence);
    let [last, row] = [0n, 0];
    for (const [sequence, candidate] of this.#rowAt)
      if (sequence <= at && commitOf(sequence) <= commitOf(at) && sequence >= last)
        [last, row] = [sequence, candidate];
    return row;
  }
}

test(`a process with a durable reader is killed ${kills} times`, {
  timeout: 60_000 + kills * 20_000,
}, async (t) => {
  const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const random = seededRandom(seed);
  const seen = new Seen();
  const events = join(root, "events");
  const program = new URL("support/reader-process.ts", import.meta.url);
  for (let kill = 0; kill < kills; ++kill) {
    rmSync(events, { force: true });
    const child = fork(program, [join(root, "store"), events, String(seed + kill)]);
    const exited = once(child, "exit");
    const lines = () => (existsSync(events) ? readFileSync(events, "utf8").split("\n") : []);
    const rowsMin = random.below(100);
    // A kill may come before anything is acknowledged, but not each of them.
    const isLast = kill + 1 === kills;
    const isDue = () =>
      lines().length >= 3 + rowsMin &&
      (!isLast || lines().some((line) => line.includes('"acknowledged"')));
    while (!isDue() && child.exitCode === null) await sleep(5);
    assert.equal(child.exitCode, null, "the process has ended");
    await sleep(random.below(50));
    child.kill("SIGKILL");
    await exited;
    for (const line of lines().slice(0, -1)) seen.add(JSON.parse(line));
  }
  assert.equal(seen.openings, kills);
  assert(seen.acknowledged > 0n);
  t.diagnostic(`${kills} kills, ${seen.rows} rows were read`);
});
