// One batch, sent until each of its actions was carried out or has failed.

import type { TransactionAction } from "../types.ts";
import { type Verdict, verdictOn } from "./verdict.ts";

/** How a batch is sent, and who hears of it after each transaction. What `done` or `failed` throws ends it. */
export interface Sending<E> {
  submit(actions: TransactionAction[]): Promise<unknown>;
  /** These were carried out. */
  done(entries: readonly E[]): void;
  /** These failed; none, if parts of them will tell which did. */
  failed(entries: readonly E[], error: unknown, verdict: Verdict): void;
  /** Asked before each transaction. */
  goesOn(): boolean;
}

/** Sends a batch; and, as long as one of its actions fails, what it is made of without that one. Gives what was never tried. */
export async function sendBatch<E extends { readonly action: TransactionAction }>(
  batch: readonly E[],
  sending: Sending<E>,
): Promise<E[]> {
  const parts = [batch];
  while (parts.length > 0 && sending.goesOn()) {
    const part = parts.shift() as readonly E[];
    parts.unshift(...(await submitted(part, sending)));
  }
  return parts.flat();
}

// Gives what of it is to be sent yet.
async function submitted<E extends { readonly action: TransactionAction }>(
  entries: readonly E[],
  sending: Sending<E>,
): Promise<(readonly E[])[]> {
  try {
    await sending.submit(entries.map(({ action }) => action));
  } catch (error) {
    const verdict = verdictOn(error, entries.length);
    sending.failed(failedOf(entries, verdict), error, verdict);
    return restOf(entries, verdict);
  }
  sending.done(entries);
  return [];
}

function failedOf<E>(entries: readonly E[], verdict: Verdict): readonly E[] {
  if (verdict.kind === "one") return entries.slice(verdict.at, verdict.at + 1);
  return verdict.kind === "all" ? entries : [];
}

function restOf<E>(entries: readonly E[], verdict: Verdict): (readonly E[])[] {
  if (verdict.kind === "all") return [];
  if (verdict.kind === "one") {
    return entries.length === 1 ? [] : [entries.filter((_, at) => at !== verdict.at)];
  }
  const half = entries.length >> 1;
  return [entries.slice(0, half), entries.slice(half)];
}
