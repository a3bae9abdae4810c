// How much of a table waits: for the remote, or for the application.

import type { TableView } from "../sync/draft.ts";
import { keyAfter } from "../sync/keys.ts";
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
  for (let from: string | undefined = ""; from !== undefined; ) {
    const first: string = from;
    const { rows, last } = await store.read((view) => countStep(view, table, first));
    total += rows;
    from = rows === rowsPerStep ? keyAfter(last) : undefined;
  }
  return total;
}

function countStep(view: TableView, table: "outbox" | "parked" | "lost", from: string) {
  let rows = 0;
  let last = from;
  for (const [key] of view.entries(table, from)) {
    rows += 1;
    last = key;
    if (rows === rowsPerStep) break;
  }
  return { rows, last };
}
