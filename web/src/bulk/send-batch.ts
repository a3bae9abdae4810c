// One batch, sent until each of its actions was carried out or has failed.

import type { TransactionAction } from "../types.ts";
import { classifyFailure, type FailureOutcome } from "./failure-outcome.ts";

/** How a batch is sent, and who hears of it after each transaction. What `done` or `failed` throws ends it. */
export interface BatchCallbacks<E> {
  submit(actions: TransactionAction[]): Promise<unknown>;
  /** These were carried out. */
  done(entries: readonly E[]): void;
  /** These failed; none, if parts of them will tell which did. */
  failed(entries: readonly E[], error: unknown, outcome: FailureOutcome): void;
  /** Asked before each transaction. */
  shouldContinue(): boolean;
}

/** Sends a batch; and, as long as one of its actions fails, what it is made of without that one. Gives what was never tried. */
export async function sendBatch<E extends { readonly action: TransactionAction }>(
  batch: readonly E[],
  callbacks: BatchCallbacks<E>,
): Promise<E[]> {
  const parts = [batch];
  while (parts.length > 0 && callbacks.shouldContinue()) {
    const part = parts.shift() as readonly E[];
    parts.unshift(...(await submitBatch(part, callbacks)));
  }
  return parts.flat();
}

// Gives what of it is to be sent yet.
async function submitBatch<E extends { readonly action: TransactionAction }>(
  entries: readonly E[],
  callbacks: BatchCallbacks<E>,
): Promise<(readonly E[])[]> {
  try {
    await callbacks.submit(entries.map(({ action }) => action));
  } catch (error) {
    const outcome = classifyFailure(error, entries.length);
    callbacks.failed(failedEntries(entries, outcome), error, outcome);
    return batchesToRetry(entries, outcome);
  }
  callbacks.done(entries);
  return [];
}

function failedEntries<E>(entries: readonly E[], outcome: FailureOutcome): readonly E[] {
  if (outcome.kind === "one") return entries.slice(outcome.at, outcome.at + 1);
  return outcome.kind === "all" ? entries : [];
}

function batchesToRetry<E>(entries: readonly E[], outcome: FailureOutcome): (readonly E[])[] {
  if (outcome.kind === "all") return [];
  if (outcome.kind === "one") {
    return entries.length === 1 ? [] : [entries.filter((_, at) => at !== outcome.at)];
  }
  const half = entries.length >> 1;
  return [entries.slice(0, half), entries.slice(half)];
}
