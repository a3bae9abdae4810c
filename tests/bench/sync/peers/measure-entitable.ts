// One round of entitable against `entitable serve`. The store promises as much as those of the
// peers: `relaxed`, which is IndexedDB's default. As theirs, its code is loaded before.

import { partitionRows } from "../../peers/workload.ts";
import { BenchServer } from "../bench-server.ts";
import { PagePlace } from "../places.ts";
import { editedVersion, requireEdits, type Times, type Workload } from "./workload.ts";

const table = "people";

export async function measureEntitable({ entities, edits }: Workload): Promise<Times> {
  const server = await BenchServer.start();
  const place = await PagePlace.start();
  try {
    await server.call("load", table, entities, partitionRows);
    await place.open({ url: await server.call("url"), table }, "relaxed");
    await place.preload();
    const downloadMs = await place.run("download", entities);
    await place.run("editOffline", edits, partitionRows, editedVersion);
    requireEdits(await server.call("count", table, editedVersion), 0);
    const began = await place.run("push");
    requireEdits(await server.call("count", table, editedVersion), edits);
    return { downloadMs, pushMs: (await server.call("lastBatchAt")) - began };
  } finally {
    await place.close();
    await server.stop();
  }
}
