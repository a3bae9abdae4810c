// Table<T>: what is read, written and selected has the types of T.

import { edm, openStore, type Store, type Table, TableTransaction } from "entitable";
import type { BulkClient } from "entitable/bulk";
import { LargeValues, type LargeValueTable } from "entitable/large-values";

interface Person {
  name: string;
  age: number;
  born?: Date;
}

type Same<A, B> =
  (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
const same = <_T extends true>() => {};

declare const store: Store;
const people = store.table<Person>("people", { types: { age: "Double" } });
const key = { partitionKey: "p", rowKey: "r" };

// ---- Reading ------------------------------------------------------------------------------------

export async function keysAreRequired(): Promise<void> {
  const person = await people.getEntity("p", "r");
  person.partitionKey satisfies string;
  person.rowKey satisfies string;
  person.timestamp satisfies string;
  person.etag satisfies string;
  person.name satisfies string;
  same<Same<typeof person.born, Date | undefined>>();
  // @ts-expect-error: no such property
  person.surname;
  for await (const row of people.listEntities()) row.rowKey satisfies string;
  for await (const page of people.listEntities().byPage({ maxPageSize: 5 })) {
    page.continuationToken satisfies string | undefined;
    page[0]?.partitionKey satisfies string | undefined;
    people.listEntities().byPage({ continuationToken: page.continuationToken });
  }
  const anything = await store.table("any").getEntity("p", "r");
  anything.rowKey satisfies string;
  same<Same<typeof anything.whatever, unknown>>();
}

export async function selectNarrows(): Promise<void> {
  const some = await people.getEntity("p", "r", { queryOptions: { select: ["rowKey", "name"] } });
  some.rowKey satisfies string;
  some.name satisfies string;
  some.etag satisfies string;
  // @ts-expect-error: not selected
  some.age;
  // @ts-expect-error: not selected
  some.partitionKey;
  // @ts-expect-error: not selected
  some.timestamp;
  for await (const row of people.listEntities({ queryOptions: { select: ["born"] } })) {
    // A selected property that the entity lacks is null.
    same<Same<typeof row.born, Date | null>>();
    // @ts-expect-error: not selected
    row.name;
  }
  // The service's names are the same properties.
  const keys = { queryOptions: { select: ["PartitionKey", "RowKey", "Timestamp"] } } as const;
  const found = await people.getEntity("p", "r", keys);
  same<
    Same<typeof found, { etag: string; partitionKey: string; rowKey: string; timestamp: string }>
  >();
  for (const select of [["*"], []] as const) {
    const all = await people.getEntity("p", "r", { queryOptions: { select } });
    all.name satisfies string;
    all.rowKey satisfies string;
  }
  // @ts-expect-error: no such property
  people.listEntities({ queryOptions: { select: ["surname"] } });
  // @ts-expect-error: no such property
  await people.getEntity("p", "r", { queryOptions: { select: ["name", "surname"] } });
  // @ts-expect-error: no such option
  people.listEntities({ filter: "age gt 3" });
  // @ts-expect-error: no such option
  people.listEntities({ queryOptions: { filter: "age gt 3", order: "desc" } });
}

export async function selectOfAnUntypedTable(names: string[]): Promise<void> {
  const table = store.table("any");
  const options = { queryOptions: { select: ["rowKey", "whatever"] as const } };
  const row = await table.getEntity("p", "r", options);
  row.rowKey satisfies string;
  same<Same<typeof row.whatever, unknown>>();
  // @ts-expect-error: not selected
  row.partitionKey;
  const some = await table.getEntity("p", "r", { queryOptions: { select: names } });
  same<Same<typeof some.partitionKey, string | undefined>>();
  same<Same<typeof some.etag, string>>();
}

interface Employee {
  kind: "employee";
  name: string;
}
interface Department {
  kind: "department";
  employees: number;
}

export async function severalTypes(): Promise<void> {
  const staff = store.table<Employee | Department>("staff");
  const row = await staff.getEntity("p", "r");
  if (row.kind === "employee") row.name satisfies string;
  else row.employees satisfies number;
  row.rowKey satisfies string;
  const some = await staff.getEntity("p", "r", { queryOptions: { select: ["kind", "name"] } });
  if (some.kind === "employee") some.name satisfies string;
  else same<Same<typeof some.name, null>>();
}

export async function unconverted(convert: boolean): Promise<void> {
  const row = await people.getEntity("p", "r", { disableTypeConversion: true });
  same<Same<typeof row.age.value, string>>();
  row.age.type satisfies string;
  row.born?.value satisfies string | undefined;
  row.rowKey satisfies string;
  row.timestamp satisfies string;
  // @ts-expect-error: a pair of text and type
  row.age satisfies number;
  await people.createEntity(row); // what was read can be written
  const options = { disableTypeConversion: true, queryOptions: { select: ["born"] } } as const;
  for await (const some of people.listEntities(options)) {
    same<Same<typeof some.born, { value: string; type: typeof row.age.type } | null>>();
  }
  const either = await people.getEntity("p", "r", { disableTypeConversion: convert });
  either.age satisfies number | { value: string };
  // @ts-expect-error: may be a pair
  either.age satisfies number;
  const anything = await store.table("any").getEntity("p", "r", { disableTypeConversion: true });
  anything.whatever?.value satisfies string | undefined;
  anything.rowKey satisfies string;
}

export async function additions(): Promise<void> {
  people.listEntities({ top: 5, order: "desc" });
  // @ts-expect-error: no such order
  people.listEntities({ order: "down" });
  (await people.count({ queryOptions: { filter: "age gt 3" } })) satisfies number;
  // @ts-expect-error: entities are counted, not their properties
  await people.count({ queryOptions: { select: ["name"] } });
  for await (const partition of people.partitionKeys()) partition satisfies string;
  for await (const page of people.partitionKeys().byPage({ maxPageSize: 5 })) {
    page.continuationToken satisfies string | undefined;
  }
  // @ts-expect-error: not a method of the official client
  store.tableClient("people").count();
  // @ts-expect-error: not an option of the official client
  store.tableClient("people").listEntities({ top: 5 });
  await openStore({
    version: 2,
    upgrade: async ({ store: upgraded, oldVersion }) => {
      if (oldVersion < 2) await upgraded.table<Person>("people").createTable();
    },
  });
}

// With a resolver, T is what the schemas return, and `select` names stored properties.
export async function resolved(): Promise<void> {
  class Member {
    readonly tags: string[] = [];
    greet(): void {}
  }
  const members = store.table<Member>("members", {
    resolver: { discriminator: () => "member", schemas: { member: () => new Member() } },
  });
  const member = await members.getEntity("p", "r");
  member.tags satisfies string[];
  member.rowKey satisfies string;
  for await (const row of members.listEntities({ queryOptions: { select: ["Name"] } })) {
    row.greet();
    same<Same<typeof row.rowKey, string | undefined>>();
  }
}

// ---- Writing ------------------------------------------------------------------------------------

export async function writes(): Promise<void> {
  await people.submitTransaction([
    ["create", { ...key, name: "Ann", age: 3 }],
    ["create", { ...key, name: "Ann", age: edm.double(3), born: null }],
    ["update", { ...key, age: 4 }],
    ["upsert", { ...key, age: 4 }, "Replace"],
    ["update", { ...key, age: 4 }, "Merge", { etag: "*" }],
    ["delete", key],
  ]);
  // @ts-expect-error: age is missing
  await people.submitTransaction([["create", { ...key, name: "Ann" }]]);
  // @ts-expect-error: a text is no age
  await people.submitTransaction([["update", { ...key, age: "4" }]]);
  // @ts-expect-error: no such property
  await people.submitTransaction([["upsert", { ...key, surname: "Lee" }, "Merge"]]);
  // @ts-expect-error: the row key is missing
  await people.submitTransaction([["delete", { partitionKey: "p" }]]);
  // @ts-expect-error: no such mode
  await people.submitTransaction([["update", { ...key, age: 4 }, "merge"]]);

  await people.bulk([["create", { ...key, name: "Ann", age: 3 }]]);
  // @ts-expect-error: age is missing
  await people.bulk([["create", { ...key, name: "Ann" }]]);
  await people.bulk(
    (function* () {
      yield ["upsert", { ...key, age: 3 }] as const;
    })(),
  );
  async function* wrong() {
    yield ["create", { ...key, age: "3" }] as const;
  }
  // @ts-expect-error: a text is no age
  await people.bulk(wrong());

  // Actions that are chosen, and constant lists of them
  const isNew: boolean = JSON.parse("true");
  const ann = { ...key, name: "Ann", age: 3 };
  await people.submitTransaction([
    isNew ? (["create", ann] as const) : (["upsert", ann, "Replace"] as const),
    isNew ? ["create", ann] : ["delete", key],
  ]);
  const constant = [
    ["update", { ...key, age: 4 }, "Merge", { etag: "*" }],
    ["delete", key],
  ] as const;
  await people.submitTransaction(constant);
  await people.bulk(constant);
  await store.table("any").submitTransaction(constant);
  await store.tableClient("people").submitTransaction(constant);
  const wrongAge = ["create", { ...ann, age: "3" }] as const;
  // @ts-expect-error: a text is no age
  await people.submitTransaction([isNew ? wrongAge : constant[1]]);
  // @ts-expect-error: age is missing
  await people.submitTransaction([["create", { ...key, name: "Ann" }] as const]);

  // An untyped table takes every entity, also those of the official client's builder.
  const transaction = new TableTransaction();
  transaction.createEntity({ ...key, whatever: 1 });
  await store.table("any").submitTransaction(transaction.actions);
  await store.table("any").bulk(transaction.actions);
  await store.table("any").submitTransaction([["create", { ...key, whatever: 1n }]]);
}

// A typed table is one for code that knows no types of entities.
export function untypedCode(): void {
  new LargeValues(people);
  people satisfies LargeValueTable;
  people satisfies BulkClient;
  store.table("any") satisfies LargeValueTable;
  store.tableClient("any") satisfies LargeValueTable;
}

// ---- Types that can be stored -------------------------------------------------------------------

export function storable(): void {
  store.table<{
    text: string;
    kind: "a" | "b";
    count: number;
    flag: boolean;
    long: bigint;
    when: Date;
    bytes: Uint8Array;
    id: ReturnType<typeof edm.guid>;
    maybe?: string;
    nothing: number | null | undefined;
    other: unknown;
  }>("values");
  // @ts-expect-error: an array cannot be stored
  store.table<{ tags: string[] }>("values");
  // @ts-expect-error: an object cannot be stored
  store.table<{ address?: { city: string } }>("values");
  // @ts-expect-error: a function cannot be stored
  store.table<{ greet(): void }>("values");
  // @ts-expect-error: no such property
  store.table<Person>("people", { types: { surname: "String" } });
  store.table<Person>("people") satisfies Table<Person>;
}

export async function opened(): Promise<void> {
  const mine = await openStore({ persistence: "memory" });
  mine.table<Person>("people").tableName satisfies string;
}
