// Compares entitable with the peers: they take turns, in a new order in each round.

import { readFileSync } from "node:fs";
import { median } from "../../peers/timing.ts";
import { shuffled } from "../../peers/workload.ts";
import { markdownTable } from "../../support/readme.ts";
import { seconds } from "../measured.ts";
import { sizeOf } from "./libraries.ts";
import { measureEntitable } from "./measure-entitable.ts";
import { measurePeer } from "./measure-peer.ts";
import type { PeerId } from "./page.ts";
import { sizeOfEntitable } from "./size-of-entitable.ts";
import type { Times, Workload } from "./workload.ts";

type Contender = "entitable" | PeerId;

const contenders: readonly Contender[] = ["entitable", "rxdb", "pouchdb", "tanstack"];
const names: Readonly<Record<Contender, string>> = {
  entitable: "entitable",
  rxdb: "rxdb",
  pouchdb: "pouchdb",
  tanstack: "@tanstack/offline-transactions",
};

type AllTimes = ReadonlyMap<Contender, readonly Times[]>;
type Values = ReadonlyMap<Contender, number>;

/** Returns the table, in Markdown. */
export async function comparePeers(workload: Workload, rounds: number): Promise<string> {
  const { entities, edits } = workload;
  if (edits > entities) throw new Error("There are more edits than entities.");
  const times = await measureRounds(workload, rounds);
  const medians = (of: (all: Times) => number | undefined): Values => {
    const found = new Map<Contender, number>();
    for (const [id, all] of times) {
      const values = all.map(of).filter((value) => value !== undefined);
      if (values.length > 0) found.set(id, median(values));
    }
    return found;
  };
  const downloads = medians(({ downloadMs }) => downloadMs);
  const pushes = medians(({ pushMs }) => pushMs);
  const rows = [
    ...rowsOf(`first download of ${entities.toLocaleString("en")} entities`, downloads, seconds),
    ...rowsOf(`push of ${edits.toLocaleString("en")} offline edits`, pushes, seconds),
    ...rowsOf("code with brotli, of sync and store", await sizes(), kilobytes),
  ];
  const of = rounds === 1 ? "One round" : `Medians of ${rounds} rounds`;
  const table = markdownTable(["", "", "relative to entitable"], rows);
  return `${of}. ${versions()}.\n\n${table}${stopped(times)}`;
}

async function measureRounds(workload: Workload, rounds: number): Promise<AllTimes> {
  const times = new Map<Contender, Times[]>(contenders.map((id) => [id, []]));
  for (let round = 0; round < rounds; ++round) {
    for (const id of shuffled(contenders, round)) {
      if (times.get(id)?.some(({ stopped }) => stopped)) continue; // in an earlier round
      const measured = await (id === "entitable"
        ? measureEntitable(workload)
        : measurePeer(id, workload));
      console.error(`  round ${round + 1}, ${id}: ${JSON.stringify(measured)}`);
      times.get(id)?.push(measured);
    }
  }
  return times;
}

/** Returns a list of the peers that took too long. */
function stopped(times: AllTimes): string {
  const lines = [...times].flatMap(([id, all]) =>
    all.flatMap(({ stopped }) => (stopped === undefined ? [] : [`- ${names[id]}: ${stopped}\n`])),
  );
  return lines.length === 0 ? "" : `\nStopped:\n\n${lines.join("")}`;
}

async function sizes(): Promise<Values> {
  const found = new Map<Contender, number>([["entitable", await sizeOfEntitable()]]);
  for (const id of contenders) if (id !== "entitable") found.set(id, await sizeOf(id));
  return found;
}

function rowsOf(what: string, values: Values, shown: (value: number) => string): string[][] {
  const ours = values.get("entitable") ?? Number.NaN;
  return [...values].map(([id, value]) => [
    `${what}: ${names[id]}`,
    shown(value),
    `${(value / ours).toFixed(2)} ×`,
  ]);
}

const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} KB`;

function versions(): string {
  const file = new URL("../../package.json", import.meta.url);
  const { devDependencies } = JSON.parse(readFileSync(file, "utf8"));
  return ["rxdb", "pouchdb-browser", "express-pouchdb", "@tanstack/offline-transactions"]
    .map((name) => `${name} ${devDependencies[name]}`)
    .join(", ");
}
