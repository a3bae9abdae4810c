// Measures the modules of the core natively: nanoseconds of each operation (on a row, an entity, a
// key), by the size of the store.
//
//   native [module] [--write]     without a module: all; --write puts the table into README.md

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { markdownTable, writeTable } from "./support/readme.ts";

interface Measured {
  name: string; // such as index_find/100000
  items_per_second: number;
}

const program = fileURLToPath(
  new URL("../../build/bench/tests/bench/core/core_bench", import.meta.url),
);
const wanted = process.argv.slice(2).find((word) => !word.startsWith("--")) ?? "";
const sizes = ["10000", "100000", "1000000"];

const run = (...words: string[]) =>
  execFileSync(program, words, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

const names = run("--benchmark_list_tests").trim().split("\n");
const modules = [...new Set(names.map((name) => name.split("_")[0] as string))];
const chosen = modules.filter((module) => module.startsWith(wanted));
if (chosen.length === 0)
  throw new Error(`There is no module ${wanted} among ${modules.join(", ")}.`);

// Measures a module in its own process, so that its stores are freed afterwards.
function measure(module: string): Measured[] {
  console.error(`${module}…`);
  const output = run(
    `--benchmark_filter=^${module}_`,
    "--benchmark_format=json",
    "--benchmark_min_time=0.3",
  );
  return (JSON.parse(output) as { benchmarks: Measured[] }).benchmarks;
}

const n = (value: number) => {
  const digits = value < 100 ? 1 : 0;
  return value.toLocaleString("en", {
    maximumFractionDigits: digits,
    minimumFractionDigits: digits,
  });
};

const rows = new Map<string, Map<string, number>>(); // by benchmark and size; "" if it has none
for (const { name, items_per_second } of chosen.flatMap(measure)) {
  const [what = "", size = ""] = name.split("/");
  const row = rows.get(what) ?? new Map<string, number>();
  row.set(sizes.includes(size) ? size : "", 1e9 / items_per_second);
  rows.set(what, row);
}

const cell = (ns: number | undefined) => (ns === undefined ? "" : n(ns));
const table = markdownTable(
  ["ns", "any size", ...sizes.map((size) => Number(size).toLocaleString("en"))],
  [...rows].map(([what, row]) => {
    const [module = "", ...words] = what.split("_");
    const cells = ["", ...sizes].map((size) => cell(row.get(size)));
    return [`${module}: ${words.join(" ")}`, ...cells];
  }),
);
console.log(table);
if (process.argv.includes("--write")) writeTable("native", table);
