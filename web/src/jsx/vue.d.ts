// The types of <table-explorer> and <table-playground> in Vue's templates and JSX. The entry
// entitable/explorer/vue has these types and the code of entitable/explorer.

import type { HTMLAttributes } from "vue";
import type {
  ExplorerOpenEvent,
  PlaygroundRunEvent,
  PlaygroundStartEvent,
  TableExplorerAttributes,
  TablePlaygroundAttributes,
} from "../explorer/index.js";

export * from "../explorer/index.js";

interface ExplorerEvents {
  onExplorerOpen?: ((event: ExplorerOpenEvent) => void) | undefined;
  onExplorerChange?: ((event: Event) => void) | undefined;
}

interface PlaygroundEvents {
  onPlaygroundStart?: ((event: PlaygroundStartEvent) => void) | undefined;
  onPlaygroundRun?: ((event: PlaygroundRunEvent) => void) | undefined;
}

type ExplorerProps = HTMLAttributes & TableExplorerAttributes & ExplorerEvents;
type PlaygroundProps = HTMLAttributes & TablePlaygroundAttributes & PlaygroundEvents;

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
