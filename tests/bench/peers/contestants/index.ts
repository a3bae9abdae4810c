// The adapter of each contestant.

import type { Contestant } from "../contestant.ts";
import type { ContestantId } from "../roster.ts";
import { alasqlContestant } from "./alasql.ts";
import { dexie } from "./dexie.ts";
import { entitableIn } from "./entitable.ts";
import { idbContestant } from "./idb.ts";
import { lokijs } from "./lokijs.ts";
import { plain } from "./plain.ts";
import { sqliteInMemory, sqliteOnOpfs } from "./sqlite.ts";
import { tinybase } from "./tinybase.ts";

export const contestants: Record<Exclude<ContestantId, "floor">, () => Contestant> = {
  entitable: () => entitableIn("inline"),
  "entitable-worker": () => entitableIn("worker"),
  plain,
  lokijs,
  tinybase,
  alasql: alasqlContestant,
  "sqlite-memory": sqliteInMemory,
  "sqlite-opfs": sqliteOnOpfs,
  idb: idbContestant,
  dexie,
};
