// Checks single entities: every write operation, reading, every type of value, unusual keys, and
// errors.

import { type Edm, odata, type TableClient, type UpdateMode } from "@azure/data-tables";
import { equal } from "../equal.ts";
import { all, assertRejected, type Check } from "./environment.ts";

const key = { partitionKey: "p", rowKey: "r" };
const read = (table: TableClient) => table.getEntity<Record<string, unknown>>("p", "r");

const values = {
  text: "\u20ac \ud83d\ude00 \"'\\ \n\u0001",
  empty: "",
  yes: true,
  no: false,
  int32: -5,
  half: 0.5,
  int64: 9223372036854775807n,
  date: new Date("2024-01-02T03:04:05.678Z"),
  bytes: Uint8Array.of(0, 1, 255),
  guid: { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" } satisfies Edm<"Guid">,
};

// Values as { type, value } pairs. The client returns types that JSON has no form for as text.
const typed = {
  binary: { type: "Binary", value: "AAH/" },
  boolean: { type: "Boolean", value: true },
  dateTime: { type: "DateTime", value: "2024-01-02T03:04:05.1234567Z" },
  double: { type: "Double", value: 0.5 },
  guid: { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" },
  int32: { type: "Int32", value: 7 },
  int64: { type: "Int64", value: "-9223372036854775808" },
  string: { type: "String", value: "5" },
};

const oddKeys = [
  "",
  " ",
  "o'x",
  "''",
  "\u00fc \u20ac \ud83d\ude00",
  "%41%2F%",
  "+&=;:,@!$*~",
  "(PartitionKey='p')",
  '"<>{}|^`[]',
  ".",
  "..",
  "$batch",
  "a".repeat(512),
];

export const entities: Check[] = [
  {
    name: "an entity is created, read, updated and deleted",
    async run(context) {
      const table = await context.newTable();
      const created = await table.createEntity({ ...key, a: 1, b: "x" });
      equal(created.preferenceApplied, "return-no-content");
      equal([typeof created.requestId, created.date instanceof Date], ["string", true]);
      const { etag, timestamp, "odata.metadata": _, ...rest } = await read(table);
      equal(etag, created.etag);
      equal(rest, { ...key, a: 1, b: "x" });
      equal(Date.parse(timestamp ?? "") > 0, true, timestamp);
      const look = async () => {
        const { a, b, c } = await read(table);
        return [a, b, c];
      };
      const updated = await table.updateEntity({ ...key, a: 2 });
      equal(await look(), [2, "x", undefined], "to update is to merge");
      equal(updated.etag, (await read(table)).etag);
      await table.updateEntity({ ...key, a: 3 }, "Replace");
      equal(await look(), [3, undefined, undefined]);
      const upserted = await table.upsertEntity({ ...key, c: true });
      equal(await look(), [3, undefined, true], "to upsert is to merge");
      equal(upserted.etag, (await read(table)).etag);
      await table.upsertEntity({ ...key, b: "y" }, "Replace");
      equal(await look(), [undefined, "y", undefined]);
      await table.deleteEntity("p", "r");
      await assertRejected(table.getEntity("p", "r"), 404, "ResourceNotFound");
      for (const mode of ["Merge", "Replace"] as const) {
        await table.upsertEntity({ ...key, a: 4 }, mode);
        equal(await look(), [4, undefined, undefined], "to upsert is to insert");
        await table.deleteEntity("p", "r");
      }
    },
  },
  {
    name: "every type of value is read as it was written",
    async run(context) {
      const table = await context.newTable();
      await table.createEntity({ ...key, ...values });
      const back = await read(table);
      for (const [name, value] of Object.entries(values)) equal(back[name], value, name);
      await table.upsertEntity({ ...key, ...typed }, "Replace");
      const raw = await table.getEntity("p", "r", { disableTypeConversion: true });
      const [listed] = await all(table.listEntities({ disableTypeConversion: true }));
      for (const [name, { type, value }] of Object.entries(typed)) {
        equal(raw[name], { type, value: String(value) }, name);
        equal(listed?.[name], raw[name], name);
      }
    },
  },
  {
    name: "whole, infinite and NaN doubles stay doubles",
    async run(context) {
      const table = await context.newTable();
      const double = (value: string) => ({ type: "Double", value });
      const doubles = { whole: double("3"), nan: double("NaN"), low: double("-Infinity") };
      await table.createEntity({ ...key, ...doubles });
      equal((await read(table))["whole"], 3);
      const raw = await table.getEntity("p", "r", { disableTypeConversion: true });
      equal([raw["nan"], raw["low"]], [doubles.nan, doubles.low]);
      const queryOptions = { filter: "whole eq 3.0" };
      equal((await all(table.listEntities({ queryOptions }))).length, 1);
    },
  },
  {
    name: "unusual keys work in every operation",
    async run(context) {
      const table = await context.newTable();
      for (const odd of oddKeys) {
        const both = { partitionKey: odd, rowKey: odd };
        await table.createEntity({ ...both, a: 1 });
        await table.updateEntity({ ...both, b: 2 });
        await table.updateEntity({ ...both, a: 2 }, "Replace");
        await table.upsertEntity({ ...both, c: 3 });
        await table.submitTransaction([["update", { ...both, d: 4 }, "Merge"]]);
        const { partitionKey, rowKey, a, b, c, d } = await table.getEntity(odd, odd);
        equal([partitionKey, rowKey, a, b, c, d], [odd, odd, 2, undefined, 3, 4]);
        const filter = odata`PartitionKey eq ${odd} and RowKey eq ${odd}`;
        equal((await all(table.listEntities({ queryOptions: { filter } }))).length, 1, odd);
      }
      equal((await all(table.listEntities())).length, oddKeys.length);
      for (const odd of oddKeys) await table.deleteEntity(odd, odd);
      equal(await all(table.listEntities()), []);
    },
  },
  {
    name: "selected properties of one entity are read",
    async run(context) {
      const table = await context.newTable();
      await table.createEntity({ ...key, a: 1, b: 2 });
      const queryOptions = { select: ["rowKey", "a", "absent"] };
      const {
        etag,
        "odata.metadata": _,
        ...some
      } = await table.getEntity("p", "r", {
        queryOptions,
      });
      equal(some, { rowKey: "r", a: 1, absent: null });
    },
  },
  {
    name: "a condition on the ETag holds, or the write is rejected",
    async run(context) {
      const table = await context.newTable();
      const stale = { etag: (await table.createEntity({ ...key, a: 0 })).etag as string };
      let { etag } = await table.upsertEntity({ ...key, a: 1 });
      const conflict = [412, "UpdateConditionNotSatisfied"] as const;
      for (const mode of ["Merge", "Replace"] satisfies UpdateMode[]) {
        await assertRejected(table.updateEntity({ ...key, a: 2 }, mode, stale), ...conflict);
        ({ etag } = await table.updateEntity({ ...key, a: 3 }, mode, { etag: etag as string }));
        ({ etag } = await table.updateEntity({ ...key, a: 4 }, mode, { etag: "*" }));
      }
      equal((await read(table))["a"], 4);
      await assertRejected(table.deleteEntity("p", "r", stale), ...conflict);
      await table.deleteEntity("p", "r", { etag: etag as string });
      await table.createEntity(key);
      await table.deleteEntity("p", "r", { etag: "*" });
      const missing = [404, "ResourceNotFound"] as const;
      await assertRejected(table.updateEntity(key), ...missing);
      await assertRejected(table.updateEntity(key, "Replace", stale), ...missing);
      await assertRejected(table.deleteEntity("p", "r"), ...missing);
    },
  },
  {
    name: "invalid requests are rejected with the service's codes",
    async run(context) {
      const table = await context.newTable();
      await table.createEntity(key);
      await assertRejected(table.createEntity(key), 409, "EntityAlreadyExists");
      const write = (more: object) => table.upsertEntity({ ...key, ...more });
      const insert = (rowKey: string) => table.createEntity({ partitionKey: "p", rowKey });
      for (const wrong of ["a/b", "a\\b", "a#b", "a?b", "a\tb"]) {
        await assertRejected(insert(wrong), 400, "OutOfRangeInput");
      }
      await assertRejected(insert("a".repeat(513)), 400, "PropertyValueTooLarge");
      await assertRejected(
        write({ text: "x".repeat(32 * 1024 + 1) }),
        400,
        "PropertyValueTooLarge",
      );
      await assertRejected(write({ ["n".repeat(256)]: 1 }), 400, "PropertyNameTooLong");
      await assertRejected(write({ "a-b": 1 }), 400, "PropertyNameInvalid");
      await assertRejected(write({ guid: { type: "Guid", value: "no" } }), 400, "InvalidInput");
      const many = Object.fromEntries(Array.from({ length: 253 }, (_, i) => [`p${i}`, i]));
      await assertRejected(write(many), 400, "TooManyProperties");
      const nowhere = context.table(context.name());
      await assertRejected(nowhere.createEntity(key), 404, "TableNotFound");
      await assertRejected(nowhere.getEntity("p", "r"), 404, "TableNotFound");
      await assertRejected(all(nowhere.listEntities()), 404, "TableNotFound");
      await assertRejected(nowhere.getAccessPolicy(), 404, "TableNotFound");
    },
  },
];
