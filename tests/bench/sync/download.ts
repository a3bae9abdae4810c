// The first download of a table, and the least that it can take: the server's time to serve all
// pages to a client that drops them, and the time and the memory of a client that writes the same
// rows by itself.

import { setTimeout as delay } from "node:timers/promises";
import { partitionRows } from "../peers/workload.ts";
import { BenchServer } from "./bench-server.ts";
import { type Measured, merged, seconds } from "./measured.ts";
import { NodePlace, PagePlace, type Place } from "./places.ts";

type PlaceName = "node" | "chromium";

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
  const open = async (name: PlaceName) => {
    const place = await (name === "node" ? NodePlace.start(flags) : PagePlace.start());
    await place.open({ url, table });
    return place;
  };
  try {
    for (const name of places as PlaceName[]) {
      const written = await measureWrite(await open(name), entities);
      const downloaded = await measureDownload(server, await open(name), entities);
      rows.push(...rowsOf(name, entities, downloaded, written));
    }
    const seed = await server.call("seed", table);
    for (const name of places as PlaceName[]) {
      const plain = await open(name);
      const restored = await plain.run("restore", seed);
      await plain.close();
      rows.push(...(await measureSeed(name, await open(name), seed, entities)));
      rows.push(rowIn(name)("its file, restored into a store without sync", "", seconds(restored)));
    }
  } finally {
    await server.stop();
  }
  return merged(rows);
}

interface Used {
  readonly ms: number;
  readonly cpuMs: number;
  readonly megabytes: number;
}

/** `work` resolves to how long it took. */
async function measured(place: Place, work: () => Promise<number>): Promise<Used> {
  await delay(1000);
  const before = await place.megabytes();
  let peak = before;
  const sampling = setInterval(async () => {
    peak = Math.max(peak, await place.megabytes().catch(() => 0));
  }, sampleMs);
  const cpuBefore = await place.cpuMs();
  const ms = await work();
  clearInterval(sampling);
  return { ms, cpuMs: (await place.cpuMs()) - cpuBefore, megabytes: peak - before };
}

async function measureWrite(place: Place, entities: number): Promise<Used> {
  const used = await measured(place, () => place.run("writeLocally", entities));
  await place.close();
  return used;
}

interface Downloaded extends Used {
  readonly droppedMs: number;
  readonly serverCpuMs: number;
  readonly requests: number;
  readonly bytes: number;
  readonly longestTaskMs: number;
}

async function measureDownload(
  server: BenchServer,
  place: Place,
  entities: number,
): Promise<Downloaded> {
  const droppedMs = await place.run("drain", Math.ceil(entities / partitionRows));
  const cpuBefore = await server.call("cpuMs");
  const requestsBefore = await server.call("requests");
  const used = await measured(place, () => place.run("download", entities));
  const longestTaskMs = await place.longestTaskMs();
  const serverCpuMs = (await server.call("cpuMs")) - cpuBefore;
  const { all: requests, responseBytes: bytes } = await server.requestsSince(requestsBefore);
  await place.close();
  return { ...used, droppedMs, serverCpuMs, requests, bytes, longestTaskMs };
}

function rowsOf(
  name: PlaceName,
  entities: number,
  downloaded: Downloaded,
  written: Used,
): Measured[] {
  const row = rowIn(name);
  const million = entities / 1_000_000;
  const target = name === "node" ? 15 : 30;
  const { bytes, cpuMs, droppedMs, longestTaskMs, megabytes, ms, requests } = downloaded;
  return [
    row(
      `first download of ${entities.toLocaleString("en")} entities`,
      `≤ ${Number((15 * million).toFixed(3))} s, ≤ ${Number((30 * million).toFixed(3))} s`,
      `${seconds(ms)} (${(ms / 1000 / million / target).toFixed(2)} × the target)`,
    ),
    row("its pages, served to a client that drops them", "", seconds(droppedMs)),
    row("the same rows, written in transactions of 100", "", seconds(written.ms)),
    row("processor time of the server", "", seconds(downloaded.serverCpuMs)),
    row(
      "processor time of the client, relative to that write",
      "",
      `${seconds(cpuMs)}, ${(cpuMs / written.cpuMs).toFixed(1)} ×`,
    ),
    row("requests, megabytes", "", `${requests}, ${(bytes / 1e6).toFixed(0)}`),
    row(
      "longest task of the page",
      "≤ 50 ms",
      name === "node" ? "" : longestTaskMs === 0 ? "≤ 50 ms" : `${longestTaskMs.toFixed(0)} ms`,
    ),
    row(
      "memory more than before, with a limit of 64 MiB",
      "≤ 77 MiB",
      `${megabytes.toFixed(0)} MiB`,
    ),
    row("memory more than before that write", "", `${written.megabytes.toFixed(0)} MiB`),
  ];
}

async function measureSeed(
  name: PlaceName,
  place: Place,
  seed: string,
  entities: number,
): Promise<Measured[]> {
  const row = rowIn(name);
  const usable = await place.run("downloadSeed", seed);
  const inStep = await place.run("inStep", entities);
  await place.close();
  const count = entities.toLocaleString("en");
  return [
    row(`with a seed of ${count} entities: they can be read after`, "≤ 2 s", seconds(usable)),
    row("with a seed: what was written since is here after", "≤ 5 s", seconds(inStep)),
  ];
}

const rowIn =
  (name: PlaceName) =>
  (what: string, target: string, value: string): Measured => ({
    what,
    target,
    values: { [name]: value },
  });
