// Measures what live queries cost in the core, natively, beside their targets. The benchmarks run
// in turns, and the figures are those of the fastest turns, because other work on the machine only
// makes turns slower.
//
//   live-core [--write]     --write puts the table into README.md

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { markdownTable, writeTable } from "./support/readme.ts";

interface Measured {
  run_name: string; // such as live_update_that_10000_miss/100000
  run_type: "iteration" | "aggregate";
  items_per_second: number;
  deltas?: number; // of a write
  bytes?: number; // of memory
}

const program = fileURLToPath(
  new URL("../../build/bench/tests/bench/core/core_bench", import.meta.url),
);
const words = [
  "--benchmark_filter=^live_.*/(100000|1000000|iterations:1)$",
  "--benchmark_format=json",
  "--benchmark_min_time=0.1",
  "--benchmark_repetitions=7",
  "--benchmark_enable_random_interleaving=true",
];
const output = execFileSync(program, words, {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"],
});

const fastest = new Map<string, Measured>();
for (const turn of (JSON.parse(output) as { benchmarks: Measured[] }).benchmarks) {
  if (turn.run_type !== "iteration") continue;
  const before = fastest.get(turn.run_name);
  if (before === undefined || turn.items_per_second > before.items_per_second)
    fastest.set(turn.run_name, turn);
}

function measured(name: string): Measured {
  const found = fastest.get(name);
  if (found === undefined) throw new Error(`There is no benchmark ${name}.`);
  return found;
}
const microseconds = (name: string) => 1e6 / measured(name).items_per_second;
const n = (value: number) => value.toFixed(2);

const sizes = ["100000", "1000000"];
const row = (what: string, target: string, figure: (size: string) => string) => [
  what,
  target,
  ...sizes.map(figure),
];
const at = (name: string) => (size: string) => microseconds(`live_${name}/${size}`);
const nearby = at("update_nearby_without_listeners");
const missed = at("update_that_10000_miss");
const seen = at("update_that_20_of_10000_see");
const deltas = (size: string) =>
  measured(`live_update_that_20_of_10000_see/${size}`).deltas as number;
const insert = at("insert_in_groups_without_listeners");
const table = markdownTable(
  ["", "target", "100,000 rows", "1,000,000 rows"],
  [
    row("an update without listeners, µs", "", (size) => n(at("update_without_listeners")(size))),
    row("an update of a row in a live query of all rows, µs", "50", (size) =>
      n(at("update_in_query_of_all_rows")(size)),
    ),
    row("10,000 live queries that an update does not concern, µs more", "10", (size) =>
      n(missed(size) - nearby(size)),
    ),
    row("live queries that an update concerns", "", (size) => n(deltas(size))),
    row("of 10,000 live queries, µs more for each that an update concerns", "5", (size) =>
      n((seen(size) - nearby(size)) / deltas(size)),
    ),
    row("inserts in groups that a live query sees, times those without", "", (size) =>
      n(at("insert_in_groups_that_a_query_sees")(size) / insert(size)),
    ),
    row("memory of 100,000 live queries, MB", "50", (size) =>
      size === "100000" ? n((measured("live_open_100000/iterations:1").bytes as number) / 1e6) : "",
    ),
  ],
);
console.log(table);
if (process.argv.includes("--write")) writeTable("live-core", table);
