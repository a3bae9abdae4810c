// The entry point `entitable/explorer`. Importing it defines the custom elements. On a platform
// without custom elements (a server that renders pages) it defines nothing.

import { TableExplorer } from "./explorer.ts";
import { TablePlayground } from "./playground.ts";
import { defineElement } from "./store-element.ts";

export type { ExplorerOpen, ExplorerOpenEvent, TableExplorerAttributes } from "./explorer.ts";
export type { HighlightToken, HighlightTokenKind } from "./highlight.ts";
export { highlight } from "./highlight.ts";
export type {
  CodeEditor,
  CodeEditorOptions,
  CodeSelection,
  Cost,
  Modules,
  PlaygroundRun,
  PlaygroundRunEvent,
  PlaygroundStart,
  PlaygroundStartEvent,
  TablePlaygroundAttributes,
} from "./playground.ts";
export { TableExplorer, TablePlayground };

defineElement("table-explorer", TableExplorer);
defineElement("table-playground", TablePlayground);

declare global {
  interface HTMLElementTagNameMap {
    "table-explorer": TableExplorer;
    "table-playground": TablePlayground;
  }
}
