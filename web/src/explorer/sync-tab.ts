// The tab "Sync" of the explorer. Loaded with the first sync.

import type { Sync } from "../start-sync/types.ts";
import type { Tabs } from "./explorer-tabs.ts";
import type { SyncDom } from "./sync-comparison.ts";
import { SyncPanel } from "./sync-panel.ts";

export { syncStyles } from "./sync-styles.ts";

export class SyncTab {
  readonly #tabs: Tabs;
  readonly #panel: SyncPanel;
  readonly #section: HTMLElement;
  #isShown = false;

  constructor(dom: SyncDom, tabs: Tabs) {
    this.#tabs = tabs;
    this.#panel = new SyncPanel(dom);
    this.#section = dom.h("section", { part: "sync" }, this.#panel.element);
  }

  /** Undefined: removes the tab. */
  show(sync: Sync | undefined): void {
    if (sync === undefined) this.#panel.close();
    else this.#panel.open(sync);
    if (this.#isShown === (sync !== undefined)) return;
    this.#isShown = sync !== undefined;
    if (this.#isShown) {
      this.#tabs.element.parentElement?.append(this.#section);
      this.#tabs.add("Sync", this.#section);
    } else {
      this.#tabs.removeLast();
      this.#section.remove();
    }
  }
}
