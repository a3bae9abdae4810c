// Filters: the template tag `odata`, and the builder `where`, typed by the entities of a table.

import { edm, odata, type Store, where } from "entitable";

interface Person {
  name: string;
  age: number;
  born?: Date;
  id: bigint;
}

declare const store: Store;
const people = store.table<Person>("people");

odata`age gt ${18}` satisfies string;
where<Person>((f) => f.eq("age", 31)) satisfies string;

// The table's type checks the names and the values.
people.listEntities({
  queryOptions: {
    filter: where((f) =>
      f.and(
        f.eq("age", 31),
        f.startsWith("rowKey", "empid_"),
        f.or(f.ge("born", new Date()), f.not(f.lt("id", 7n))),
        f.ne("name", edm.string("Ann")),
        f.gt("timestamp", new Date()),
      ),
    ),
    select: ["age"],
  },
});
// @ts-expect-error: no such property
people.listEntities({ queryOptions: { filter: where((f) => f.eq("surname", "Lee")) } });
// @ts-expect-error: a text is no age
people.listEntities({ queryOptions: { filter: where((f) => f.eq("age", "31")) } });
// @ts-expect-error: nothing is equal to null
people.listEntities({ queryOptions: { filter: where((f) => f.eq("born", null)) } });
// @ts-expect-error: only texts have a prefix
people.listEntities({ queryOptions: { filter: where((f) => f.startsWith("age", "3")) } });
people.listEntities({ queryOptions: { filter: "age gt 3" } });

// Without a type, every name is accepted.
where((f) => f.and(f.eq("whatever", true), f.startsWith("partitionKey", "a"))) satisfies string;
store.table("any").listEntities({ queryOptions: { filter: where((f) => f.eq("whatever", 1)) } });
store.tableClient("any").listEntities({ queryOptions: { filter: where((f) => f.eq("x", 1)) } });
