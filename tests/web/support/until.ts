import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

export async function until(condition: () => boolean, timeoutMs = 5000): Promise<void> {
  const started = performance.now();
  while (!condition()) {
    assert(performance.now() - started < timeoutMs, "it did not come to pass");
    await sleep(1);
  }
}
