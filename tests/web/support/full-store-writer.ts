// A process that fills a store in files and empties it again until it is killed. It appends its
// events to a file, because messages to its parent could be lost. Arguments: the store's path, the
// file, and a name that makes keys unique.

import { appendFileSync } from "node:fs";
import { fillAndEmpty, type LoadEvent } from "./full-store-load.ts";
import { openStore } from "./package.ts";

const [path, events, name] = process.argv.slice(2) as [string, string, string];
const store = await openStore({ persistence: "file", path, durability: "relaxed" });
const report = (event: LoadEvent) => appendFileSync(events, `${JSON.stringify(event)}\n`);
await fillAndEmpty(store, name, 10_000, report);
