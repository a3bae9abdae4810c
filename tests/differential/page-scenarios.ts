// A table with more rows than one answer may hold, and queries of it that have to be continued.

import { batchOf } from "./batch-scenarios.ts";
import type { EdmType, Key, Step } from "./request.ts";
import { tableSas } from "./sas.ts";
import type { Scenario } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { commonHeaders, encodeQueryValue, makeStep } from "./steps.ts";
import { createTable } from "./table-scenarios.ts";
import { writeStep } from "./write-scenarios.ts";

// Partitions, with their numbers of rows: in the order of UTF-16, which is not that of code points.
// The first two are a full page together.
const partitions: readonly (readonly [string, number])[] = [
  ["a", 400],
  ["b", 600],
  ["o'x", 120],
  ["\u00fc \u20ac", 80],
  ["\u{1f600}", 100],
  ["\uff0b", 101],
];
const pageMax = 1000;
const groupMax = 100;
const table = "manyrows";

interface Row extends Key {
  n: number; // int321
}

const partitionRows = (pk: string, count: number): Row[] =>
  Array.from({ length: count }, (_, n) => ({ pk, rk: `${n}`.padStart(4, "0"), n: n % 7 }));
const rows = partitions.flatMap(([pk, count]) => partitionRows(pk, count));

// The requests that make the table.
export function fillTable(random: SeededRandom): Step[] {
  const steps = [{ ...createTable(random, table), table, expected: "ok" }];
  for (const [pk, count] of partitions) {
    const inserts = partitionRows(pk, count).map((row) =>
      writeStep(random, {
        write: "insert",
        table,
        key: row,
        body: JSON.stringify({ PartitionKey: pk, RowKey: row.rk, int321: row.n, string1: "x" }),
      }),
    );
    while (inserts.length > 0) {
      const group = batchOf(random, "batch", inserts.splice(0, groupMax));
      steps.push({ ...group, table, expected: "ok" });
    }
  }
  return steps.map((step) => ({ ...step, tags: new Set([...step.tags, "filling"]) }));
}

interface Query {
  filter?: string;
  where?: (row: Row) => boolean; // the rows that the filter means
  top?: number;
  select?: string;
  types?: readonly EdmType[];
}

function pageStep(random: SeededRandom, { filter, where, top, select, types = [] }: Query): Step {
  const options = [
    ...(filter === undefined ? [] : [`$filter=${encodeQueryValue(filter)}`]),
    ...(top === undefined ? [] : [`$top=${top}`]),
    ...(select === undefined ? [] : [`$select=${select}`]),
  ];
  const query = options.length === 0 ? "" : `?${random.shuffle(options).join("&")}`;
  const found = where === undefined ? rows : rows.filter(where);
  return makeStep({
    operation: "query many rows",
    types,
    method: "GET",
    target: `/${table}${random.pick(["", "()"])}${query}`,
    headers: commonHeaders(random),
    table,
    pages: { rows: found.map(({ pk, rk }) => `${pk}|${rk}`), size: top ?? pageMax },
    tags: new Set(select === undefined ? [] : ["select"]),
  });
}

const scenario = (query: Query): Scenario => ({
  operation: "query many rows",
  type: query.types?.[0] ?? "-",
  code: "ok",
  make: (_, random) => pageStep(random, query),
});

const bySas: Scenario = {
  operation: "query many rows by SAS",
  type: "-",
  code: "ok",
  make(_, random) {
    const step = pageStep(random, {});
    const target = `${step.target}?${tableSas(random, table, { sp: "r" })}`;
    return { ...step, operation: "query many rows by SAS", target, tags: new Set(["sas"]) };
  },
};

const notThree: Query = { filter: "int321 ne 3", where: ({ n }) => n !== 3, types: ["Int32"] };

export const pageScenarios: readonly Scenario[] = [
  scenario({}),
  scenario({ select: "PartitionKey,RowKey,int321" }),
  scenario({ top: pageMax }),
  scenario({ top: pageMax - 1 }),
  scenario({ top: 400 }), // ends with a partition
  scenario({ top: 250 }),
  scenario(notThree),
  scenario({ ...notThree, top: 500 }),
  scenario({ filter: "string1 eq 'x'", types: ["String"] }),
  // Pages of one row less, the same, and one more than a page may hold.
  scenario({
    filter: "RowKey ge '0001' and PartitionKey le 'b'",
    where: ({ pk, rk }) => pk <= "b" && rk >= "0001",
  }),
  scenario({ filter: "PartitionKey le 'b'", where: ({ pk }) => pk <= "b" }),
  scenario({ filter: "PartitionKey gt 'a'", where: ({ pk }) => pk > "a" }),
  // A continuation within each partition.
  scenario({ filter: "RowKey lt '0090'", where: ({ rk }) => rk < "0090", top: 70 }),
  scenario({ filter: "int321 eq 5", where: ({ n }) => n === 5, types: ["Int32"] }),
  bySas,
];

// What no scenario asks for by itself, but the answers to those above bring with them.
export const followed = ["query many rows", "query many rows by SAS", "query", "query tables"].map(
  (operation) => ({ operation: continued(operation), type: "-" as const, code: "ok" }),
);

function continued(operation: string): string {
  return operation.endsWith(" continued") ? operation : `${operation} continued`;
}

// The page after `step`, by the token that each backend gave.
export function nextPage(step: Step): Step {
  const target = step.target.replace(/[?&]\{\{next\}\}$/, "");
  const glue = target.includes("?") ? "&" : "?";
  return { ...step, operation: continued(step.operation), target: `${target}${glue}{{next}}` };
}
