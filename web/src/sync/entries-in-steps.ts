// Reads a whole hidden table, in steps that bound the time of one turn of the event loop. Commits
// can come between the steps.

import type { HiddenTables, TableName } from "./hidden-tables.ts";
import { keyAfter } from "./keys.ts";
import type { SyncStore } from "./store.ts";

export type Entry<N extends TableName> = readonly [key: string, value: HiddenTables[N]];

/** Yields at most `rowsPerStep` entries at a time. Rejects if the store has failed. */
export async function* entriesInSteps<N extends TableName>(
  store: SyncStore,
  table: N,
  rowsPerStep: number,
): AsyncGenerator<readonly Entry<N>[]> {
  for (let from: string | undefined = ""; from !== undefined; ) {
    const first: string = from;
    const entries: Entry<N>[] = await store.read((view) => {
      const found: Entry<N>[] = [];
      for (const entry of view.entries(table, first)) {
        found.push(entry);
        if (found.length === rowsPerStep) break;
      }
      return found;
    });
    yield entries;
    const [last] = entries.at(-1) ?? [];
    from = entries.length === rowsPerStep && last !== undefined ? keyAfter(last) : undefined;
  }
}
