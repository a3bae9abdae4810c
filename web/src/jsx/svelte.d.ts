// The types of <table-explorer> and <table-playground> in Svelte's templates. The entry
// entitable/explorer/svelte has these types and the code of entitable/explorer.

import type { HTMLAttributes } from "svelte/elements";
import type {
  ExplorerOpenEvent,
  PlaygroundRunEvent,
  PlaygroundStartEvent,
  TableExplorer,
  TableExplorerAttributes,
  TablePlayground,
  TablePlaygroundAttributes,
} from "../explorer/index.js";

export * from "../explorer/index.js";

interface ExplorerEvents {
  "onexplorer-open"?: ((event: ExplorerOpenEvent) => void) | undefined;
  "onexplorer-change"?: ((event: Event) => void) | undefined;
}

interface PlaygroundEvents {
  "onplayground-start"?: ((event: PlaygroundStartEvent) => void) | undefined;
  "onplayground-run"?: ((event: PlaygroundRunEvent) => void) | undefined;
}

declare module "svelte/elements" {
  interface SvelteHTMLElements {
    "table-explorer": HTMLAttributes<TableExplorer> & TableExplorerAttributes & ExplorerEvents;
    "table-playground": HTMLAttributes<TablePlayground> &
      TablePlaygroundAttributes &
      PlaygroundEvents;
  }
}
