// Formats the results as Markdown.

import { count, figure } from "../peers/table.ts";
import { markdownTable } from "../support/readme.ts";
import { liveDatabases } from "./databases.ts";
import type { LiveDatabaseId } from "./live-adapter.ts";
import type { LiveResults, Measured } from "./results.ts";
import type { LiveSizes } from "./round.ts";
import { type LiveTableRow, liveRows } from "./rows.ts";

// `machine` describes the machine and the run.
export function liveReport(machine: string, results: LiveResults, sizes: LiveSizes): string {
  const ids = liveDatabases.map(({ id }) => id);
  const measured = liveRows.filter(({ id }) => ids.some((db) => results.of(db, id) !== undefined));
  const head = ["", "target", "", ...liveDatabases.map(({ title }) => title)];
  const body = measured.map((row) => line(row, results, sizes));
  const parts = [machine, markdownTable(head, body).trimEnd(), stopped(results)];
  return parts.filter((part) => part !== "").join("\n\n");
}

function line(row: LiveTableRow, results: LiveResults, sizes: LiveSizes): string[] {
  const cells = liveDatabases.map(({ id }) => cell(results.of(id, row.id), id));
  const target = typeof row.target === "function" ? row.target(sizes) : row.target;
  if (target === undefined) return [named(row, sizes), "", "", ...cells];
  const ours = results.of("entitable", row.id)?.median;
  const limit = `${row.isAtLeast ? "≥" : "≤"} ${count(target)}`;
  return [named(row, sizes), limit, status(ours, target, row.isAtLeast === true), ...cells];
}

function named({ title, unit }: LiveTableRow, sizes: LiveSizes): string {
  const size = (name: string) => count(sizes[name as keyof LiveSizes]);
  const filled = title.replace(/{(\w+)}/g, (_, name: string) => size(name));
  return unit === "" ? filled : `${filled}, ${unit}`;
}

function status(ours: number | undefined, target: number, isAtLeast: boolean): string {
  if (ours === undefined) return "";
  const isMet = isAtLeast ? ours >= target : ours <= target;
  return isMet ? "met" : `not met: ${figure(ours / target)} ×`;
}

function cell(found: Measured | undefined, id: LiveDatabaseId): string {
  if (found === undefined) return "–";
  const { median, min, max } = found;
  const shown = figure(median);
  const spread = min === max ? "" : ` <sub>${figure(min)}–${figure(max)}</sub>`;
  return id === "entitable" ? `**${shown}**${spread}` : `${shown}${spread}`;
}

// Which measurements are missing, and why.
function stopped(results: LiveResults): string {
  return results.stopped
    .map(({ id, group, why }) => {
      const { title = id } = liveDatabases.find((entry) => entry.id === id) ?? {};
      return `- ${title}, ${group}: ${why}`;
    })
    .join("\n");
}
