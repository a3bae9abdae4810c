// Exponential back-off: how long to wait before an attempt is repeated.

const firstMs = 1000;
const mostMs = 30_000;

// Returns the delay before the next attempt after `previousMs`, the last one; 0: there was none.
export function nextRetryMs(previousMs: number): number {
  return Math.min(Math.max(previousMs * 2, firstMs), mostMs);
}
