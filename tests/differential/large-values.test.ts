// Writes and reads large values in Azurite through the official client, with every possible number
// of rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AzureNamedKeyCredential, TableClient } from "@azure/data-tables";
import { LargeValues } from "../../web/src/large-values/index.ts";
import { spawnAzurite } from "./backends.ts";
import { account, key } from "./sign.ts";

test("large values over Azurite", { timeout: 60_000 }, async () => {
  const { child, base } = await spawnAzurite();
  try {
    const credential = new AzureNamedKeyCredential(account, key);
    const table = new TableClient(base, "files", credential, { allowInsecureConnection: true });
    await table.createTable();
    const values = new LargeValues(table);
    const rowBytes = LargeValues.bytesMax / 4;
    for (const length of [1, 4, 2, 3, 1].map((rows) => rows * rowBytes).concat(70_000, 0)) {
      const value = new Uint8Array(length).map((_, i) => (i * 31 + length) % 251);
      await values.write("Sales", "photo", value);
      assert.deepEqual(
        Buffer.from((await values.read("Sales", "photo")) ?? []),
        Buffer.from(value),
      );
    }
    const writers = [1, 2, 3].map((n) => values.write("Sales", "photo", new Uint8Array(n).fill(n)));
    await Promise.all(writers);
    const last = (await values.read("Sales", "photo")) as Uint8Array;
    assert.deepEqual([...last], Array(last.length).fill(last.length));
    assert.equal(await values.delete("Sales", "photo"), true);
    assert.equal(await values.read("Sales", "photo"), undefined);
  } finally {
    child.kill("SIGKILL");
  }
});
