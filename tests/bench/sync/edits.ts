// Edits that were made offline: the time until the last of them was pushed, and the requests.

import { BenchServer } from "./bench-server.ts";
import { type Measured, merged, seconds } from "./measured.ts";
import { NodePlace, PagePlace } from "./places.ts";

const entities = 10_000;

export async function offlineEdits(
  places: readonly string[],
  flags: readonly string[],
): Promise<Measured[]> {
  const rows: Measured[] = [];
  for (const place of places)
    for (const perPartition of [100, entities])
      rows.push(...(await measure(place as "node", perPartition, flags)));
  return merged(rows);
}

async function measure(
  name: "node" | "chromium",
  perPartition: number,
  flags: readonly string[],
): Promise<Measured[]> {
  const server = await BenchServer.start();
  const place = await (name === "node" ? NodePlace.start(flags) : PagePlace.start());
  try {
    const table = "people";
    await server.call("load", table, entities, perPartition);
    await place.open({ url: await server.call("url"), table });
    await place.run("download", entities);
    const before = await server.call("requests");
    const began = await place.run("edit", entities, perPartition, 1);
    const ms = (await server.call("lastBatchAt")) - began;
    const { batches, preflights } = await server.requestsSince(before);
    const pushed = await server.call("count", table, 1);
    if (pushed !== entities) throw new Error(`${pushed} edits are at the remote.`);
    const partitions = entities / perPartition;
    const where = partitions === 1 ? "one partition" : `${partitions} partitions`;
    return [
      {
        what: `10,000 offline edits in ${where}`,
        target: partitions === 1 ? "≤ 3 s" : "≤ 1.5 s",
        values: { [name]: seconds(ms) },
      },
      {
        what: `batches, preflights of the edits in ${where}`,
        target: "100, ≤ 1",
        values: { [name]: `${batches}, ${preflights}` },
      },
    ];
  } finally {
    await place.close();
    await server.stop();
  }
}
