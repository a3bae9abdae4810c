/** @jsxImportSource preact */
import type { LiveSnapshot, Store, Table } from "entitable";
import { StoreProvider, useEntity, useLive, useStore } from "entitable/preact";

interface Person {
  name: string;
  age: number;
}

declare const store: Store;
declare const people: Table<Person>;
declare const noTable: Table<Person> | undefined;

export function Results() {
  const all = useLive(people.live());
  all.status satisfies "loading" | "ready" | "error";
  all.data?.[0]?.name satisfies string | undefined;
  // @ts-expect-error: there may be no result
  all.data.length;
  const selected = useLive(
    () => noTable?.live({ queryOptions: { filter: "age gt 3", select: ["name"] } }),
    [noTable],
  );
  selected.data?.[0]?.name satisfies string | undefined;
  // @ts-expect-error: not selected
  selected.data?.[0]?.age;
  useLive(() => people.liveCount(), [people]) satisfies LiveSnapshot<number>;
  // @ts-expect-error: not a live query
  useLive(() => people.count(), [people]);
  // @ts-expect-error: the key of a query may not be changed
  useLive(people.live()).data = [];

  const one = useEntity(noTable, "p", "r");
  one.data?.age satisfies number | undefined;
  useEntity(store.table("any"), "p", "r").data?.rowKey satisfies string | undefined;
  // @ts-expect-error: the row key is missing
  useEntity(people, "p");

  return null;
}

export function Stores() {
  const { store: opened, status, error } = useStore("notes", { durability: "relaxed" });
  opened satisfies Store | undefined;
  status satisfies "loading" | "ready" | "error";
  error satisfies Error | undefined;
  useStore().store satisfies Store | undefined;
  // @ts-expect-error: the name is the first argument
  useStore("notes", { name: "other" });
  return null;
}

export const providers = [
  <StoreProvider key="1" store={store}>
    <Results />
  </StoreProvider>,
  <StoreProvider key="2" name="notes" options={{ tabs: "exclusive" }}>
    <Results />
    <Stores />
  </StoreProvider>,
  // @ts-expect-error: no such option
  <StoreProvider key="3" name="notes" options={{ tabs: "none" }} />,
];
