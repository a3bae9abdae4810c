import type { Store } from "entitable";
import type {} from "entitable/explorer/svelte";
import type { SvelteHTMLElements } from "svelte/elements";

declare const store: Store;

export const elements = {
  explorer: {
    store,
    table: "lamps",
    class: "wide",
    "onexplorer-open": ({ detail }) => detail.rowKey satisfies string,
  } satisfies SvelteHTMLElements["table-explorer"],
  playground: {
    setup: "lamps",
    seed: 3,
    throttle: "azure",
    run: true,
    "onplayground-run": ({ detail }) => detail.ms satisfies number,
  } satisfies SvelteHTMLElements["table-playground"],
  // @ts-expect-error: no such attribute
  tables: { tables: "lamps" } satisfies SvelteHTMLElements["table-explorer"],
  // @ts-expect-error: a store is a store or its name
  store: { store: 3 } satisfies SvelteHTMLElements["table-explorer"],
};
