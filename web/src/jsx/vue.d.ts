// The types of <table-explorer> and <table-playground> in Vue's templates and JSX. The entry
// entitable/explorer/vue has these types and the code of entitable/explorer.

import type { HTMLAttributes } from "vue";
import type { TableExplorerAttributes, TablePlaygroundAttributes } from "../explorer/index.js";
import type { CamelCaseHandlers, ExplorerEvents, PlaygroundEvents } from "./events.js";

export * from "../explorer/index.js";

type ExplorerProps = HTMLAttributes & TableExplorerAttributes & CamelCaseHandlers<ExplorerEvents>;
type PlaygroundProps = HTMLAttributes &
  TablePlaygroundAttributes &
  CamelCaseHandlers<PlaygroundEvents>;

declare module "vue" {
  interface GlobalComponents {
    "table-explorer": new () => { $props: ExplorerProps };
    "table-playground": new () => { $props: PlaygroundProps };
  }
}

declare module "vue/jsx-runtime" {
  namespace JSX {
    interface IntrinsicElements {
      "table-explorer": ExplorerProps;
      "table-playground": PlaygroundProps;
    }
  }
}
