// The types of <table-explorer> and <table-playground> in Solid's JSX. The entry
// entitable/explorer/solid has these types and the code of entitable/explorer.

import type { JSX } from "solid-js";
import type {
  TableExplorer,
  TableExplorerAttributes,
  TablePlayground,
  TablePlaygroundAttributes,
} from "../explorer/index.js";
import type { Store } from "../types.js";
import type { ExplorerEvents, Handlers, PlaygroundEvents } from "./events.js";

export * from "../explorer/index.js";

// Solid sets properties of custom elements, so `store` may be an object. The prefix prop: says so
// explicitly.
interface StoreProperty {
  "prop:store"?: Store | undefined;
}

declare module "solid-js" {
  namespace JSX {
    interface IntrinsicElements {
      "table-explorer": JSX.HTMLAttributes<TableExplorer> &
        TableExplorerAttributes &
        Handlers<ExplorerEvents, "on:"> &
        StoreProperty;
      "table-playground": JSX.HTMLAttributes<TablePlayground> &
        TablePlaygroundAttributes &
        Handlers<PlaygroundEvents, "on:"> &
        StoreProperty;
    }
  }
}
