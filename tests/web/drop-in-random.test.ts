// Makes random operations through the official client and through entitable/data-tables. The
// results of each operation and the final data must be equal.

import { test } from "node:test";
import type { TransactionAction } from "@azure/data-tables";
import { all, assertSameOutcome, type Call, openClientPair } from "./support/client-pair.ts";
import { seededRandom } from "./support/random.ts";

const steps = process.env.ENTITABLE_ALL ? 10000 : 1000;
const seed = Number(process.env.ENTITABLE_SEED ?? Date.now() % 1e9);
const { below } = seededRandom(seed);
const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T;

const rowKeys = ["", "0", "1", "o'x", "\u00fc 1%", "a,b)(", "a/b", "k".repeat(513)];
const tables = ["people", "people", "people", "places", "nowhere", "9"];
const values: readonly unknown[] = [
  ...["", "text", "o'x", "\ud83d\ude00", true, false, 0, -1, 2147483647, 0.5, 1e300],
  ...[1n, -9223372036854775808n, 9223372036854775808n, null, undefined],
  ...[new Date(0), new Date("1600-01-01T00:00:00Z"), new Uint8Array([1, 255])],
  ...[
    { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" },
    { type: "Guid", value: "no guid" },
    { type: "Double", value: "1e3" },
    { type: "Int32", value: 2147483648 },
    { type: "Int64", value: "12" },
    { type: "DateTime", value: "2024-01-02T03:04:05.6789012Z" },
    { type: "DateTime", value: "yesterday" },
    { type: "Binary", value: "AP8=" },
    { type: "Binary", value: "?" },
    { type: "Boolean", value: false },
  ],
];
const names = ["a", "b", "c", "Name", "is", "n".repeat(256), "a-b", "partition"];
const filters = [
  "a eq 1",
  "a gt 0 and b ne 'text'",
  "PartitionKey eq 'p' and RowKey ge '1'",
  "RowKey eq 'o''x' or a eq true",
  "not (a eq 'text')",
  "c eq 1L or Name eq guid'c9da6455-213d-42c9-9a79-3e9149a57833'",
  "Timestamp gt datetime'2026-01-01T00:00:00Z'",
  "a eq",
  "length(a) eq 1",
];

const keys = () => ({ partitionKey: pick(["p", "p", "q"]), rowKey: pick(rowKeys) });
const mode = () => pick(["Merge", "Replace"] as const);

function entity(fine = false) {
  const properties: Record<string, unknown> = {};
  for (let i = below(4); i > 0; --i) {
    if (fine) properties[pick(["a", "b", "c"])] = pick(values.slice(0, 12));
    else properties[pick(names)] = pick(values);
  }
  return { ...keys(), ...properties };
}

// Returns an action with valid values. If several operations failed, the service would not define
// which of them it reports.
function action(partitionKey: string): TransactionAction {
  const written = { ...entity(true), partitionKey };
  switch (below(4)) {
    case 0:
      return ["create", written];
    case 1:
      return ["delete", written];
    case 2:
      return ["update", written, mode()];
    default:
      return ["upsert", written, mode()];
  }
}

// Returns the entity's current ETag, an earlier ETag, or "*".
let oldEtag = "*";
async function etagFor(kind: number, read: () => Promise<{ etag: string }>): Promise<string> {
  if (kind === 0) return "*";
  if (kind === 1) return oldEtag;
  oldEtag = await read().then(
    ({ etag }) => etag,
    () => "*",
  );
  return oldEtag;
}

function anyCall(): Call {
  const name = pick(tables);
  const kind = below(3);
  switch (below(12)) {
    case 0: {
      const written = entity();
      return ({ table }) => table(name).createEntity(written);
    }
    case 1:
    case 2: {
      const [written, how] = [entity(), mode()];
      return ({ table }) => table(name).upsertEntity(written, how);
    }
    case 3:
    case 4: {
      const [written, how] = [entity(), mode()];
      return async ({ table }) => {
        const { partitionKey, rowKey } = written;
        const etag = await etagFor(kind, () => table(name).getEntity(partitionKey, rowKey));
        return table(name).updateEntity(written, how, { etag });
      };
    }
    case 5: {
      const { partitionKey, rowKey } = keys();
      return async ({ table }) => {
        const etag = await etagFor(kind, () => table(name).getEntity(partitionKey, rowKey));
        return table(name).deleteEntity(partitionKey, rowKey, { etag });
      };
    }
    case 6: {
      const { partitionKey, rowKey } = keys();
      const queryOptions = kind === 0 ? { select: ["rowKey", pick(names), "etag"] } : {};
      return ({ table }) => table(name).getEntity(partitionKey, rowKey, { queryOptions });
    }
    case 7:
    case 8: {
      const partitionKey = pick(["p", "q"]);
      const actions = Array.from({ length: 1 + below(4) }, () => action(partitionKey));
      return ({ table }) => table(name).submitTransaction(actions);
    }
    case 9:
    case 10: {
      const queryOptions = kind === 0 ? {} : { filter: pick(filters) };
      const maxPageSize = 1 + below(5);
      return ({ table }) => all(table(name).listEntities({ queryOptions }).byPage({ maxPageSize }));
    }
    default:
      if (below(3) > 0) return ({ service }) => service.createTable(name);
      return ({ service }) => service.deleteTable(name);
  }
}

test(`${steps} random steps have the same results, seed ${seed}`, async () => {
  const both = await openClientPair();
  for (let step = 0; step < steps; ++step) {
    both.advanceClock();
    await assertSameOutcome(both, anyCall(), `step ${step}, seed ${seed}`);
  }
  await assertSameOutcome(both, ({ service }) => all(service.listTables()));
  for (const name of ["people", "places"]) {
    await assertSameOutcome(both, ({ table }) => all(table(name).listEntities()));
  }
  await both.close();
});
