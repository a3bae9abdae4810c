// The adapter of each database.

import type { DatabaseAdapter } from "../database-adapter.ts";
import type { DatabaseId, FloorId } from "../databases.ts";
import type { InNode } from "../session.ts";
import { alasqlAdapter } from "./alasql.ts";
import { dexie } from "./dexie.ts";
import { inNode, inPage } from "./entitable.ts";
import { floorAdapter } from "./floor.ts";
import { idbAdapter } from "./idb.ts";
import { lokijs } from "./lokijs.ts";
import { plain } from "./plain.ts";
import { sqliteInMemory, sqliteOnOpfs } from "./sqlite.ts";
import { tinybase } from "./tinybase.ts";

export const adapters: Record<DatabaseId | FloorId, (node?: InNode) => DatabaseAdapter> = {
  entitable: () => inPage("inline"),
  "entitable-worker": () => inPage("worker"),
  "entitable-node": (node) => inNode(node, "file"),
  "entitable-node-memory": (node) => inNode(node, "memory"),
  plain,
  lokijs,
  tinybase,
  alasql: alasqlAdapter,
  "sqlite-memory": sqliteInMemory,
  "sqlite-opfs": sqliteOnOpfs,
  idb: idbAdapter,
  dexie,
  floor: floorAdapter,
};
