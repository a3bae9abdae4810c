// The rows of the table: what is measured, in which unit, and entitable's target.

import type { Level } from "./database-adapter.ts";

export type Unit = "µs" | "ms" | "MB" | "KB" | "×";

export interface Row {
  readonly id: string;
  readonly title: string;
  readonly unit: Unit;
  // The target for this number of entities. undefined: no target.
  readonly target?: (entities: number) => number | undefined;
  // Other rows are compared with this row; databases are not ranked by it.
  readonly isReference?: true;
  // For writes: only databases that acknowledge at this level are compared. Without it, all
  // databases that store data are compared.
  readonly level?: Level;
}

const always = (value: number) => () => value;
const perHundredThousand = (value: number) => (entities: number) => (value * entities) / 100_000;
// At a million entities there is a separate target: the rows no longer fit into the CPU's cache,
// but more of them share a page.
const scanTarget = (entities: number) =>
  entities >= 1_000_000 ? (7 * entities) / 1_000_000 : (0.6 * entities) / 100_000;
const memoryTarget = (entities: number) =>
  entities >= 1_000_000 ? (260 * entities) / 1_000_000 : entities >= 100_000 ? 30 : undefined;

// The rows of one measurement.
function insertAndFloorRows(level: "relaxed" | "strict"): Row[] {
  const title = `insert, awaited, ${level}`;
  const raw = `one raw put of the same bytes, ${level}`;
  return [
    { id: `insert-${level}`, title, unit: "µs", level },
    { id: `put-${level}`, title: raw, unit: "µs", level, isReference: true },
    {
      id: `insert-puts-${level}`,
      title: `${title}, relative to that put`,
      unit: "×",
      target: always(1.25),
      level,
    },
    {
      id: `put-file-${level}`,
      title: `one raw put of the same bytes in IDBFS format, ${level}`,
      unit: "µs",
      level,
      isReference: true,
    },
    {
      id: `insert-put-files-${level}`,
      title: `${title}, relative to a put in IDBFS format`,
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
      title: `${title}, in IDBFS format, ${level}`,
      unit: "µs",
      level,
      isReference: true,
    },
  ];
}

// A row for the median, after a row whose figure is the mean.
const batchMedianRow = (id: string): Row => ({
  id,
  title: "the same, median batch",
  unit: "µs",
  level: "deferred",
  isReference: true,
});

const load = "load in transactions of 100, per entity";
const puts = "raw puts of the same bytes, per entity";

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
  ...putFloors("put-ten-groups", `${puts}, 10 transactions per put`, "strict"),
  { id: "growth", title: "last tenth of the load, relative to the first", unit: "×" },
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
    title: "the same, first thousand calls of a page",
    unit: "µs",
    level: "deferred",
    isReference: true,
  },
  {
    id: "hand-over",
    title: "handing the same bytes to IndexedDB in IDBFS format, time on the page's thread",
    unit: "µs",
    level: "deferred",
    isReference: true,
  },
  ...insertAndFloorRows("relaxed"),
  ...insertAndFloorRows("strict"),
  {
    id: "in-flight",
    title: "1,000 inserts in flight, strict, per insert",
    unit: "µs",
    target: always(8),
    level: "strict",
  },
  ...putFloors("put-in-flight", `${puts}, 1,000 inserts per put`, "strict"),
  { id: "get", title: "point read, one await each", unit: "µs", target: always(3) },
  { id: "get-from-page", title: "point read, sent by the page to the worker", unit: "µs" },
  {
    id: "get-many",
    title: "point reads, 100 in one call, per read",
    unit: "µs",
    target: always(1.5),
  },
  { id: "range", title: "range of 100", unit: "µs", target: always(110) },
  {
    id: "partition",
    title: "partition scan, 1,000 rows read, ~10 returned",
    unit: "µs",
    target: always(25),
  },
  {
    id: "scan-some",
    title: "table scan, 1 % returned",
    unit: "ms",
    target: perHundredThousand(1.6),
  },
  { id: "scan-none", title: "table scan, nothing returned", unit: "ms", target: scanTarget },
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
  {
    id: "all",
    title: "all entities as JavaScript objects, per entity",
    unit: "µs",
    target: always(1.2),
  },
  { id: "open", title: "cold open: import, open, first read", unit: "ms", target: always(80) },
  {
    id: "open-floor",
    title: "the browser's share: import, compile, lock, open a database, read and put entries",
    unit: "ms",
    isReference: true,
  },
  { id: "memory-load", title: "memory after load", unit: "MB", target: memoryTarget },
  {
    id: "memory-floor",
    title: "memory of a page that creates the same entities and only puts the same bytes",
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
