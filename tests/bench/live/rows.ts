// The rows of the table, with their targets.

import type { LiveSizes } from "./round.ts";

export interface LiveTableRow {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly target?: number | ((sizes: LiveSizes) => number);
  readonly isAtLeast?: true; // the target is a lower limit
}

const us = "µs";
const ms = "ms";
const times = "×";

export const liveRows: readonly LiveTableRow[] = [
  {
    id: "update-callback",
    title: "an update of a row in a live query of {rows} rows, from the call to the callback",
    unit: us,
    target: 100,
  },
  {
    id: "update-result",
    title: "the same, until the callback has the result as an array",
    unit: us,
  },
  {
    id: "million-callback",
    title: "an update of a row in a live query of {rows} of {total} rows, to the callback",
    unit: us,
    target: 100,
  },
  { id: "million-result", title: "the same, to the result as an array", unit: us },
  {
    id: "identity",
    title: "objects of {rows} rows that stay the same when one row changes",
    unit: "",
    target: ({ rows }) => rows - 1,
    isAtLeast: true,
  },
  {
    id: "open-ratio",
    title: "opening a live query of 1,000 rows, times listing them",
    unit: times,
    target: 1.2,
  },
  { id: "open-1000", title: "opening a live query of 1,000 rows", unit: ms },
  { id: "list-1000", title: "listing 1,000 rows", unit: ms },
  { id: "many-none", title: "an update without live queries", unit: us },
  {
    id: "many-missed",
    title: "{queries} live queries that an update does not concern, more per update",
    unit: us,
    target: 10,
  },
  {
    id: "many-hit",
    title: "of {queries} live queries, more for each that an update concerns, to its callback",
    unit: us,
    target: 5,
  },
  { id: "many-open", title: "opening {queries} live queries, for each", unit: us },
  {
    id: "many-memory",
    title: "memory of {queries} live queries with their rows, for each",
    unit: "KB",
  },
  { id: "watches", title: "memory of {watches} live counts", unit: "MB", target: 50 },
  { id: "watches-wasm", title: "of that, wasm memory", unit: "MB" },
  ...insertRows("groups", "in transactions of 100"),
  ...insertRows("single", "one by one"),
  ...([
    {
      id: "feed",
      title: "an insert in transactions of 100, with a reader of all changes",
      unit: us,
    },
    { id: "feed-ratio", title: "the same, times without a reader", unit: times },
    {
      id: "feed-closed-ratio",
      title: "an insert after a reader has closed, times in a database that never had one",
      unit: times,
    },
    {
      id: "feed-never-ratio",
      title: "the noise: the same for two databases that never had a reader",
      unit: times,
    },
    {
      id: "resume",
      title: "reading {rows} changes in transactions of 100 from the log, after a sequence",
      unit: ms,
      target: 200,
    },
    { id: "resume-log", title: "only reading the bytes of that log from IndexedDB", unit: ms },
    { id: "resume-objects", title: "only creating the objects of these changes", unit: ms },
    {
      id: "history-ratio",
      title: "an insert while the log is kept for a durable reader, times without it",
      unit: times,
      target: 1.02,
    },
    {
      id: "history-never-ratio",
      title: "the noise: the same for two databases without a durable reader",
      unit: times,
    },
  ] satisfies LiveTableRow[]),
  ...([
    {
      id: "tab",
      title: "an update, from the call to the callback in another tab, 95th percentile",
      unit: ms,
      target: 5,
    },
    { id: "tab-median", title: "the same, median", unit: ms },
    {
      id: "tab-floor",
      title: "a message through a BroadcastChannel between two updates, 95th percentile",
      unit: ms,
    },
    { id: "tab-floor-median", title: "the same, median", unit: ms },
  ] satisfies LiveTableRow[]),
  ...([
    {
      id: "react-frames",
      title: "React list of {list} rows, 100 updates a second: frames a second",
      unit: "",
      target: 58,
      isAtLeast: true,
    },
    { id: "react-frames-array", title: "the same list of an array", unit: "" },
    {
      id: "react-frames-none",
      title: "an empty list while the database is updated",
      unit: "",
    },
    { id: "react-script", title: "the list: script per update", unit: ms, target: 2 },
    { id: "react-script-array", title: "the same list of an array", unit: ms },
    {
      id: "react-script-none",
      title: "an empty list while the database is updated",
      unit: ms,
    },
    {
      id: "react-window-frames",
      title: "with 40 of the rows in the document: frames a second",
      unit: "",
    },
    {
      id: "react-window-script",
      title: "with 40 of the rows in the document: script per update",
      unit: ms,
    },
  ] satisfies LiveTableRow[]),
];

function insertRows(id: string, how: string): LiveTableRow[] {
  return [
    {
      id: `insert-${id}-ratio`,
      title: `inserts ${how} that a live query sees, times without it`,
      unit: times,
      target: 1.1,
    },
    { id: `insert-${id}`, title: "the same, per insert", unit: us },
    { id: `insert-${id}-without`, title: "without a live query, per insert", unit: us },
    {
      id: `insert-${id}-objects`,
      title: "only creating the objects of these rows, each",
      unit: us,
    },
    {
      id: `insert-${id}-floor`,
      title: "inserts without a live query and creating the objects, times without it",
      unit: times,
    },
    { id: `insert-${id}-notifications`, title: "callbacks per commit", unit: "", target: 1 },
    {
      id: `insert-${id}-read-ratio`,
      title: "if each callback reads the result, times without a live query",
      unit: times,
    },
  ];
}
