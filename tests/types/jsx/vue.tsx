/** @jsxImportSource vue */
import type { Store } from "entitable";
import type {} from "entitable/explorer/vue";
import type { GlobalComponents } from "vue";

declare const store: Store;

export const elements = [
  <table-explorer
    store={store}
    table="lamps"
    class="wide"
    onExplorerOpen={({ detail }) => detail.rowKey satisfies string}
  />,
  <table-explorer store="shop" onExplorerChange={(event) => event.type satisfies string} />,
  <table-playground setup="lamps" seed={3} throttle="azure" label="Lamps" title="Lamps" />,
  <table-playground onPlaygroundRun={({ detail }) => detail.ms satisfies number} />,
  // @ts-expect-error: a store is a store or its name
  <table-explorer store={3} />,
  <table-playground run />,
  <table-playground run={false} />,
  // @ts-expect-error: runs or does not
  <table-playground run={3} />,
  // @ts-expect-error: no such value
  <table-playground throttle="always" />,
];

// The types that templates have.
type Props<E extends keyof GlobalComponents> = InstanceType<GlobalComponents[E]>["$props"];
export const templates = {
  explorer: { store, table: "lamps", class: "wide" } satisfies Props<"table-explorer">,
  playground: { seed: 3, throttle: "azure" } satisfies Props<"table-playground">,
  // @ts-expect-error: no such attribute
  wrong: { tables: "lamps" } satisfies Props<"table-explorer">,
};
