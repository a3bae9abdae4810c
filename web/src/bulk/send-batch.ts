// Sends one batch until each of its actions was carried out or has failed.

import type { TransactionAction } from "../types.ts";
import { classifyFailure, type FailureOutcome } from "./failure-outcome.ts";

/**
 * Sends one transaction, and receives its outcome. If `done` or `failed` throws, sendBatch()
 * rejects.
 */
export interface BatchCallbacks<E> {
  submit(actions: TransactionAction[]): Promise<unknown>;
  /** Called with the actions that were carried out. */
  done(entries: readonly E[]): void;
  /**
   * Called after a transaction failed. `entries` are the actions that failed; it is empty if the
   * batch will be split to find them.
   */
  failed(entries: readonly E[], error: unknown, outcome: FailureOutcome): void;
  /** Called before each transaction. Returns false to stop. */
  shouldContinue(): boolean;
}

/**
 * Sends a batch. If one of its actions fails, sends the others without it. If it is unknown which
 * action failed, sends each half of the batch. Returns the actions that were never sent, because
 * `shouldContinue` returned false.
 */
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

// Sends one transaction. Returns the batches that remain to be sent.
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
