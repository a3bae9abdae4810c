// The types of <table-explorer> and <table-playground> in Solid's JSX. The entry
// entitable/explorer/solid has these types and the code of entitable/explorer.

import type { JSX } from "solid-js";
import type {
  ExplorerOpenEvent,
  PlaygroundRunEvent,
  PlaygroundStartEvent,
  TableExplorer,
  TableExplorerAttributes,
  TablePlayground,
  TablePlaygroundAttributes,
} from "../explorer/index.js";
import type { Store } from "../types.js";

export * from "../explorer/index.js";

interface ExplorerEvents {
  "on:explorer-open"?: ((event: ExplorerOpenEvent) => void) | undefined;
  "on:explorer-change"?: ((event: Event) => void) | undefined;
}

interface PlaygroundEvents {
  "on:playground-start"?: ((event: PlaygroundStartEvent) => void) | undefined;
  "on:playground-run"?: ((event: PlaygroundRunEvent) => void) | undefined;
}

// Solid sets attributes, unless a name begins with prop:. A store is an object.
interface StoreProperty {
  "prop:store"?: Store | undefined;
}

declare module "solid-js" {
  namespace JSX {
    interface IntrinsicElements {
      "table-explorer": JSX.HTMLAttributes<TableExplorer> &
        TableExplorerAttributes &
        ExplorerEvents &
        StoreProperty;
      "table-playground": JSX.HTMLAttributes<TablePlayground> &
        TablePlaygroundAttributes &
        PlaygroundEvents &
        StoreProperty;
    }
  }
}
