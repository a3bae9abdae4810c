// How long to wait after a failure of the remote.

import type { SyncRules } from "./context.ts";
import type { Failure } from "./remote.ts";

/**
 * Exponential back-off with jitter, and at least Retry-After, in milliseconds. `tries`: how many
 * have failed in a row before this one. `random`: from 0 to 1.
 */
export function backOffMs(
  failure: Failure,
  tries: number,
  { firstMs, mostMs }: SyncRules["retry"],
  random: number,
): number {
  const most = Math.min(firstMs * 2 ** tries, mostMs);
  const delay = most * (0.5 + random / 2);
  const atLeast = failure.kind === "failed" ? (failure.retryAfterMs ?? 0) : 0;
  return Math.max(delay, atLeast);
}
