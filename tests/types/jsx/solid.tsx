/** @jsxImportSource solid-js */
import type { Store } from "entitable";
import type { TableExplorer } from "entitable/explorer/solid";

declare const store: Store;

export const elements = [
  <table-explorer
    prop:store={store}
    table="lamps"
    class="wide"
    ref={(element: TableExplorer) => void element.refresh()}
    on:explorer-open={({ detail }) => detail.rowKey satisfies string}
  />,
  <table-explorer store={store} />,
  <table-explorer store="shop" on:explorer-change={(event) => event.type satisfies string} />,
  <table-playground setup="lamps" seed={3} throttle="azure" label="Lamps" title="Lamps">
    await show(1);
  </table-playground>,
  <table-playground on:playground-run={({ detail }) => detail.ms satisfies number} />,
  // @ts-expect-error: no such attribute
  <table-explorer tables="lamps" />,
  // @ts-expect-error: a store is a store or its name
  <table-explorer store={3} />,
  <table-playground run />,
  <table-playground run={false} />,
  // @ts-expect-error: runs or does not
  <table-playground run={3} />,
  // @ts-expect-error: no such value
  <table-playground throttle="always" />,
];
