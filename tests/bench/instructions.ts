// Counts the instructions of the core for each operation. The count is the same in every run on one
// machine, so commits can be compared. Prints the most expensive functions of each operation. With
// --write, the table goes into README.md.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Profile, readProfile, shortName } from "./support/callgrind.ts";
import { markdownTable, writeTable } from "./support/readme.ts";

const build = fileURLToPath(new URL("../../build/bench/", import.meta.url));
const folder = `${build}callgrind`;
const functionsShown = 5;

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const output = execFileSync(
  "valgrind",
  [
    "--tool=callgrind",
    "--quiet",
    "--instr-atstart=no",
    "--compress-strings=no",
    "--callgrind-out-file=out",
    `${build}tests/bench/core/core_instructions`,
  ],
  { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
);
const paths = output
  .trim()
  .split("\n")
  .map((line, i) => {
    const [name = "", count, unit = ""] = line.split("\t");
    const profile = readProfile(readFileSync(`${folder}/out.${i + 1}`, "utf8"));
    return { name, unit, count: Number(count), profile };
  });

const n = (value: number, digits = 0) =>
  value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits });
// Formats with one decimal below 10, otherwise without decimals.
const per = (value: number) => n(value, value < 10 ? 1 : 0);

function allocations({ calls }: Profile): number {
  return ["malloc", "calloc", "realloc"].reduce((sum, name) => sum + (calls.get(name) ?? 0), 0);
}

for (const { name, unit, count, profile } of paths) {
  console.log(`\n${name}: ${per(profile.total / count)} instructions per ${unit}`);
  const mostExpensive = [...profile.self].sort(([, a], [, b]) => b - a).slice(0, functionsShown);
  for (const [what, cost] of mostExpensive) {
    const share = n((100 * cost) / profile.total, 1).padStart(5);
    console.log(`  ${share} %  ${per(cost / count).padStart(8)}  ${shortName(what)}`);
  }
}
const table = markdownTable(
  ["", "instructions", "allocations", "per"],
  paths.map(({ name, unit, count, profile }) => [
    name,
    per(profile.total / count),
    n(allocations(profile) / count, 1),
    unit,
  ]),
);
console.log(`\n${table}`);
if (process.argv.includes("--write")) writeTable("instructions", table);
