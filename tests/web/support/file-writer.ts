// A process that writes rows 0, 1, 2, … into a store in files, several at a time. It prints
// acknowledged rows until it is killed. Arguments: the path and the durability.

import type { Durability } from "../../../web/src/types.ts";
import { openStore } from "./package.ts";

const [path, durability] = process.argv.slice(2) as [string, Durability];
const store = await openStore({ persistence: "file", path, durability });
const table = store.table("log");
await table.createTable();
for (let n = 0; ; n += 3) {
  const three = [n, n + 1, n + 2].map(async (i) => {
    await table.createEntity({ partitionKey: "p", rowKey: String(i).padStart(8, "0"), n: i });
    process.send?.(i);
  });
  await Promise.all(three);
}
