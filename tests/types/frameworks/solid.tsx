/** @jsxImportSource solid-js */
import type { LiveSnapshot, Store, Table } from "entitable";
import { StoreProvider, useEntity, useLive, useStore } from "entitable/solid";
import type { Accessor } from "solid-js";

interface Person {
  name: string;
  age: number;
}

declare const store: Store;
declare const people: Table<Person>;
declare const table: () => Table<Person> | undefined;
declare const rowKey: Accessor<string>;

export function Results() {
  const all = useLive(people.live());
  all().status satisfies "loading" | "ready" | "error";
  all().data?.[0]?.name satisfies string | undefined;
  // @ts-expect-error: an accessor
  all.data;
  const selected = useLive(() => table()?.live({ queryOptions: { select: ["name"] } }));
  selected().data?.[0]?.name satisfies string | undefined;
  // @ts-expect-error: not selected
  selected().data?.[0]?.age;
  useLive(() => people.liveCount()) satisfies Accessor<LiveSnapshot<number>>;
  // @ts-expect-error: not a live query
  useLive(() => people.count());
  useEntity(people, "p", "r")().data?.age satisfies number | undefined;
  useEntity(table, "p", rowKey)().data?.age satisfies number | undefined;
  // @ts-expect-error: a number is no key
  useEntity(table, "p", 3);
  return null;
}

export function Stores() {
  const opened = useStore("notes", { durability: "relaxed" });
  opened().store satisfies Store | undefined;
  opened().error satisfies Error | undefined;
  useStore()().store satisfies Store | undefined;
  // @ts-expect-error: the name is the first argument
  useStore(() => "notes", { name: "other" });
  return null;
}

export const providers = [
  <StoreProvider store={store}>
    <Results />
  </StoreProvider>,
  <StoreProvider name="notes" options={{ tabs: "exclusive" }}>
    <Stores />
  </StoreProvider>,
  // @ts-expect-error: no such option
  <StoreProvider name="notes" options={{ tabs: "none" }} />,
];
