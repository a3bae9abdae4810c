// Tests what the ledger of a simulation counts as applied twice (I3).

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { OutboxOp } from "../../web/src/sync/hidden-tables.ts";
import { drawConfig } from "./config.ts";
import { idOf } from "./fake-store.ts";
import { Ledger, type SentBatch, Violation } from "./ledger.ts";
import { Scheduler } from "./scheduler.ts";
import { key } from "./scripted.ts";
import { WeakTable } from "./weak-table.ts";

const op: OutboxOp = { number: 1, group: 1, key: key("1"), change: { kind: "delete" } };

const batch = (changes: Partial<SentBatch> = {}): SentBatch => ({
  client: "c0",
  restores: 0,
  partition: "p",
  hasReceipt: false,
  ops: [{ id: idOf(op), op }],
  isRepeated: false,
  ...changes,
});

/** Runs a simulation in which the client's batches are executed, one after the other. */
async function execute(hasReceipts: boolean, ...batches: readonly SentBatch[]): Promise<Ledger> {
  const scheduler = new Scheduler(1);
  const config = { ...drawConfig(scheduler, 1), hasReceipts };
  const table = new WeakTable(scheduler, { ...config, keeps: () => true });
  const ledger = new Ledger(scheduler, table, config);
  for (const sent of batches) {
    scheduler.after(1, () => {
      ledger.onSent(sent);
      ledger.onExecuted({ operations: [], replaced: new Map() }, sent.client, sent);
    });
  }
  await scheduler.run(10);
  return ledger;
}

const isTwice = (error: unknown) =>
  error instanceof Violation && error.message.endsWith("applies 1:p\u00001 twice");

describe("an operation that is applied twice", () => {
  test("is a violation", async () => {
    await assert.rejects(execute(false, batch(), batch()), isTwice);
  });

  test("is counted if the client has no receipts, and the network repeated a batch", async () => {
    const repeated = batch({ isRepeated: true });
    assert.equal((await execute(false, repeated, batch())).counts.repeatedTwice, 1);
    assert.equal((await execute(false, batch(), repeated)).counts.repeatedTwice, 1);
  });

  test("is a violation if the client has receipts, with or without one in the batch", async () => {
    for (const first of [true, false]) {
      for (const second of [true, false]) {
        const batches = [
          batch({ hasReceipt: first, isRepeated: true }),
          batch({ hasReceipt: second, isRepeated: true }),
        ];
        await assert.rejects(execute(true, ...batches), isTwice);
      }
    }
  });
});
