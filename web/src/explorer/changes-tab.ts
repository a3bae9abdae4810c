// The tabs of the explorer: the entities and the changes. Loaded with the first store.

import { ChangesPanel } from "./changes-panel.ts";
import { changesStyles } from "./changes-styles.ts";
import type { Dom } from "./dom.ts";
import { Tabs } from "./explorer-tabs.ts";
import { addStyles } from "./style-sheets.ts";

export interface ChangesTabs {
  readonly panel: ChangesPanel;
  readonly tabs: Tabs;
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
  return { panel, tabs };
}
