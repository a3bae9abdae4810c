// Formats the results as Markdown.

import { markdownTable } from "../support/readme.ts";
import { componentNames } from "./components.ts";
import type { Level } from "./database-adapter.ts";
import type { DatabaseId } from "./databases.ts";
import { missedTargetReasons } from "./missed-targets.ts";
import type { Profile } from "./profile.ts";
import type { Measured, Results } from "./results.ts";
import { type Row, rows } from "./rows.ts";

type Cells = string[];

export const count = (value: number) => value.toLocaleString("en");

// Formats a number with up to three significant digits.
export function figure(value: number, matter = 3): string {
  const before = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value))) + 1;
  const digits = Math.max(0, matter - before);
  return value.toLocaleString("en", { maximumFractionDigits: Math.min(digits, 4) });
}

const shown = (value: number | undefined, { unit }: Row) =>
  value === undefined ? "–" : `${figure(value)} ${unit}`;

// Returns all tables. `machine` describes the machine that was measured.
export function report(machine: string, all: readonly Results[]): string {
  const parts = [machine];
  for (const results of all) {
    const { rounds } = results;
    const of = rounds === 1 ? "one round" : `medians of ${rounds} rounds`;
    const spread = rounds === 1 ? "" : ", with minimum and maximum";
    parts.push(
      `### ${count(results.entities)} entities, ${of}`,
      summary(results),
      missedTargets(results),
    );
    parts.push(`All databases${spread}:`, allResults(results), stoppedRuns(results));
  }
  if (all.length > 1) parts.push("### Growth with the number of entities", growth(all));
  return parts
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .join("\n\n");
}

// ---- entitable, its targets and its rivals ------------------------------------------------------

function summary(results: Results): string {
  const head = [
    "",
    "target",
    "entitable",
    "",
    "in a worker",
    "in Node, files",
    "in Node, memory",
    "plain JS (M)",
    "best other M",
    "best S",
    "best R or D",
    "of the best of its class",
    "of plain JS",
  ];
  return markdownTable(
    head,
    rows.filter((row) => measured(results, row)).map((row) => line(results, row)),
  );
}

const measured = (results: Results, { id }: Row) =>
  results.entries.some((entry) => results.of(entry.id, id) !== undefined);

function line(results: Results, row: Row): Cells {
  const ours = results.of("entitable", row.id)?.median;
  const plain = results.of("plain", row.id)?.median;
  const target = row.target?.(results.entities);
  const elsewhere = (id: DatabaseId) => shown(results.of(id, row.id)?.median, row);
  const peer = (...levels: Level[]) => named(results.best(row, levels), row);
  return [
    row.title,
    target === undefined ? "–" : `≤ ${shown(target, row)}`,
    `**${shown(ours, row)}**`,
    targetStatus(ours, target),
    elsewhere("entitable-worker"),
    elsewhere("entitable-node"),
    elsewhere("entitable-node-memory"),
    shown(plain, row),
    peer("memory"),
    peer("deferred"),
    peer("relaxed", "strict"),
    ratio(ours, results.bestComparable(row)?.value),
    ratio(ours, plain),
  ];
}

// Returns the reasons why targets were missed.
function missedTargets(results: Results): string {
  const missed = rows.filter((row) => {
    const target = row.target?.(results.entities);
    return (results.of("entitable", row.id)?.median ?? 0) > (target ?? Number.POSITIVE_INFINITY);
  });
  return missed
    .flatMap(({ id, title }) => {
      const reason = missedTargetReasons[id];
      return reason === undefined ? [] : `- ${title}: ${filled(reason, results)}`;
    })
    .join("\n");
}

// Replaces {row} in a text by entitable's figure in that row.
const filled = (reason: string, results: Results) =>
  reason.replace(/{([a-z-]+)}/g, (_, row: string) => {
    const found = results.of("entitable", row)?.median;
    return found === undefined ? "–" : figure(found);
  });

function targetStatus(ours: number | undefined, target: number | undefined): string {
  if (ours === undefined || target === undefined) return "";
  return ours <= target ? "met" : `not met: ${figure(ours / target)} ×`;
}

const named = (best: ReturnType<Results["best"]>, row: Row) =>
  best === undefined ? "–" : `${shown(best.value, row)} ${best.entry.title}`;

const ratio = (ours: number | undefined, other: number | undefined) =>
  ours === undefined || !other ? "–" : `${figure(ours / other)} ×`;

// ---- All databases ------------------------------------------------------------------------------

function allResults(results: Results): string {
  const { entries } = results;
  const body = rows
    .filter((row) => measured(results, row))
    .map((row) => [
      `${row.title}, ${row.unit}`,
      ...entries.map(({ id }) => cell(results, id, row)),
    ]);
  return markdownTable(["", ...entries.map(({ title }) => title)], body);
}

function cell(results: Results, id: DatabaseId, row: Row): string {
  const found = results.of(id, row.id);
  if (found === undefined) {
    const stopped = results.stopped(id);
    return stopped?.at === row.id ? (stopped.why.split(":")[0] ?? "") : "–";
  }
  const letter = row.isReference ? "" : ` ${results.letter(id, row)}`;
  return `${figure(found.median)}${letter}${spread(found)}`;
}

const spread = ({ median, min, max }: Measured) =>
  min === max || median === 0 ? "" : ` <sub>${figure(min)}–${figure(max)}</sub>`;

// Which databases stopped early or missed rounds, and why.
function stoppedRuns(results: Results): string {
  const lines: string[] = [];
  for (const { id, title } of results.entries) {
    const stopped = results.stopped(id);
    if (stopped === undefined) continue;
    const where = rows.find((row) => row.id === stopped.at)?.title ?? stopped.at;
    lines.push(`- ${title} stopped at "${where}": ${stopped.why}`);
  }
  for (const { id, title } of results.entries) {
    const { rounds, seconds } = results.participation(id);
    if (results.stopped(id) !== undefined || rounds === results.rounds) continue;
    lines.push(
      `- ${title} took part in ${rounds} of ${results.rounds} rounds of ${figure(seconds)} s`,
    );
  }
  return lines.join("\n");
}

// ---- Growth -------------------------------------------------------------------------------------

const growing = ["entitable", "plain", "lokijs", "sqlite-opfs", "idb"] as const;

function growth(sizes: readonly Results[]): string {
  const names = [
    "load-deferred",
    "load-relaxed",
    "growth",
    "get",
    "scan-none",
    "insert-strict",
    "open",
    "memory-open",
  ];
  const body: Cells[] = [];
  for (const row of rows.filter(({ id }) => names.includes(id))) {
    for (const id of growing) {
      const values = sizes.map((results) => perRow(results, id, row));
      if (values.every((value) => value === undefined)) continue;
      const { title = id } = sizes[0]?.entries.find((entry) => entry.id === id) ?? {};
      const unit = row.id === "scan-none" ? "ns a row" : row.unit;
      const figures = values.map((value) => (value === undefined ? "–" : figure(value)));
      body.push([`${row.title}, ${unit}`, title, ...figures]);
    }
  }
  return markdownTable(["", "", ...sizes.map(({ entities }) => count(entities))], body);
}

function perRow(results: Results, id: DatabaseId, row: Row): number | undefined {
  const found = results.of(id, row.id)?.median;
  if (found === undefined || row.id !== "scan-none") return found;
  return (found * 1e6) / results.entities;
}

// ---- Profiles -----------------------------------------------------------------------------------

// Returns the share of each component of entitable in each row's time. A profiled run is slower
// than others.
export function componentTable(machine: string, all: readonly Results[]): string {
  const parts = [machine];
  for (const results of all) {
    const found = results.profiles("entitable");
    const body = rows.flatMap((row) => {
      const ours = results.of("entitable", row.id)?.median;
      const profile = found[row.id];
      return ours === undefined || profile === undefined ? [] : [componentLine(row, ours, profile)];
    });
    parts.push(
      `### ${count(results.entities)} entities`,
      markdownTable(["", "total", ...componentNames], body),
    );
  }
  return parts.map((part) => part.trim()).join("\n\n");
}

function componentLine(row: Row, ours: number, { components }: Profile): Cells {
  const cells = componentNames.map((component) => {
    const { percent = 0 } = components.find(({ name }) => name === component) ?? {};
    return percent < 0.5 ? "" : figure((ours * percent) / 100, 2);
  });
  return [row.title, shown(ours, row), ...cells];
}

export function functionTable(results: Results): string {
  const parts: string[] = [];
  for (const { id, title } of results.entries) {
    const found = results.profiles(id);
    for (const row of rows) {
      const profile = found[row.id];
      if (profile === undefined) continue;
      const lines = profile.functions.map(({ name, percent }) => `${share(percent)}  ${name}`);
      parts.push(`${title}: ${row.title}\n${lines.join("\n")}`);
    }
  }
  return parts.join("\n\n");
}

const share = (percent: number) => `${percent.toFixed(1).padStart(5)} %`;
