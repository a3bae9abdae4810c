// The adapter of each contestant.

import type { Contestant } from "../contestant.ts";
import type { ContestantId, FloorId } from "../roster.ts";
import type { InNode } from "../session.ts";
import { alasqlContestant } from "./alasql.ts";
import { dexie } from "./dexie.ts";
import { inNode, inPage } from "./entitable.ts";
import { floorContestant } from "./floor.ts";
import { idbContestant } from "./idb.ts";
import { lokijs } from "./lokijs.ts";
import { plain } from "./plain.ts";
import { sqliteInMemory, sqliteOnOpfs } from "./sqlite.ts";
import { tinybase } from "./tinybase.ts";

export const contestants: Record<ContestantId | FloorId, (node?: InNode) => Contestant> = {
  entitable: () => inPage("inline"),
  "entitable-worker": () => inPage("worker"),
  "entitable-node": (node) => inNode(node, "file"),
  "entitable-node-memory": (node) => inNode(node, "memory"),
  plain,
  lokijs,
  tinybase,
  alasql: alasqlContestant,
  "sqlite-memory": sqliteInMemory,
  "sqlite-opfs": sqliteOnOpfs,
  idb: idbContestant,
  dexie,
  floor: floorContestant,
};
