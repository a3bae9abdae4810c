// The query panel of one table: its input fields, the query plan and the entities found.

import type { Explain, Store, TableEntityResultPage } from "../types.ts";
import { errorMessage } from "../util/platform-objects.ts";
import { describeError, formatCountWithNoun, h } from "./dom.ts";
import { PropertySamples } from "./explorer-completion.ts";
import { FilterBox } from "./explorer-filter.ts";
import { Grid, type GridRow } from "./explorer-grid.ts";
import { renderKeyRanges, renderMeter, renderPlanFigures } from "./explorer-plan.ts";

type Pages = AsyncIterableIterator<TableEntityResultPage<Record<string, unknown>>>;

/** The query that the results come from; an export runs it again. */
export interface FilterAndSelect {
  readonly filter: string;
  readonly select: readonly string[];
}

export class QueryView {
  readonly element: HTMLElement;
  readonly seen = new PropertySamples();
  readonly #filter = new FilterBox(this.seen);
  readonly #select = h("input", {
    id: "select",
    type: "text",
    spellcheck: "false",
    autocapitalize: "off",
    autocomplete: "off",
    placeholder: "everything",
  });
  readonly #size = h("input", {
    id: "page-size",
    type: "number",
    min: "1",
    max: "1000",
    value: "200",
    required: true,
  });
  readonly #error = h("div", { class: "error", part: "error", role: "alert", hidden: true });
  readonly #plan = h("dl", { class: "plan", part: "plan", "aria-label": "Plan", hidden: true });
  readonly #warnings = h("ul", { class: "warnings", part: "warnings", hidden: true });
  readonly #status = h("span", { role: "status", part: "status" });
  readonly #runButton = h("button", { type: "submit", class: "primary", part: "run" }, "Run");
  readonly #next = h(
    "button",
    { type: "button", part: "next", onclick: () => void this.#nextPage() },
    "Next page",
  );
  readonly #grid: Grid;
  #store: Store | undefined;
  #table = "";
  #pages: Pages | undefined; // undefined: no next page can be requested now
  #input: FilterAndSelect = { filter: "", select: [] };
  #tableRowCount: number | undefined; // entities in the table
  #runNumber = 0; // counts runs; responses to an older run are ignored

  constructor(open: (row: GridRow) => void) {
    this.#grid = new Grid(open);
    const form = h(
      "form",
      {
        class: "query",
        part: "query",
        onsubmit: (event) => {
          event.preventDefault();
          void this.run();
        },
      },
      this.#filter.element,
      labelled("Select", this.#select),
      labelled("Page size", this.#size),
      this.#runButton,
    );
    const foot = h("div", { class: "foot" }, this.#status, this.#next);
    const found = h("div", { class: "found" }, this.#grid.element, foot);
    this.element = h("div", {}, form, this.#error, this.#plan, this.#warnings, found);
  }

  get lastQuery(): FilterAndSelect {
    return this.#input;
  }

  /** The number of entities in the table; undefined: unknown. */
  set tableRowCount(rows: number | undefined) {
    this.#tableRowCount = rows;
  }

  /**
   * Shows a table and runs the query in the fields. Clears the fields first if another table was
   * shown. Never rejects; errors are shown.
   */
  async open(store: Store, table: string): Promise<void> {
    const same = store === this.#store && table === this.#table;
    if (!same && this.#store !== undefined) this.reset();
    if (!same) this.#grid.show([], []);
    this.#store = store;
    this.#table = table;
    await this.run();
  }

  /** Clears the query, its results and the property samples. */
  reset(): void {
    this.setFields("", []);
    this.seen.clear();
    this.#clear();
  }

  /** Sets the query fields as if the user had typed them. */
  setFields(filter: string, select: readonly string[]): void {
    this.#filter.value = filter;
    this.#select.value = select.join(", ");
  }

  /** Sets the query fields and runs the query. Never rejects; errors are shown. */
  async runQuery(filter: string, select: readonly string[]): Promise<void> {
    this.setFields(filter, select);
    await this.run();
  }

  /** Runs the query again. Never rejects; errors are shown. */
  async run(): Promise<void> {
    const store = this.#store;
    if (store === undefined || !this.#size.reportValidity()) return;
    const turn = ++this.#runNumber;
    const filter = this.#filter.value;
    const select = this.#select.value.split(/[\s,]+/).filter((name) => name !== "");
    this.#input = { filter, select };
    this.#begin();
    try {
      const queryOptions = {
        ...(filter && { filter }),
        ...(select.length > 0 && { select: withKeys(select) }),
      };
      const table = store.table(this.#table);
      const options = { queryOptions, disableTypeConversion: true };
      const pages = table.listEntities(options).byPage({ maxPageSize: Number(this.#size.value) });
      const from = performance.now();
      const page = await pages.next();
      const ms = performance.now() - from;
      if (turn !== this.#runNumber) return;
      this.#setNextPages(pages);
      this.#show(page.value ?? [], select);
      const plan = await table.explain({ queryOptions });
      if (turn === this.#runNumber) this.#showPlan(plan, ms);
    } catch (error) {
      if (turn === this.#runNumber) this.#fail(error);
    } finally {
      if (turn === this.#runNumber) this.element.removeAttribute("aria-busy");
    }
  }

  #begin(): void {
    this.element.setAttribute("aria-busy", "true");
    this.#setNextPages(undefined);
    this.#error.hidden = true;
    this.#filter.showError(undefined);
  }

  // Removes the shown entities. Responses to requests in flight are ignored.
  #clear(): void {
    ++this.#runNumber;
    this.element.removeAttribute("aria-busy");
    this.#setNextPages(undefined);
    this.#grid.show([], []);
    this.#status.textContent = "";
    if (this.#isFocused(this.#next)) this.#runButton.focus();
    this.#next.hidden = true;
  }

  // aria-disabled instead of `disabled`, because a button that becomes `disabled` loses the focus.
  #setNextPages(pages: Pages | undefined): void {
    this.#pages = pages;
    if (pages === undefined) this.#next.setAttribute("aria-disabled", "true");
    else this.#next.removeAttribute("aria-disabled");
  }

  #show(page: TableEntityResultPage<Record<string, unknown>>, select: readonly string[]): void {
    this.seen.addRows(page);
    this.#grid.show(page as GridRow[], select);
    this.#showStatus(page.continuationToken !== undefined);
  }

  async #nextPage(): Promise<void> {
    const pages = this.#pages;
    if (pages === undefined) return;
    const turn = this.#runNumber;
    this.#setNextPages(undefined); // only one page is requested at a time
    try {
      const { value } = await pages.next();
      if (turn !== this.#runNumber) return;
      this.#setNextPages(pages);
      const page = (value ?? []) as TableEntityResultPage<Record<string, unknown>>;
      this.seen.addRows(page);
      this.#grid.append(page as GridRow[]);
      this.#showStatus(page.continuationToken !== undefined);
    } catch (error) {
      if (turn === this.#runNumber) this.#fail(error);
    }
  }

  #showStatus(more: boolean): void {
    const { length } = this.#grid;
    const shown = `${formatCountWithNoun(length, "entity", "entities")} shown`;
    const rest = more ? "and there are more" : "that is all";
    this.#status.textContent = length === 0 && !more ? "No entity matches." : `${shown}, ${rest}.`;
    if (this.#next.hidden !== !more && !more && this.#isFocused(this.#next)) this.#grid.focus();
    this.#next.hidden = !more;
  }

  #isFocused(element: Element): boolean {
    return (this.element.getRootNode() as ShadowRoot).activeElement === element;
  }

  #showPlan(plan: Explain, ms: number): void {
    this.#plan.replaceChildren(...renderPlanFigures(plan, ms), renderKeyRanges(plan));
    if (this.#tableRowCount !== undefined)
      this.#plan.append(renderMeter(plan, this.#tableRowCount));
    this.#plan.hidden = false;
    const items = plan.warnings.map(({ message, help }) => h("li", {}, `${message} ${help}`));
    this.#warnings.replaceChildren(...items);
    this.#warnings.hidden = items.length === 0;
  }

  #fail(error: unknown): void {
    const { title, text } = describeError(error);
    const message = errorMessage(error);
    this.#filter.showError(this.#input.filter === "" ? undefined : message);
    this.#error.replaceChildren(h("strong", {}, title), text);
    this.#error.hidden = false;
    this.#plan.hidden = true;
    this.#warnings.hidden = true;
    this.#clear();
  }
}

/** Adds the keys to a selection. Opening a row and importing an exported file need them. */
export function withKeys(select: readonly string[]): string[] {
  return [...new Set([...select, "PartitionKey", "RowKey"])];
}

function labelled(text: string, control: HTMLInputElement): HTMLElement {
  return h("div", { class: control.id }, h("label", { for: control.id }, text), control);
}
