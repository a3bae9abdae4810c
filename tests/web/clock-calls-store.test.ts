// Tests a user's clock that itself calls the store. The store asks for the time in the middle of a
// call, so such calls run between the parts of another one.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openStore } from "./support/package.ts";

const start = Date.UTC(2026, 0, 1);

for (const durability of ["deferred", "relaxed", "strict"] as const) {
  describe(`a clock that calls the store, with ${durability} writes`, () => {
    test("changes neither the outer call nor its own", async () => {
      let calls = 0;
      let writeFromClock: (() => void) | undefined;
      const clock = {
        now: () => {
          const write = writeFromClock;
          writeFromClock = undefined; // the inner call asks for the time too
          calls += 1;
          write?.();
          return start + calls;
        },
      };
      const store = await openStore({ persistence: "memory", clock, durability });
      const table = store.table("things");
      await table.createTable();
      const inner: Promise<unknown>[] = [];
      for (let n = 0; n < 20; ++n) {
        writeFromClock = () => {
          inner.push(
            table.upsertEntity({ partitionKey: "inner", rowKey: `${n}`, text: "i".repeat(n) }),
          );
          inner.push(table.getEntity("outer", "0").catch(() => {}));
        };
        await table.upsertEntity({
          partitionKey: "outer",
          rowKey: `${n}`,
          text: "o".repeat(100 - n),
        });
      }
      await Promise.all(inner);
      const rows: unknown[] = [];
      for await (const { partitionKey, rowKey, text } of table.listEntities())
        rows.push([partitionKey, Number(rowKey), (text as string).length]);
      const expected = (key: string, length: (n: number) => number) =>
        Array.from({ length: 20 }, (_, n) => n)
          .sort((a, b) => (String(a) < String(b) ? -1 : 1))
          .map((n) => [key, n, length(n)]);
      assert.deepEqual(rows, [
        ...expected("inner", (n) => n),
        ...expected("outer", (n) => 100 - n),
      ]);
      await store.close();
    });
  });
}
