import { createCollection, createLiveQueryCollection, gt } from "@tanstack/db";
import type { Store, Table } from "entitable";
import { entitableCollectionOptions } from "entitable/tanstack-db";

interface Person {
  name: string;
  age: number;
}

declare const store: Store;
declare const people: Table<Person>;

export const all = createCollection(entitableCollectionOptions<Person>({ table: people }));
all.get("p/r")?.name satisfies string | undefined;
all.get("p/r")?.etag satisfies string | undefined;
all.insert({ partitionKey: "p", rowKey: "r", name: "Ann", age: 3 });
// @ts-expect-error: the row key is missing
all.insert({ partitionKey: "p", name: "Ann", age: 3 });
all.update("p/r", { metadata: { etag: "*" } }, (draft) => {
  draft.age += 1;
});
all.utils.acceptMutations satisfies (...transaction: never[]) => Promise<void>;

export const adults = createLiveQueryCollection((q) =>
  q.from({ person: all }).where(({ person }) => gt(person.age, 17)),
);
adults.toArray[0]?.name satisfies string | undefined;

export const onDemand = entitableCollectionOptions({
  table: () => people,
  filter: "age gt 3",
  syncMode: "on-demand",
  gcTime: 1000,
});
export const opened = entitableCollectionOptions({ table: async () => store.table<Person>("a") });

interface Card {
  id: string;
  tags: string[];
}

export const cards = createCollection(
  entitableCollectionOptions({
    table: store.table<{ tags: string }>("cards"),
    toRow: ({ rowKey, tags }): Card => ({ id: rowKey, tags: JSON.parse(tags) }),
    toEntity: ({ id, tags }) => ({ partitionKey: "all", rowKey: id, tags: JSON.stringify(tags) }),
    getKey: (card) => card.id,
    sameProperties: { id: "rowKey" },
  }),
);
cards.get("1")?.tags satisfies string[] | undefined;

// @ts-expect-error: rows of another form need a conversion
entitableCollectionOptions<Person, Card>({ table: people });
// @ts-expect-error: the table is missing
entitableCollectionOptions<Person>({ filter: "age gt 3" });
// @ts-expect-error: the collection has its own handlers
entitableCollectionOptions<Person>({ table: people, onInsert: async () => {} });
