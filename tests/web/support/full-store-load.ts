// A load that fills a store until it has no space left, empties it, and begins again, until its
// process is killed; and the checks of what is stored then. Used for stores in files and in
// Chromium.

import assert from "node:assert/strict";

type Store = Awaited<ReturnType<typeof import("../../../web/src/index.ts")["openStore"]>>;

export interface LoadEvent {
  kind: "put" | "deleting" | "deleted" | "full" | "problem";
  keys: string[]; // of a problem: what it is
}

// Runs the load. `report` is called when writes were acknowledged, and before rows are deleted.
// Self-contained, because pages get its text. `name` makes the keys unique. Rows have two values of
// `bytes`.
export async function fillAndEmpty(
  store: Store,
  name: string,
  bytes: number,
  report: (event: LoadEvent) => unknown,
): Promise<void> {
  const table = store.table("rows");
  const random = (below: number) => Math.floor(Math.random() * below);
  const noise = (size: number) => crypto.getRandomValues(new Uint8Array(size)); // not compressible
  const codeOf = (error: unknown) => (error as { code?: string }).code;
  let rows = 0;
  const fill = async () => {
    for (const size of [bytes, 300]) {
      for (;;) {
        const rowKey = `${String(random(1000)).padStart(3, "0")}-${name}-${++rows}`; // scattered
        try {
          await table.createEntity({ partitionKey: "p", rowKey, a: noise(size), b: noise(size) });
        } catch (error) {
          if (codeOf(error) !== "QuotaExceeded") throw error;
          break;
        }
        await report({ kind: "put", keys: [rowKey] });
      }
    }
    await report({ kind: "full", keys: [] });
  };
  const empty = async () => {
    const keys: string[] = [];
    for await (const { rowKey } of table.listEntities())
      keys.splice(random(keys.length + 1), 0, rowKey as string);
    while (keys.length > 0) {
      const some = keys.splice(0, 1 + random(20));
      await report({ kind: "deleting", keys: some });
      await Promise.all(some.map((rowKey) => table.deleteEntity("p", rowKey)));
      await report({ kind: "deleted", keys: some });
      if (random(10) === 0) await store.compact();
    }
    await store.compact();
  };
  try {
    await table.createTable().catch((error: unknown) => {
      if (codeOf(error) !== "TableAlreadyExists") throw error;
    });
    for (;;) {
      await fill();
      await empty();
    }
  } catch (error) {
    await report({ kind: "problem", keys: [String(error)] });
  }
}

// Deletes all rows, compacts, and writes again. Resolves to the rows that were there and to the new
// ones. Self-contained, like fillAndEmpty().
export async function emptyFullStore(
  store: Store,
  name: string,
  bytes: number,
): Promise<{ found: string[]; written: string[] }> {
  const table = store.table("rows");
  const found: string[] = [];
  for await (const { rowKey } of table.listEntities()) found.push(rowKey as string);
  const during = (what: string) => (error: unknown) => {
    throw new Error(`${what}: ${error}`);
  };
  for (const [n, rowKey] of found.entries())
    await table.deleteEntity("p", rowKey).catch(during(`delete ${n} of ${found.length}`));
  await store.compact().catch(during("compact"));
  for await (const row of table.listEntities()) throw new Error(`${row.rowKey} was deleted`);
  const written: string[] = [];
  for (let n = 0; n < 40; ++n) {
    const rowKey = `${name}-${n}`;
    const noise = crypto.getRandomValues(new Uint8Array(bytes));
    const row = { partitionKey: "p", rowKey, a: noise, b: noise };
    await table.createEntity(row).catch(during(`create ${n}`));
    written.push(rowKey);
  }
  return { found, written };
}

// What was acknowledged, and what of that may be stored.
export class AcknowledgedRows {
  readonly #present = new Set<string>(); // acknowledged, and no delete has begun
  readonly #deleted = new Set<string>(); // the delete was acknowledged
  timesFull = 0;
  acknowledged = 0;
  readonly problems: string[] = [];

  add({ kind, keys }: LoadEvent): void {
    this.acknowledged += kind === "put" || kind === "deleted" ? keys.length : 0;
    if (kind === "full") this.timesFull += 1;
    if (kind === "problem") this.problems.push(...keys);
    for (const key of keys) {
      if (kind === "put") this.#present.add(key);
      if (kind === "deleting") this.#present.delete(key);
      if (kind === "deleted") this.#deleted.add(key);
    }
  }

  // Checks what emptyFullStore() has found, and continues with what it has written.
  check({ found, written }: { found: string[]; written: string[] }): void {
    assert.deepEqual(this.problems, []);
    const stored = new Set(found);
    const lost = [...this.#present].filter((key) => !stored.has(key));
    const restored = found.filter((key) => this.#deleted.has(key));
    assert.deepEqual({ lost, restored }, { lost: [], restored: [] });
    this.#present.clear();
    this.#deleted.clear();
    this.add({ kind: "put", keys: written });
  }
}
