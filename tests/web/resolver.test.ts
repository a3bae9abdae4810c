// Tests reading the entities of a table with several entity types, each converted by the schema of
// its type.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../web/src/index.ts";
import type { RawEntity, Resolver, StandardSchema, Store } from "../../web/src/types.ts";

class Employee {
  readonly name: string;
  readonly #age: number;

  constructor({ FirstName, LastName, Age }: RawEntity) {
    this.name = `${FirstName} ${LastName}`;
    this.#age = Age as number;
  }

  isOver(years: number): boolean {
    return this.#age > years;
  }
}

interface Department {
  kind: "department";
  head: number;
}

// A schema like those of libraries, which remove unknown properties.
const department: StandardSchema<Department> = {
  "~standard": {
    version: 1,
    validate: (value) => {
      const { EmployeeCount } = value as RawEntity;
      if (typeof EmployeeCount === "number")
        return { value: { kind: "department", head: EmployeeCount } };
      return { issues: [{ message: "EmployeeCount is no number" }, { message: "so it is none" }] };
    },
  },
};

const schemas = { employee: (entity: RawEntity) => new Employee(entity), department };

const byKey: Resolver<Employee | Department> = {
  discriminator: ({ rowKey }) => (rowKey === "Department" ? "department" : "employee"),
  schemas,
};

async function guide(): Promise<Store> {
  const store = await openStore({ persistence: "memory" });
  const staff = store.table("staff");
  await staff.createTable();
  const more = [
    { rowKey: "00001", FirstName: "Don", LastName: "Hall", Age: 34, Kind: "employee" },
    { rowKey: "00002", FirstName: "Jun", LastName: "Cao", Age: 47, Kind: "employee" },
    { rowKey: "Department", DepartmentName: "Marketing", EmployeeCount: 153, Kind: "department" },
  ];
  for (const rest of more) await staff.createEntity({ partitionKey: "Marketing", ...rest });
  return store;
}

test("the key decides the type of each row", async () => {
  await using store = await guide();
  const staff = store.table("staff", { resolver: byKey });
  const don = await staff.getEntity("Marketing", "00001");
  assert(don instanceof Employee);
  assert.deepEqual([don.name, don.isOver(30), don.isOver(34)], ["Don Hall", true, false]);

  const found: unknown[] = [];
  for await (const each of staff.listEntities()) {
    found.push(each instanceof Employee ? each.name : each.head);
  }
  assert.deepEqual(found, ["Don Hall", "Jun Cao", 153]);
  const pages = staff.listEntities().byPage({ maxPageSize: 2 });
  const { value: page } = await pages.next();
  assert(page.every((each: object) => each instanceof Employee));
  assert.equal(typeof page.continuationToken, "string");
});

test("keys, timestamp and ETag are kept, for the next write", async () => {
  await using store = await guide();
  const staff = store.table("staff", { resolver: byKey });
  const raw = await store.table("staff").getEntity("Marketing", "Department");
  const { etag, partitionKey, rowKey, timestamp, ...rest } = await staff.getEntity(
    "Marketing",
    "Department",
  );
  assert.deepEqual(rest, { kind: "department", head: 153 });
  assert.deepEqual(
    [etag, partitionKey, rowKey, timestamp],
    [raw.etag, "Marketing", "Department", raw.timestamp],
  );
});

test("a property may decide the type; unknown types are kept or rejected", async () => {
  await using store = await guide();
  const resolver: Resolver<Employee | Department> = { discriminator: "Kind", schemas };
  const staff = store.table("staff", { resolver });
  assert(((await staff.getEntity("Marketing", "00001")) as object) instanceof Employee);
  const table = store.table("staff");
  await table.createEntity({ partitionKey: "Marketing", rowKey: "x", Kind: "toString", n: 1 });
  const raw = (await staff.getEntity("Marketing", "x")) as unknown as RawEntity;
  assert.equal(raw["n"], 1);
  const strict = store.table("staff", { resolver: { ...resolver, otherwise: "error" } });
  const expectedError = {
    name: "StoreError",
    code: "ValidationFailed",
    message:
      'The entity with partitionKey "Marketing" and rowKey "x" can\'t be resolved: there is no schema for toString.',
  };
  await assert.rejects(strict.getEntity("Marketing", "x"), expectedError);
  await assert.rejects(async () => {
    for await (const _ of strict.listEntities());
  }, expectedError);
  // The property that decides the type was not selected, so the type is unknown.
  const select = { queryOptions: { select: ["rowKey"] } };
  await assert.rejects(
    strict.getEntity("Marketing", "00001", select),
    /there is no schema for undefined/,
  );
});

test("a frozen result of a schema is copied", async () => {
  await using store = await guide();
  class Frozen {
    readonly name: string;
    constructor({ FirstName }: RawEntity) {
      this.name = String(FirstName);
      Object.freeze(this);
    }
  }
  const resolver: Resolver<Frozen> = {
    discriminator: "Kind",
    schemas: { employee: (row) => new Frozen(row) },
  };
  const don = await store.table("staff", { resolver }).getEntity("Marketing", "00001");
  assert(don instanceof Frozen);
  assert.deepEqual([don.name, don.rowKey], ["Don", "00001"]);
});

test("an error of a schema rejects, and names the entity", async () => {
  await using store = await guide();
  const table = store.table("staff");
  await table.createEntity({ partitionKey: "Sales", rowKey: "Department", EmployeeCount: "many" });
  const staff = store.table("staff", { resolver: byKey });
  await assert.rejects(staff.getEntity("Sales", "Department"), {
    code: "ValidationFailed",
    message:
      /"Sales" and rowKey "Department" can't be resolved: EmployeeCount is no number; so it is none\.$/,
  });
  const later: StandardSchema<Department> = {
    "~standard": { version: 1, validate: async () => ({ value: { kind: "department", head: 1 } }) },
  };
  const slow = store.table("staff", {
    resolver: { discriminator: () => "later", schemas: { later } },
  });
  await assert.rejects(slow.getEntity("Marketing", "00001"), { code: "NotSupported" });
  const thrower = {
    discriminator: () => "x",
    schemas: { x: (): Department => assert.fail("mine") },
  };
  await assert.rejects(
    store.table("staff", { resolver: thrower }).getEntity("Marketing", "00001"),
    {
      message: "mine",
    },
  );
});

test("typed values are returned unchanged", async () => {
  await using store = await guide();
  const staff = store.table("staff", { resolver: byKey });
  const { Age } = (await staff.getEntity("Marketing", "00001", {
    disableTypeConversion: true,
  })) as unknown as RawEntity;
  assert.deepEqual(Age, { type: "Int32", value: "34" });
});
