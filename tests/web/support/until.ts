import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

const timeoutMs = 60_000; // so long that it does not matter how busy the machine is

const milliseconds = () => Number(process.hrtime.bigint() / 1_000_000n);

// Waits on real time, also if a test has replaced performance.now(). simulation.ts has a function
// that waits on virtual time.
export async function until(condition: () => boolean): Promise<void> {
  const started = milliseconds();
  while (!condition()) {
    assert(milliseconds() - started < timeoutMs, "the condition did not become true in time");
    await sleep(1);
  }
}
