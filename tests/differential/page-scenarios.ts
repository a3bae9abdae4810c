// A table with more rows than one response may have, and queries that have several pages.

import { batchOf } from "./batch-scenarios.ts";
import type { EdmType, Key, Step } from "./request.ts";
import { tableSas } from "./sas.ts";
import type { Scenario } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { commonHeaders, encodeQueryValue, makeStep } from "./steps.ts";
import { createTable } from "./table-scenarios.ts";
import { writeStep } from "./write-scenarios.ts";

// The partitions and their numbers of rows, sorted by UTF-16 units (by code points, the order would
// be different). The first two partitions together are one full page.
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

// Returns the requests that create and fill the table.
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
  where?: (row: Row) => boolean; // selects the rows that the filter matches
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
  scenario({ top: 400 }), // the page ends at the end of a partition
  scenario({ top: 250 }),
  scenario(notThree),
  scenario({ ...notThree, top: 500 }),
  scenario({ filter: "string1 eq 'x'", types: ["String"] }),
  // The result has one row less than a full page, exactly a full page, and one row more.
  scenario({
    filter: "RowKey ge '0001' and PartitionKey le 'b'",
    where: ({ pk, rk }) => pk <= "b" && rk >= "0001",
  }),
  scenario({ filter: "PartitionKey le 'b'", where: ({ pk }) => pk <= "b" }),
  scenario({ filter: "PartitionKey gt 'a'", where: ({ pk }) => pk > "a" }),
  // Each partition has a page that ends within it.
  scenario({ filter: "RowKey lt '0090'", where: ({ rk }) => rk < "0090", top: 70 }),
  scenario({ filter: "int321 eq 5", where: ({ n }) => n === 5, types: ["Int32"] }),
  bySas,
];

// Continued queries, which are not scenarios of their own: they follow from the scenarios above.
export const followed = ["query many rows", "query many rows by SAS", "query", "query tables"].map(
  (operation) => ({ operation: continued(operation), type: "-" as const, code: "ok" }),
);

function continued(operation: string): string {
  return operation.endsWith(" continued") ? operation : `${operation} continued`;
}

// Returns the request for the page after that of `step`. Each backend gets its own token.
export function nextPage(step: Step): Step {
  const target = step.target.replace(/[?&]\{\{next\}\}$/, "");
  const glue = target.includes("?") ? "&" : "?";
  return { ...step, operation: continued(step.operation), target: `${target}${glue}{{next}}` };
}
