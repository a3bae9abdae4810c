// The types of <table-explorer> and <table-playground> in React's JSX. The entry
// entitable/explorer/react has these types and the code of entitable/explorer.

import type { DetailedHTMLProps, HTMLAttributes } from "react";
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

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "table-explorer": DetailedHTMLProps<HTMLAttributes<TableExplorer>, TableExplorer> &
        TableExplorerAttributes &
        ExplorerEvents;
      "table-playground": DetailedHTMLProps<HTMLAttributes<TablePlayground>, TablePlayground> &
        TablePlaygroundAttributes &
        PlaygroundEvents;
    }
  }
}
