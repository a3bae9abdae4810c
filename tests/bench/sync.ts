// Measures what syncing a table costs, in Node and in Chromium, with `entitable serve` as the
// remote: the first download, pushes of offline edits, an edit that another browser shows, what is
// stored for clean rows, reads, the estimate, and the size of the code. The part `peers` compares
// with other libraries that sync, in a table of its own.

import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { markdownTable, writeTable } from "./support/readme.ts";
import { atRest } from "./sync/at-rest.ts";
import { download } from "./sync/download.ts";
import { offlineEdits } from "./sync/edits.ts";
import { estimate } from "./sync/estimate.ts";
import type { Measured } from "./sync/measured.ts";
import { comparePeers } from "./sync/peers/compare.ts";
import { seenEdits } from "./sync/seen-edits.ts";
import { sizes } from "./sync/sizes.ts";

const { values: options } = parseArgs({
  options: {
    entities: { type: "string" }, // of the download: 1,000,000, and 20,000 for peers
    edits: { type: "string", default: "10000" }, // made offline, a multiple of 100
    seen: { type: "string", default: "60" }, // edits that another browser shows
    only: { type: "string", default: "download,edits,seen,rest,estimate,size" },
    rounds: { type: "string", default: "3" }, // of peers
    budget: { type: "string", default: "300" }, // seconds, of each step of a peer
    places: { type: "string", default: "node,chromium" },
    poll: { type: "string", default: "1000" },
    flags: { type: "string", default: "" }, // of Node, for example --cpu-prof
    write: { type: "boolean", default: false },
  },
});
const places = options.places.split(",");
const flags = options.flags.split(" ").filter(Boolean);

const parts: Readonly<Record<string, () => Promise<Measured[]>>> = {
  download: () => download(Number(options.entities ?? 1_000_000), places, flags),
  edits: () => offlineEdits(Number(options.edits), places, flags),
  seen: () => seenEdits(Number(options.seen), Number(options.poll)),
  rest: atRest,
  estimate,
  size: sizes,
};

const load = (loadavg()[0] ?? 0).toFixed(1);
const machine = `Node ${process.version}, load average ${load} at the start.`;
const only = options.only.split(",");

const measured: Measured[] = [];
for (const part of only) {
  const measure = parts[part];
  if (measure === undefined) continue;
  console.error(`${part}…`);
  measured.push(...(await measure()));
}
if (measured.length > 0) {
  const rows = measured.map(({ what, target, values }) => [
    what,
    target,
    values["node"] ?? "",
    values["chromium"] ?? "",
  ]);
  report("sync", markdownTable(["", "target", "Node", "Chromium"], rows));
}

if (only.includes("peers")) {
  console.error("peers…");
  const workload = {
    entities: Number(options.entities ?? 20_000),
    edits: Number(options.edits),
    budgetMs: 1000 * Number(options.budget),
  };
  report("sync-peers", await comparePeers(workload, Number(options.rounds)));
}

function report(name: string, table: string): void {
  const markdown = `${machine}\n\n${table}`;
  console.log(markdown);
  if (options.write) writeTable(name, markdown);
}
