import { QueryClient, queryOptions, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import type { Store } from "entitable";
import { entityQueryOptions, invalidateOnChange, listQueryOptions } from "entitable/tanstack-query";

interface Person {
  name: string;
  age: number;
}

declare const store: Store;

export function useAdults() {
  const list = listQueryOptions<Person>(store, "people", {
    queryOptions: { filter: "age gt 17" },
    top: 5,
    order: "desc",
  });
  useQuery(list).data?.[0]?.name satisfies string | undefined;
  useSuspenseQuery(list).data[0]?.age satisfies number | undefined;
  useQuery({ ...list, select: (people) => people.length }).data satisfies number | undefined;
  useQuery(queryOptions(list)).data?.[0]?.etag satisfies string | undefined;
  // @ts-expect-error: the name of a table
  listQueryOptions(store, store.table("people"));

  const one = useQuery(entityQueryOptions<Person>(store, "people", "p", "r"));
  one.data?.name satisfies string | undefined;
  // @ts-expect-error: null while the entity does not exist
  useSuspenseQuery(entityQueryOptions<Person>(store, "people", "p", "r")).data.name;
}

export const stop: () => void = invalidateOnChange(new QueryClient());
