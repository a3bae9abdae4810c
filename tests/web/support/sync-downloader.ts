// A process that downloads a table into a store in files, and then ends. Arguments: the folder of
// the store, and the account's URL.

import { SyncedStore, table } from "./synced-store.ts";

const [path = "", url = ""] = process.argv.slice(2);
const synced = await SyncedStore.open({ path, name: "downloaded", url, table: {} });
await new Promise<void>((resolve) => {
  synced.sync.subscribe(({ phase }) => {
    if (phase === "idle" || phase === "syncing") resolve();
  });
});
const { tables } = await synced.store.stats();
process.stdout.write(`${tables.find(({ name }) => name === table)?.rows}\n`);
await synced.close();
