import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

export async function until(condition: () => boolean, timeoutMs = 5000): Promise<void> {
  const started = performance.now();
  while (!condition()) {
    assert(performance.now() - started < timeoutMs, "the condition did not become true in time");
    await sleep(1);
  }
}
