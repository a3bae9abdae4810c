// The entry point `entitable/devtools`: the panel "Changes" as a plugin of TanStack Devtools, or of
// whatever gives it an element.

import { baseStyles } from "./explorer/base-styles.ts";
import { ChangesPanel } from "./explorer/changes-panel.ts";
import { changesStyles } from "./explorer/changes-styles.ts";
import * as dom from "./explorer/dom.ts";
import { addStyles } from "./explorer/style-sheets.ts";
import type { Store } from "./types.ts";

export interface EntitableDevtoolsOptions {
  store: Store;
  /** The plugin's title. Default: "entitable", with the name of the store. */
  name?: string | undefined;
}

export type DevtoolsTheme = "light" | "dark";

/** What TanStack Devtools tell a plugin. Older versions pass only the theme. */
export type DevtoolsProps =
  | DevtoolsTheme
  | { readonly theme?: DevtoolsTheme | undefined; readonly devtoolsOpen?: boolean | undefined };

/** A plugin of TanStack Devtools. */
export interface EntitableDevtoolsPlugin {
  readonly id: string;
  readonly name: string;
  /**
   * Shows the panel in the element: the newest commits of the store from now on, and the live
   * queries that are open. Without a theme, the panel follows the page's `color-scheme`. A further
   * call with the same element changes the theme, or whether the panel is seen.
   */
  render(element: HTMLElement, props?: DevtoolsProps): void;
  /** Removes the panel, and ends its feed. It does not close the store. */
  destroy(): void;
}

/** Returns a plugin for the store. */
export function entitableDevtools({
  store,
  name = `entitable: ${store.name}`,
}: EntitableDevtoolsOptions): EntitableDevtoolsPlugin {
  let mounted: MountedPanel | undefined;
  return {
    id: `entitable-${store.name}`,
    name,
    render(element, props = {}) {
      if (mounted?.parent !== element) {
        mounted?.remove();
        mounted = new MountedPanel(element, store);
      }
      mounted.update(typeof props === "string" ? { theme: props } : props);
    },
    destroy() {
      mounted?.remove();
      mounted = undefined;
    },
  };
}

// The panel in a shadow root, so that neither the page's styles nor its own reach the other.
class MountedPanel {
  readonly parent: HTMLElement;
  readonly #store: Store;
  readonly #host = document.createElement("div");
  readonly #root = this.#host.attachShadow({ mode: "open" });
  readonly #panel = new ChangesPanel(dom);

  constructor(parent: HTMLElement, store: Store) {
    this.parent = parent;
    this.#store = store;
    this.#root.append(this.#panel.element);
    parent.append(this.#host);
  }

  update({ theme, devtoolsOpen = true }: Exclude<DevtoolsProps, string>): void {
    // Moving to another document has removed the styles.
    if (this.#root.adoptedStyleSheets.length === 0)
      addStyles(this.#root, baseStyles, changesStyles);
    this.#host.style.colorScheme = theme ?? "";
    this.#panel.open(this.#store);
    if (devtoolsOpen) this.#panel.show();
    else this.#panel.hide();
  }

  remove(): void {
    this.#panel.close();
    this.#host.remove();
  }
}
