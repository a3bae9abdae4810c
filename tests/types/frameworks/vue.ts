import type { LiveSnapshot, Store, Table } from "entitable";
import { type Shown, StoreProvider, useEntity, useLive, useStore } from "entitable/vue";
import { h, type Ref } from "vue";

interface Person {
  name: string;
  age: number;
}

declare const store: Store;
declare const people: Table<Person>;
declare const table: () => Table<Person> | undefined;
declare const rowKey: Ref<string>;

export function results(): void {
  const all = useLive(people.live());
  all.value.status satisfies "loading" | "ready" | "error";
  all.value.data?.[0]?.name satisfies string | undefined;
  // @ts-expect-error: cannot be set
  all.value = useLive(people.live()).value;
  const selected = useLive(() => table()?.live({ queryOptions: { select: ["name"] } }));
  selected.value.data?.[0]?.name satisfies string | undefined;
  // @ts-expect-error: not selected
  selected.value.data?.[0]?.age;
  useLive(() => people.liveCount()) satisfies Shown<LiveSnapshot<number>>;
  // @ts-expect-error: not a live query
  useLive(() => people.count());
  useEntity(people, "p", "r").value.data?.age satisfies number | undefined;
  useEntity(table, "p", rowKey).value.data?.age satisfies number | undefined;
  // @ts-expect-error: a number is no key
  useEntity(table, "p", 3);
}

export function stores(): void {
  const opened = useStore("notes", { durability: "relaxed" });
  opened.value.store satisfies Store | undefined;
  opened.value.error satisfies Error | undefined;
  useStore().value.store satisfies Store | undefined;
  // @ts-expect-error: the name is the first argument
  useStore(rowKey, { name: "other" });
}

export const providers = [
  h(StoreProvider, { store }),
  h(StoreProvider, { name: "notes", options: { tabs: "exclusive" } }),
  // @ts-expect-error: no such option
  h(StoreProvider, { name: "notes", options: { tabs: "none" } }),
];
