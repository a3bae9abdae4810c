// What the official client does in a measurement; the same for every server.

import { odata, type TableClient, type TransactionAction } from "@azure/data-tables";

const partitionRows = 1000;
const groupRows = 100;

const key = (i: number) => ({
  partitionKey: `p${String(Math.floor(i / partitionRows)).padStart(6, "0")}`,
  rowKey: String(i).padStart(9, "0"),
});

// An entity of 12 properties including the keys, as in the core's benchmarks.
export function entity(i: number) {
  const dice = Math.imul(i + 1, 0x9e3779b1) >>> 0;
  return {
    ...key(i),
    name: `name ${i % 997} of an entity`,
    city: `city number ${Math.floor(dice / 1000) % 10}`,
    note: `a note of some length, number ${i}`,
    count: dice % 1000,
    version: 1,
    ratio: i / 3 + 0.5,
    active: i % 3 === 0,
    born: new Date(1_600_000_000_000 + i * 1000),
    total: BigInt(i) << 20n,
    hash: new Uint8Array(16).fill(i % 256),
  };
}

export interface Step {
  name: string;
  unit: string;
  scale: number; // units per second
  warming: number; // how many runs precede the measurement
  times: number; // how many runs are measured, one after the other
  each: number; // operations per run
  // Runs the step for the i-th time. Returns a number that must be the same for all servers.
  run(table: TableClient, i: number): Promise<number>;
}

async function sumOf(table: TableClient, filter?: string): Promise<number> {
  let sum = 0;
  const queryOptions = filter === undefined ? {} : { filter };
  for await (const page of table.listEntities({ queryOptions }).byPage({ maxPageSize: 1000 })) {
    for (const { count } of page) sum += 1 + (count as number);
  }
  return sum;
}

// Returns the steps. They start with an empty table and must run in this order, because later steps
// need what earlier ones wrote.
export function steps(entities: number): Step[] {
  const at = (i: number) => (i * 7919) % entities;
  return [
    {
      name: "an entity, in batches of 100",
      unit: "µs",
      scale: 1e6,
      warming: 0.1 * (entities / groupRows),
      times: 0.9 * (entities / groupRows),
      each: groupRows,
      async run(table, i) {
        const actions = Array.from({ length: groupRows }, (_, k): TransactionAction => {
          return ["create", entity(i * groupRows + k)];
        });
        const { subResponses } = await table.submitTransaction(actions);
        return subResponses.filter(({ status }) => status === 204).length;
      },
    },
    {
      name: "an insert",
      unit: "ms",
      scale: 1e3,
      warming: 100,
      times: 200,
      each: 1,
      async run(table, i) {
        const { etag } = await table.createEntity({ ...entity(i), partitionKey: "z" });
        return etag === undefined ? 0 : 1;
      },
    },
    {
      name: "a point read",
      unit: "ms",
      scale: 1e3,
      warming: 100,
      times: 200,
      each: 1,
      async run(table, i) {
        const { partitionKey, rowKey } = key(at(i));
        return (await table.getEntity<{ count: number }>(partitionKey, rowKey)).count;
      },
    },
    {
      name: "a range of 100",
      unit: "ms",
      scale: 1e3,
      warming: 10,
      times: 30,
      each: 1,
      async run(table, i) {
        const first = at(i) - (at(i) % groupRows);
        const [from, to] = [key(first), key(first + groupRows - 1)];
        const { partitionKey } = from;
        return sumOf(
          table,
          odata`PartitionKey eq ${partitionKey} and RowKey ge ${from.rowKey} and RowKey le ${to.rowKey}`,
        );
      },
    },
    {
      name: "a scan, 1 % out",
      unit: "ms",
      scale: 1e3,
      warming: 2,
      times: 5,
      each: 1,
      run: (table) => sumOf(table, "count lt 100 and city eq 'city number 7'"),
    },
    {
      name: "an entity exported",
      unit: "µs",
      scale: 1e6,
      warming: 1,
      times: 1,
      each: entities,
      run: (table) => sumOf(table),
    },
  ];
}
