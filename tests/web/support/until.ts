import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

const timeoutMs = 60_000; // so long that it does not matter how busy the machine is

// Waits on real time; simulation.ts has a function that waits on virtual time.
export async function until(condition: () => boolean): Promise<void> {
  const started = performance.now();
  while (!condition()) {
    assert(performance.now() - started < timeoutMs, "the condition did not become true in time");
    await sleep(1);
  }
}
