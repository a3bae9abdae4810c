// The types of <table-explorer> and <table-playground> in Svelte's templates. The entry
// entitable/explorer/svelte has these types and the code of entitable/explorer.

import type { HTMLAttributes } from "svelte/elements";
import type {
  TableExplorer,
  TableExplorerAttributes,
  TablePlayground,
  TablePlaygroundAttributes,
} from "../explorer/index.js";
import type { ExplorerEvents, Handlers, PlaygroundEvents } from "./events.js";

export * from "../explorer/index.js";

declare module "svelte/elements" {
  interface SvelteHTMLElements {
    "table-explorer": HTMLAttributes<TableExplorer> &
      TableExplorerAttributes &
      Handlers<ExplorerEvents, "on">;
    "table-playground": HTMLAttributes<TablePlayground> &
      TablePlaygroundAttributes &
      Handlers<PlaygroundEvents, "on">;
  }
}
