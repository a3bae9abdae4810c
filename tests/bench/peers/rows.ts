// The rows of the table: what is measured, in which unit, and what entitable has set itself as a
// target.

import type { Level } from "./database-adapter.ts";

export type Unit = "µs" | "ms" | "MB" | "KB" | "×";

export interface Row {
  readonly id: string;
  readonly title: string;
  readonly unit: Unit;
  // For that many entities; undefined: none.
  readonly target?: (entities: number) => number | undefined;
  // the row to which other rows are compared; databases are not ranked by it
  readonly isReference?: true;
  // Of writes: who acknowledges them at this level is compared. Without it, everybody that keeps
  // anything is.
  readonly level?: Level;
}

const always = (value: number) => () => value;
const perHundredThousand = (value: number) => (entities: number) => (value * entities) / 100_000;
// The target at a million is set apart: the rows no longer fit into the cache, but more of them
// share a page.
const scanTarget = (entities: number) =>
  entities >= 1_000_000 ? (7 * entities) / 1_000_000 : (0.6 * entities) / 100_000;
const memoryTarget = (entities: number) =>
  entities >= 1_000_000 ? (260 * entities) / 1_000_000 : entities >= 100_000 ? 30 : undefined;

// Rows of one measurement.
function insertAndFloorRows(level: "relaxed" | "strict"): Row[] {
  const title = `insert, awaited, ${level}`;
  const raw = `one raw put of as many bytes, ${level}`;
  return [
    { id: `insert-${level}`, title, unit: "µs", level },
    { id: `put-${level}`, title: raw, unit: "µs", level, isReference: true },
    {
      id: `insert-puts-${level}`,
      title: `${title}, as a multiple of such a put`,
      unit: "×",
      target: always(1.25),
      level,
    },
    {
      id: `put-file-${level}`,
      title: `one raw put of as many bytes in the form of IDBFS, ${level}`,
      unit: "µs",
      level,
      isReference: true,
    },
    {
      id: `insert-put-files-${level}`,
      title: `${title}, as a multiple of a put in that form`,
      unit: "×",
      level,
      isReference: true,
    },
  ];
}

function putFloors(row: string, title: string, level: "relaxed" | "strict"): Row[] {
  return [
    { id: `${row}-${level}`, title: `${title}, ${level}`, unit: "µs", level, isReference: true },
    {
      id: `${row}-file-${level}`,
      title: `${title}, in the form of IDBFS, ${level}`,
      unit: "µs",
      level,
      isReference: true,
    },
  ];
}

// Of a row before it, whose figure is the mean.
const batchMedianRow = (id: string): Row => ({
  id,
  title: "the same, in half of the batches at most",
  unit: "µs",
  level: "deferred",
  isReference: true,
});

const load = "load in transactions of 100, each entity";
const puts = "as many raw puts of as many bytes, each";

export const rows: readonly Row[] = [
  {
    id: "load-deferred",
    title: `${load}, deferred`,
    unit: "µs",
    target: always(4),
    level: "deferred",
  },
  {
    id: "load-relaxed",
    title: `${load}, relaxed`,
    unit: "µs",
    target: always(10),
    level: "relaxed",
  },
  ...putFloors("put-group", puts, "relaxed"),
  { id: "load-strict", title: `${load}, strict`, unit: "µs", target: always(12), level: "strict" },
  ...putFloors("put-group", puts, "strict"),
  {
    id: "load-ten-strict",
    title: `${load}, strict, 10 in flight`,
    unit: "µs",
    target: always(5),
    level: "strict",
  },
  ...putFloors("put-ten-groups", `${puts}, of 10 in one`, "strict"),
  { id: "growth", title: "the last tenth of the load, as a multiple of the first", unit: "×" },
  {
    id: "insert-deferred",
    title: "insert, awaited, deferred",
    unit: "µs",
    target: always(4),
    level: "deferred",
  },
  batchMedianRow("insert-median"),
  {
    id: "insert-first",
    title: "the same, of the first thousand of a page",
    unit: "µs",
    level: "deferred",
    isReference: true,
  },
  {
    id: "hand-over",
    title: "handing as many bytes to IndexedDB, in the form of IDBFS: what the page's thread takes",
    unit: "µs",
    level: "deferred",
    isReference: true,
  },
  ...insertAndFloorRows("relaxed"),
  ...insertAndFloorRows("strict"),
  {
    id: "in-flight",
    title: "1,000 inserts in flight, strict, each",
    unit: "µs",
    target: always(8),
    level: "strict",
  },
  ...putFloors("put-in-flight", `${puts}, of 1,000 in one`, "strict"),
  { id: "get", title: "point read, one await each", unit: "µs", target: always(3) },
  { id: "get-from-page", title: "point read, asked of the worker by the page", unit: "µs" },
  { id: "get-many", title: "point reads, 100 in one call, each", unit: "µs", target: always(1.5) },
  { id: "range", title: "range of 100", unit: "µs", target: always(110) },
  {
    id: "partition",
    title: "partition scan, 1,000 rows in, ~10 out",
    unit: "µs",
    target: always(25),
  },
  { id: "scan-some", title: "table scan, 1 % out", unit: "ms", target: perHundredThousand(1.6) },
  { id: "scan-none", title: "table scan, nothing out", unit: "ms", target: scanTarget },
  {
    id: "merge",
    title: "merge one property by key, plain",
    unit: "µs",
    target: always(4),
    level: "deferred",
  },
  batchMedianRow("merge-median"),
  {
    id: "merge-if",
    title: "merge one property by key, If-Match",
    unit: "µs",
    target: always(5),
    level: "deferred",
  },
  batchMedianRow("merge-if-median"),
  { id: "all", title: "all entities as JavaScript objects, each", unit: "µs", target: always(1.2) },
  { id: "open", title: "cold open: import, open, first read", unit: "ms", target: always(80) },
  {
    id: "open-floor",
    title: "import of the same bundle, compiling, a lock, a database, as many entries read and put",
    unit: "ms",
    isReference: true,
  },
  { id: "memory-load", title: "memory after load", unit: "MB", target: memoryTarget },
  {
    id: "memory-floor",
    title: "memory of a page that makes the same entities and only puts as many bytes",
    unit: "MB",
    isReference: true,
  },
  { id: "memory-open", title: "memory after opening", unit: "MB", target: memoryTarget },
  { id: "wasm", title: "of that, wasm memory", unit: "MB" },
  {
    id: "transfer",
    title: "transfer, JavaScript and wasm, brotli",
    unit: "KB",
    target: always(150),
  },
];

export const readRows = ["get", "get-many", "range", "partition", "scan-some", "scan-none", "all"];

export function unitOf(row: string): Unit {
  const found = rows.find(({ id }) => id === row);
  if (found === undefined) throw new Error(`no such row: ${row}`);
  return found.unit;
}
