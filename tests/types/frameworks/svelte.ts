import type { LiveSnapshot, Store, Table } from "entitable";
import { provideStore, type Shown, useEntity, useLive, useStore } from "entitable/svelte";
import { get } from "svelte/store";

interface Person {
  name: string;
  age: number;
}

declare const store: Store;
declare const people: Table<Person>;
declare const table: () => Table<Person> | undefined;

export function results(): void {
  const all = useLive(people.live());
  all.current.status satisfies "loading" | "ready" | "error";
  all.current.data?.[0]?.name satisfies string | undefined;
  get(all).data?.[0]?.name satisfies string | undefined;
  // @ts-expect-error: cannot be set
  all.current = get(all);
  const selected = useLive(() => table()?.live({ queryOptions: { select: ["name"] } }));
  selected.current.data?.[0]?.name satisfies string | undefined;
  // @ts-expect-error: not selected
  selected.current.data?.[0]?.age;
  useLive(() => people.liveCount()) satisfies Shown<LiveSnapshot<number>>;
  // @ts-expect-error: not a live query
  useLive(() => people.count());
  useEntity(people, "p", "r").current.data?.age satisfies number | undefined;
  useEntity(table, "p", () => "r").current.data?.age satisfies number | undefined;
  // @ts-expect-error: a number is no key
  useEntity(table, "p", 3);
}

export function stores(): void {
  const opened = useStore("notes", { durability: "relaxed" });
  opened.current.store satisfies Store | undefined;
  opened.current.error satisfies Error | undefined;
  useStore().current.store satisfies Store | undefined;
  // @ts-expect-error: the name is the first argument
  useStore("notes", { name: "other" });
  provideStore({ store }).current.status satisfies string;
  provideStore(() => ({ name: "notes", options: { tabs: "exclusive" } }));
  // @ts-expect-error: no such option
  provideStore({ name: "notes", options: { tabs: "none" } });
}
