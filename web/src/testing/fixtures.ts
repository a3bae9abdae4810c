// Writes fixtures (the initial entities of a mock store) into a store.

import { StoreError } from "../errors.ts";
import type { Store, TableEntity } from "../types.ts";
import { errorMessage } from "../util/platform-objects.ts";
import type { Fixtures } from "./types.ts";

// Implements MockStore.seed. Writes in the given order, which determines the timestamps.
export async function seedStore(store: Store, fixtures: Fixtures): Promise<void> {
  for (const [table, entities] of Object.entries(fixtures)) {
    const client = store.tableClient(table);
    await withValidationError(client.createTable(), `Fixture ${table}`);
    // The writes run concurrently, so that several of them are stored in one group.
    const writes = entities.map((entity: TableEntity<object>, i) =>
      withValidationError(client.upsertEntity(entity, "Replace"), `Fixture ${table}[${i}]`),
    );
    for (const written of await Promise.allSettled(writes)) {
      if (written.status === "rejected") throw written.reason;
    }
  }
}

async function withValidationError(write: Promise<unknown>, what: string): Promise<void> {
  try {
    await write;
  } catch (cause) {
    if (cause instanceof StoreError) throw cause;
    const message = errorMessage(cause);
    const { hint } = Object(cause) as { hint?: string };
    const options = hint === undefined ? { cause } : { cause, hint };
    throw new StoreError("ValidationFailed", `${what}: ${message}`, options);
  }
}
