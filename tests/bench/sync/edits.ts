// Edits that were made offline: the time until the last of them was pushed, and the requests.
// Beside them, the least that this can take: the same batches, sent by a client that does
// nothing else.

import { BenchServer } from "./bench-server.ts";
import { type Measured, merged, seconds } from "./measured.ts";
import { NodePlace, PagePlace } from "./places.ts";

const groupRows = 100;
const table = "people";

/** `entities`: a multiple of 100. */
export async function offlineEdits(
  entities: number,
  places: readonly string[],
  flags: readonly string[],
): Promise<Measured[]> {
  const rows: Measured[] = [];
  for (const perPartition of [groupRows, entities])
    for (const place of places)
      rows.push(...(await measure(place as "node", entities, perPartition, flags)));
  return merged(rows);
}

async function measure(
  name: "node" | "chromium",
  entities: number,
  perPartition: number,
  flags: readonly string[],
): Promise<Measured[]> {
  const server = await BenchServer.start();
  const place = await (name === "node" ? NodePlace.start(flags) : PagePlace.start());
  try {
    await server.call("load", table, entities, perPartition);
    await place.open({ url: await server.call("url"), table });
    await place.run("download", entities);
    await place.run("editOffline", entities, perPartition, 1);
    const before = await server.call("requests");
    const cpuBefore = [await server.call("cpuMs"), await place.cpuMs()] as const;
    const began = await place.run("push");
    const ms = (await server.call("lastBatchAt")) - began;
    const serverCpu = (await server.call("cpuMs")) - cpuBefore[0];
    const clientCpu = (await place.cpuMs()) - cpuBefore[1];
    const { batches, preflights } = await server.requestsSince(before);
    await requireEdits(server, entities, 1);
    await place.run("stop");
    const least = await place.run("sendBatches", entities, perPartition, 2);
    await requireEdits(server, entities, 2);
    const partitions = entities / perPartition;
    const where = partitions === 1 ? "one partition" : `${partitions} partitions`;
    const target = ((partitions === 1 ? 3 : 1.5) * entities) / 10_000;
    const count = entities.toLocaleString("en");
    const row = (what: string, of: string, value: string): Measured => ({
      what,
      target: of,
      values: { [name]: value },
    });
    return [
      row(`${count} offline edits in ${where}`, `≤ ${+target.toFixed(3)} s`, seconds(ms)),
      row(`their batches in ${where}, sent by a client alone`, "", seconds(least)),
      row(
        `processor time of the client, server, in ${where}`,
        "",
        `${seconds(clientCpu)}, ${seconds(serverCpu)}`,
      ),
      row(
        `batches, preflights of the edits in ${where}`,
        `${entities / groupRows}, ≤ 1`,
        `${batches}, ${preflights}`,
      ),
    ];
  } finally {
    await place.close();
    await server.stop();
  }
}

async function requireEdits(server: BenchServer, entities: number, version: number) {
  const pushed = await server.call("count", table, version);
  if (pushed !== entities) throw new Error(`${pushed} of ${entities} edits are at the remote.`);
}
