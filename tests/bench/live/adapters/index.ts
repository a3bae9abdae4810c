// The adapters of all compared databases.

import type { LiveAdapter, LiveDatabaseId } from "../live-adapter.ts";
import { dexie } from "./dexie.ts";
import { entitable } from "./entitable.ts";
import { pglite } from "./pglite.ts";
import { rxdb } from "./rxdb.ts";
import { signaldb } from "./signaldb.ts";
import { tanstack } from "./tanstack.ts";
import { tinybase } from "./tinybase.ts";

export const liveAdapters: Readonly<Record<LiveDatabaseId, LiveAdapter>> = {
  entitable,
  dexie,
  rxdb,
  tinybase,
  tanstack,
  pglite,
  signaldb,
};
