// A process that writes to a synced store and prints each write that was acknowledged, until it is
// killed. Arguments: the folder of the store, the account's URL, and the first number to write.

import { SyncedStore, table } from "./synced-store.ts";

const [path = "", url = "", first = "0"] = process.argv.slice(2);
const { store } = await SyncedStore.open({
  path,
  name: "killed",
  url,
  table: { receipts: true, conflict: "local" },
});
const people = store.table(table, { durability: "strict" });
for (let number = Number(first); ; ++number) {
  const rowKey = `${Math.floor(number / 100)}`; // an entity has at most 252 properties
  await people.upsertEntity({ partitionKey: "p", rowKey, [`s${number}`]: number }, "Merge");
  await people.upsertEntity({ partitionKey: "q", rowKey: `${number % 5}`, number });
  process.stdout.write(`${number}\n`);
}
