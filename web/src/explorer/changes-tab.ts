// The tabs of the explorer: the entities, the changes and, if there is one, the sync. Loaded with
// the first store.

import type { Sync } from "../start-sync/types.ts";
import { ChangesPanel } from "./changes-panel.ts";
import { changesStyles } from "./changes-styles.ts";
import { areEqual, differingTexts } from "./changes-values.ts";
import type { Dom } from "./dom.ts";
import { Tabs } from "./explorer-tabs.ts";
import { addStyles } from "./style-sheets.ts";
import type { SyncTab } from "./sync-tab.ts";

export interface ChangesTabs {
  readonly panel: ChangesPanel;
  readonly tabs: Tabs;
  /** Shows a sync in a tab of its own; undefined: removes the tab. */
  readonly showSync: (sync: Sync | undefined) => Promise<void>;
}

/** Adds the tabs before the element with the entities, and the panel of changes after it. */
export function addTabs(
  dom: Dom,
  root: ShadowRoot,
  entities: HTMLElement,
  onSelect: () => void,
): ChangesTabs {
  const panel = new ChangesPanel(dom);
  const changes = dom.h("section", { part: "changes" });
  const tabs = new Tabs(dom, "Views", { Entities: entities, Changes: changes }, () => {
    if (changes.firstChild === null) changes.append(panel.element);
    onSelect();
  });
  addStyles(root, changesStyles);
  entities.parentElement?.prepend(tabs.element);
  entities.after(changes);
  let syncTab: SyncTab | undefined;
  let wanted: Sync | undefined; // it may change while the script is loaded
  const showSync = async (sync: Sync | undefined) => {
    wanted = sync;
    if ((sync ?? syncTab) === undefined) return;
    const loaded = await import("./sync-tab.ts").catch(() => undefined);
    if (loaded === undefined) return; // without the script, there is no tab "Sync"
    if ((wanted ?? syncTab) === undefined) return;
    if (syncTab === undefined) addStyles(root, loaded.syncStyles);
    syncTab ??= new loaded.SyncTab({ ...dom, areEqual, differingTexts }, tabs);
    syncTab.show(wanted);
  };
  return { panel, tabs, showSync };
}
