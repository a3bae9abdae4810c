// The types of <table-explorer> and <table-playground> in React's JSX. The entry
// entitable/explorer/react has these types and the code of entitable/explorer.

import type { DetailedHTMLProps, HTMLAttributes } from "react";
import type {
  TableExplorer,
  TableExplorerAttributes,
  TablePlayground,
  TablePlaygroundAttributes,
} from "../explorer/index.js";
import type { ExplorerEvents, Handlers, PlaygroundEvents } from "./events.js";

export * from "../explorer/index.js";

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "table-explorer": DetailedHTMLProps<HTMLAttributes<TableExplorer>, TableExplorer> &
        TableExplorerAttributes &
        Handlers<ExplorerEvents, "on">;
      "table-playground": DetailedHTMLProps<HTMLAttributes<TablePlayground>, TablePlayground> &
        TablePlaygroundAttributes &
        Handlers<PlaygroundEvents, "on">;
    }
  }
}
