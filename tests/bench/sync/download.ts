// The first download of a table, and the least that it can take: the server's time to serve all
// pages to a client that drops them, and the client's time to write the same rows by itself.

import { setTimeout as delay } from "node:timers/promises";
import { partitionRows } from "../peers/workload.ts";
import { BenchServer } from "./bench-server.ts";
import { type Measured, merged, seconds } from "./measured.ts";
import { NodePlace, PagePlace, type Place } from "./places.ts";

const table = "people";
const sampleMs = 200;

export async function download(
  entities: number,
  places: readonly string[],
  flags: readonly string[],
): Promise<Measured[]> {
  const server = await BenchServer.start();
  const url = await server.call("url");
  await server.call("load", table, entities, partitionRows);
  const rows: Measured[] = [];
  try {
    for (const place of places) {
      const open = () => (place === "node" ? NodePlace.start(flags) : PagePlace.start());
      rows.push(...(await measure(server, url, await open(), entities, place as "node")));
    }
  } finally {
    await server.stop();
  }
  return merged(rows);
}

async function measure(
  server: BenchServer,
  url: string,
  place: Place,
  entities: number,
  name: "node" | "chromium",
): Promise<Measured[]> {
  await place.open({ url, table });
  const dropped = await place.run("drain", Math.ceil(entities / partitionRows));
  await delay(1000);
  const before = await place.megabytes();
  let peak = before;
  const sampling = setInterval(async () => {
    peak = Math.max(peak, await place.megabytes().catch(() => 0));
  }, sampleMs);
  const cpuBefore = [await server.call("cpuMs"), await place.cpuMs()] as const;
  const requestsBefore = await server.call("requests");
  const ms = await place.run("download", entities);
  clearInterval(sampling);
  const longest = await place.longestTaskMs();
  const serverCpu = (await server.call("cpuMs")) - cpuBefore[0];
  const clientCpu = (await place.cpuMs()) - cpuBefore[1];
  const { all, responseBytes } = await server.requestsSince(requestsBefore);
  await place.run("stop");
  const localBefore = await place.cpuMs();
  const local = await place.run("writeLocally", entities);
  const localCpu = (await place.cpuMs()) - localBefore;
  await place.close();
  const row = (what: string, target: string, value: string): Measured => ({
    what,
    target,
    values: { [name]: value },
  });
  const million = entities / 1_000_000;
  const target = name === "node" ? 15 : 30;
  const count = entities.toLocaleString("en");
  return [
    row(
      `first download of ${count} entities`,
      `≤ ${15 * million} s, ≤ ${30 * million} s`,
      `${seconds(ms)} (${(ms / 1000 / million / target).toFixed(2)} × the target)`,
    ),
    row("its pages, served to a client that drops them", "", seconds(dropped)),
    row("the same rows, written in transactions of 100", "", seconds(local)),
    row("processor time of the server", "", seconds(serverCpu)),
    row(
      "processor time of the client, relative to that write",
      "",
      `${seconds(clientCpu)}, ${(clientCpu / localCpu).toFixed(1)} ×`,
    ),
    row("requests, megabytes", "", `${all}, ${(responseBytes / 1e6).toFixed(0)}`),
    row("longest task of the page", "≤ 50 ms", longest === 0 ? "" : `${longest.toFixed(0)} ms`),
    row(
      "memory more than before, with a limit of 64 MiB",
      "≤ 77 MiB",
      `${(peak - before).toFixed(0)} MiB`,
    ),
  ];
}
