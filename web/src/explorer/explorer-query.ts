// The query panel of one table: its input fields, the query plan and the entities found.

import type { Explain, Store, TableEntityResultPage } from "../types.ts";
import { errorMessage } from "../util/platform-objects.ts";
import { describeError, formatCountWithNoun, h } from "./dom.ts";
import { PropertySamples } from "./explorer-completion.ts";
import { FilterBox } from "./explorer-filter.ts";
import { Grid, type GridRow, type RowUpdate } from "./explorer-grid.ts";
import { renderKeyRanges, renderMeter, renderPlanFigures } from "./explorer-plan.ts";
import type { RowUpdater, UpdatedView } from "./row-updater.ts";

/** A query, as the user has typed it. */
export interface FilterAndSelect {
  readonly filter: string;
  readonly select: readonly string[];
}

export type RowPages = AsyncIterableIterator<TableEntityResultPage<Record<string, unknown>>>;
type Page = NonNullable<Awaited<ReturnType<RowPages["next"]>>["value"]>;

export class QueryView implements UpdatedView {
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
  readonly #problem = h("span", { role: "status", class: "problem" });
  readonly #runButton = h("button", { type: "submit", class: "primary", part: "run" }, "Run");
  readonly #next = h(
    "button",
    { type: "button", part: "next", onclick: () => void this.#nextPage() },
    "Next page",
  );
  readonly #grid: Grid;
  #updater: RowUpdater | undefined; // undefined: it is not loaded yet
  #followed: Store | undefined; // the store to follow
  #store: Store | undefined;
  #table = "";
  #pages: RowPages | undefined; // undefined: no next page can be requested now
  #input: FilterAndSelect = { filter: "", select: [] };
  #tableRowCount: number | undefined; // entities in the table
  #runNumber = 0; // counts runs; responses to an older run are ignored

  readonly onCommit: () => void;
  query: FilterAndSelect | undefined;
  isReading = false;
  readNumber = 0;
  nextToken: string | undefined;

  /** `onCommit` is called after the store has changed. */
  constructor(open: (row: GridRow) => void, onCommit: () => void) {
    this.#grid = new Grid(open);
    this.onCommit = onCommit;
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
    const foot = h("div", { class: "foot" }, this.#status, this.#problem, this.#next);
    const found = h("div", { class: "found" }, this.#grid.element, foot);
    this.element = h("div", {}, form, this.#error, this.#plan, this.#warnings, found);
  }

  get rows(): readonly GridRow[] {
    return this.#grid.rows;
  }

  /** The query that was run last; an export runs it again. */
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
    this.#followed = store;
    await this.run();
    await this.#follow();
  }

  /** Calls onCommit after changes of the store, and shows changed rows. Never rejects. */
  async followStore(store: Store): Promise<void> {
    this.#followed = store;
    await this.#follow();
  }

  // Follows no store if close() was called meanwhile.
  async #follow(): Promise<void> {
    try {
      const { RowUpdater } = await import("./row-updater.ts");
      this.#updater ??= new RowUpdater(this);
      if (this.#followed !== undefined) this.#updater.follow(this.#followed, this.#table);
    } catch {
      // Without the script, the rows stay as they were read.
    }
  }

  /** Reads the shown rows again, and shows what has changed. Never rejects. */
  readAgain(): void {
    if (this.query === undefined || this.#updater === undefined) void this.run();
    else this.#updater.readAgain();
  }

  /** Runs the last query again. What the user is typing is not run. */
  runAgain(): void {
    void this.#run(this.#input);
  }

  /** Shows no further changes until open() is called. */
  close(): void {
    this.#followed = undefined;
    this.#updater?.close();
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
    if (this.#store === undefined || !this.#size.reportValidity()) return;
    const filter = this.#filter.value;
    const select = this.#select.value.split(/[\s,]+/).filter((name) => name !== "");
    await this.#run({ filter, select });
  }

  async #run(input: FilterAndSelect): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    const turn = ++this.#runNumber;
    this.#input = { ...input };
    this.#begin();
    try {
      const pages = this.pages(Number(this.#size.value));
      const from = performance.now();
      const page = await pages.next();
      const ms = performance.now() - from;
      if (turn !== this.#runNumber) return;
      this.#setNextPages(pages);
      this.#show(page.value ?? [], input.select);
      const plan = await store.table(this.#table).explain({ queryOptions: queryOptions(input) });
      if (turn === this.#runNumber) this.#showPlan(plan, ms);
    } catch (error) {
      if (turn === this.#runNumber) this.#fail(error);
    } finally {
      if (turn === this.#runNumber) this.element.removeAttribute("aria-busy");
    }
  }

  /** Reads the rows of the last query, or those that `filter` selects. */
  pages(maxPageSize: number, filter = this.#input.filter): RowPages {
    const query = { queryOptions: queryOptions({ ...this.#input, filter }) };
    const table = (this.#store as Store).table(this.#table);
    return table.listEntities({ ...query, disableTypeConversion: true }).byPage({ maxPageSize });
  }

  #begin(): void {
    this.element.setAttribute("aria-busy", "true");
    this.#beginReading();
    this.#setNextPages(undefined);
    this.#error.hidden = true;
    this.#filter.showError(undefined);
  }

  #beginReading(): void {
    this.isReading = true;
    this.readNumber += 1;
  }

  // Removes the shown entities. Responses to requests in flight are ignored.
  #clear(): void {
    ++this.#runNumber;
    this.element.removeAttribute("aria-busy");
    this.#setNextPages(undefined);
    this.query = undefined;
    this.isReading = false;
    this.readNumber += 1;
    this.#grid.show([], []);
    this.#status.textContent = "";
    if (this.#isFocused(this.#next)) this.#runButton.focus();
    this.#next.hidden = true;
  }

  // aria-disabled instead of `disabled`, because a button that becomes `disabled` loses the focus.
  #setNextPages(pages: RowPages | undefined): void {
    this.#pages = pages;
    if (pages === undefined) this.#next.setAttribute("aria-disabled", "true");
    else this.#next.removeAttribute("aria-disabled");
  }

  #show(page: Page, select: readonly string[]): void {
    this.seen.addRows(page);
    this.#grid.show(page as GridRow[], select);
    this.#onPage(page);
  }

  #onPage({ continuationToken }: Page): void {
    this.query = this.#input;
    this.isReading = false;
    this.nextToken = continuationToken;
    this.#showStatus();
    this.#updater?.onRead();
  }

  /** Shows changed rows. The plan stays that of the last run. */
  update(update: RowUpdate): readonly HTMLElement[] {
    const { hasFocus } = this.#grid;
    this.seen.addRows(update.changed);
    const elements = this.#grid.update(update);
    if (hasFocus && update.rows.length === 0) this.#runButton.focus();
    this.#showStatus();
    return elements;
  }

  showProblem(error: unknown): void {
    const text = `Changes are not shown now: ${describeError(error).text}`;
    this.#problem.textContent = error === undefined ? "" : text;
  }

  async #nextPage(): Promise<void> {
    const pages = this.#pages;
    if (pages === undefined) return;
    const turn = this.#runNumber;
    this.#setNextPages(undefined); // only one page is requested at a time
    this.#beginReading();
    try {
      const { value } = await pages.next();
      if (turn !== this.#runNumber) return;
      this.#setNextPages(pages);
      const page: Page = value ?? [];
      this.seen.addRows(page);
      this.#grid.append(page as GridRow[]);
      this.#onPage(page);
    } catch (error) {
      if (turn === this.#runNumber) this.#fail(error);
    }
  }

  #showStatus(): void {
    const { length } = this.#grid.rows;
    const more = this.nextToken !== undefined;
    const shown = `${formatCountWithNoun(length, "entity", "entities")} shown`;
    const rest = more ? "and there are more" : "that is all";
    const text = length === 0 && !more ? "No entity matches." : `${shown}, ${rest}.`;
    if (this.#status.textContent !== text) this.#status.textContent = text;
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

/**
 * Returns the options of a client's method. They select the keys, too: opening a row and importing
 * an exported file need them.
 */
export function queryOptions({ filter, select }: FilterAndSelect) {
  const withKeys = [...new Set([...select, "PartitionKey", "RowKey"])];
  return { ...(filter && { filter }), ...(select.length > 0 && { select: withKeys }) };
}

function labelled(text: string, control: HTMLInputElement): HTMLElement {
  return h("div", { class: control.id }, h("label", { for: control.id }, text), control);
}
