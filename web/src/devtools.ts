// The entry point `entitable/devtools`: the panel "Changes" as a plugin of TanStack Devtools, or in
// any other element.

import { baseStyles } from "./explorer/base-styles.ts";
import { ChangesPanel } from "./explorer/changes-panel.ts";
import { changesStyles } from "./explorer/changes-styles.ts";
import * as dom from "./explorer/dom.ts";
import { addStyles } from "./explorer/style-sheets.ts";
import type { Store } from "./types.ts";

export interface EntitableDevtoolsOptions {
  store: Store;
  /** Must differ between stores of the same name. Default: "entitable-", with the store's name. */
  id?: string | undefined;
  /** The plugin's title. Default: "entitable", with the name of the store. */
  name?: string | undefined;
}

export type DevtoolsTheme = "light" | "dark";

/** What TanStack Devtools pass to a plugin. Older versions pass only the theme. */
export type DevtoolsProps =
  | DevtoolsTheme
  | { readonly theme?: DevtoolsTheme | undefined; readonly devtoolsOpen?: boolean | undefined };

/** A plugin of TanStack Devtools. */
export interface EntitableDevtoolsPlugin {
  readonly id: string;
  readonly name: string;
  /**
   * Shows the panel in the element, in place of another plugin's: the newest commits of the store
   * from now on, and the live queries that are open. Without a theme, the panel follows the page's
   * `color-scheme`. A further call with the same element changes the theme, or whether the panel is
   * seen. If the element leaves the page, the panel is removed.
   */
  render(element: HTMLElement, props?: DevtoolsProps): void;
  /** Removes the panel, and ends its feed. It does not close the store. */
  destroy(): void;
}

// TanStack Devtools do not call destroy() of a plugin that was replaced by one with the same id.
const panels = new WeakMap<HTMLElement, MountedPanel>(); // by parent

/** Returns a plugin for the store. */
export function entitableDevtools({
  store,
  id = `entitable-${store.name}`,
  name = `entitable: ${store.name}`,
}: EntitableDevtoolsOptions): EntitableDevtoolsPlugin {
  let mounted: MountedPanel | undefined;
  return {
    id,
    name,
    render(element, props = {}) {
      if (mounted === undefined || panels.get(element) !== mounted) {
        mounted?.remove();
        panels.get(element)?.remove();
        mounted = new MountedPanel(element, store);
        panels.set(element, mounted);
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
  readonly #parent: HTMLElement;
  readonly #store: Store;
  readonly #host = document.createElement("div");
  readonly #root = this.#host.attachShadow({ mode: "open" });
  readonly #panel = new ChangesPanel(dom, () => this.remove());

  constructor(parent: HTMLElement, store: Store) {
    this.#parent = parent;
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
    if (panels.get(this.#parent) === this) panels.delete(this.#parent);
    this.#panel.close();
    this.#host.remove();
  }
}
