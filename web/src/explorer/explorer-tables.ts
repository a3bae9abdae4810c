// The list of a store's tables, with the number of entities in each.

import type { TableStats } from "../types.ts";
import { formatCount, h, setChildren } from "./dom.ts";

export interface TableListOptions {
  readonly choose: (table: string) => void;
  readonly add: () => void;
  readonly refresh: () => void;
}

export class TableList {
  readonly element: HTMLElement;
  readonly #list = h("ul", {});
  readonly #none = h("p", { class: "muted", hidden: true }, "No tables yet.");
  readonly #choose: (table: string) => void;
  #items = new Map<string, TableItem>(); // by name
  #chosen: string | undefined;

  constructor({ choose, add, refresh }: TableListOptions) {
    this.#choose = choose;
    const refreshButton = h(
      "button",
      {
        type: "button",
        class: "small",
        "aria-label": "Read the tables again",
        title: "Read the tables again",
        onclick: refresh,
      },
      "↻",
    );
    this.element = h(
      "nav",
      { class: "tables", part: "tables", "aria-label": "Tables" },
      h(
        "div",
        { class: "bar" },
        h("span", { class: "name", "aria-hidden": "true" }, "Tables"),
        refreshButton,
      ),
      this.#list,
      this.#none,
      h("button", { type: "button", onclick: add }, "New table…"),
    );
  }

  /** The elements of tables that stay are kept, with the focus. */
  show(tables: readonly TableStats[]): void {
    this.#none.hidden = tables.length > 0;
    const items = tables.map(({ name, rows }): [string, TableItem] => {
      const item = this.#items.get(name) ?? this.#item(name);
      setText(item.rows, formatCount(rows));
      setText(item.noun, rows === 1 ? " entity" : " entities");
      return [name, item];
    });
    this.#items = new Map(items);
    setChildren(
      this.#list,
      items.map(([, { element }]) => element),
    );
    this.mark(this.#chosen);
  }

  /** Highlights the chosen table in the list; undefined: none. */
  mark(chosen: string | undefined): void {
    this.#chosen = chosen;
    for (const button of this.#list.querySelectorAll<HTMLElement>("button")) {
      if (button.dataset["table"] === chosen) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
  }

  #item(name: string): TableItem {
    const rows = h("span", { class: "rows" });
    const noun = h("span", { class: "unseen" });
    const attributes = { type: "button", "data-table": name, onclick: () => this.#choose(name) };
    const title = h("span", { class: "name" }, name);
    return { element: h("li", {}, h("button", attributes, title, rows, noun)), rows, noun };
  }
}

interface TableItem {
  readonly element: HTMLElement;
  readonly rows: HTMLElement;
  readonly noun: HTMLElement;
}

function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
