// How much of a table waits: for the remote, or for the application.

import { entriesInSteps } from "../sync/entries-in-steps.ts";
import type { SyncStore } from "../sync/store.ts";

export interface Backlog {
  /** Operations that the remote does not have yet. */
  readonly pending: number;
  /** Groups that the remote refuses, and that wait for the application. */
  readonly parked: number;
  /** Operations that have lost a conflict, and that the application has not dropped. */
  readonly lost: number;
}

export const noBacklog: Backlog = { pending: 0, parked: 0, lost: 0 };

const rowsPerStep = 1000; // bounds the time of one turn of the event loop

export async function countBacklog(store: SyncStore): Promise<Backlog> {
  return {
    pending: await count(store, "outbox"),
    parked: await count(store, "parked"),
    lost: await count(store, "lost"),
  };
}

async function count(store: SyncStore, table: "outbox" | "parked" | "lost"): Promise<number> {
  let total = 0;
  for await (const entries of entriesInSteps(store, table, rowsPerStep)) total += entries.length;
  return total;
}
