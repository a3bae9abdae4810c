// A virtualized grid: only the visible rows are in the document. Tab focuses one row. The arrow
// keys, Page Up, Page Down, Home and End move the focus, and Enter opens the row.
//
// When rows change, the elements of the others stay: so do the focus, the selected text, and the
// row at the top.

import { formatCountWithNoun, h, setChildren } from "./dom.ts";
import { isTyped } from "./explorer-values.ts";

/** An entity that was read with disableTypeConversion. */
export type GridRow = Readonly<Record<string, unknown>> & {
  readonly partitionKey?: string;
  readonly rowKey?: string;
  readonly etag: string;
};

/** Rows that are shown instead of the present ones. */
export interface RowUpdate {
  readonly rows: readonly GridRow[];
  /** Those that were changed or inserted. */
  readonly changed: readonly GridRow[];
  /** Returns where a present row is among the new ones; if it was removed, where it would be. */
  indexOf(index: number): number;
}

const overscan = 8; // rows rendered above and below the visible ones
const cellUnits = 200; // how many UTF-16 units of a value a cell shows; a value may have 32,768
const titleUnits = 2000;

const titles: Readonly<Record<string, string>> = {
  partitionKey: "PartitionKey",
  rowKey: "RowKey",
  timestamp: "Timestamp",
};

export class Grid {
  readonly element: HTMLElement;
  readonly #head = h("thead");
  readonly #body = h("tbody");
  readonly #table: HTMLTableElement;
  readonly #open: (row: GridRow) => void;
  readonly #spacers = [newSpacer(), newSpacer()] as const;
  #rows: readonly GridRow[] = [];
  #drawn = new Map<string, DrawnRow>(); // by key
  #columns: Column[] = [];
  #known = new Map<string, Column>();
  #all = true; // whether every property becomes a column
  #rowHeight = 33; // in CSS pixels; an estimate until a row is measured
  #first = -1;
  #last = -1;
  #active = 0;

  constructor(open: (row: GridRow) => void) {
    this.#open = open;
    this.#table = h("table", { role: "grid", "aria-label": "Entities" }, this.#head, this.#body);
    this.element = h("div", { class: "grid scroll", part: "grid" }, this.#table);
    this.element.addEventListener("scroll", () => this.#draw(), { passive: true });
    this.#body.addEventListener("click", (event) => this.#activate(event.target));
    this.#body.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#draw()).observe(this.element);
  }

  /** In the order of their keys. */
  get rows(): readonly GridRow[] {
    return this.#rows;
  }

  get hasFocus(): boolean {
    return this.#focusedIndex() !== undefined;
  }

  /** Replaces all rows. `select`: the properties that become columns; empty: all. */
  show(rows: readonly GridRow[], select: readonly string[]): void {
    this.#all = select.length === 0;
    this.#rows = [];
    this.#known = new Map();
    this.#drawn.clear();
    this.#active = 0;
    this.element.scrollTop = 0;
    for (const name of select.length > 0 ? select : ["partitionKey", "rowKey"]) this.#column(name);
    this.append(rows);
  }

  /** Appends rows. Their new properties become columns, unless show() had a selection. */
  append(rows: readonly GridRow[]): void {
    this.#rows = [...this.#rows, ...rows];
    for (const row of rows) this.#learn(row);
    this.#showColumns();
    this.#redraw();
  }

  /** Shows changed rows. Returns the elements of those that are visible. */
  update({ rows, changed, indexOf }: RowUpdate): HTMLElement[] {
    const top = Math.floor(this.element.scrollTop / this.#rowHeight);
    const focused = this.#focusedIndex();
    for (const row of changed) this.#learn(row);
    this.#rows = rows;
    this.#showColumns();
    this.#active = indexOf(this.#active);
    this.#redraw();
    // At the top, inserted rows are to be seen. Elsewhere, the row at the top stays there.
    if (top > 0 && indexOf(top) !== top) {
      this.element.scrollTop += (indexOf(top) - top) * this.#rowHeight;
      this.#redraw();
    }
    if (focused !== undefined) this.#at(indexOf(focused))?.focus({ preventScroll: true });
    return changed.flatMap((row) => this.#drawn.get(keyOf(row))?.element ?? []);
  }

  /** Focuses the active row, if there is one. */
  focus(): void {
    if (this.#rows.length > 0) this.#focus(this.#active);
  }

  #column(given: string): Column {
    const service = Object.entries(titles).find(([, title]) => title === given)?.[0];
    const name = service ?? given;
    let column = this.#known.get(name);
    if (column === undefined) {
      column = new Column(name);
      this.#known.set(name, column);
    }
    return column;
  }

  #learn(row: GridRow): void {
    for (const name in row) {
      if (name === "etag" || !(this.#all || this.#known.has(name))) continue;
      this.#column(name).learn(row[name]);
    }
  }

  #showColumns(): void {
    const all = [...this.#known.values()];
    const columns = [
      ...all.filter(({ name }) => name !== "timestamp"),
      ...all.filter(({ name }) => name === "timestamp"), // last, because users rarely look at it
    ];
    const head = h("tr", { "aria-rowindex": "1" }, ...columns.map((column) => column.head()));
    this.#columns = columns;
    if (this.#head.firstElementChild?.isEqualNode(head) !== true) {
      this.#drawn.clear();
      this.#head.replaceChildren(head);
    }
    this.#table.setAttribute("aria-rowcount", String(this.#rows.length + 1));
    this.#table.setAttribute("aria-colcount", String(this.#columns.length));
  }

  #redraw(): void {
    this.#first = -1;
    this.#draw();
  }

  #draw(): void {
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / this.#rowHeight) - overscan);
    const visible = Math.ceil(clientHeight / this.#rowHeight) + 2 * overscan;
    const last = Math.min(this.#rows.length, first + visible);
    if (first === this.#first && last === this.#last) return;
    this.#first = first;
    this.#last = last;
    const focused = this.#focusedIndex();
    const stop = Math.min(Math.max(this.#active, first), Math.max(first, last - 1));
    const rows = this.#rows.slice(first, last).map((row, i) => this.#row(row, first + i, stop));
    this.#drawn = new Map(rows.map((drawn) => [keyOf(drawn.row), drawn]));
    const [above, below] = this.#spacers;
    this.#space(above, first);
    this.#space(below, this.#rows.length - last);
    setChildren(this.#body, [above, ...rows.map(({ element }) => element), below]);
    if (focused !== undefined && this.#focusedIndex() === undefined)
      this.#at(focused)?.focus({ preventScroll: true });
    this.#measure();
  }

  // Measures the height of a row, which depends on the page's font.
  #measure(): void {
    const height = this.#at(this.#first)?.offsetHeight ?? 0;
    if (height === 0 || height === this.#rowHeight) return;
    this.#rowHeight = height;
    this.#redraw();
  }

  #space(spacer: HTMLTableRowElement, rows: number): void {
    const [cell] = spacer.cells;
    if (cell === undefined) return;
    cell.colSpan = Math.max(1, this.#columns.length);
    cell.style.height = `${rows * this.#rowHeight}px`;
    spacer.hidden = rows === 0;
  }

  // Returns the row's element: the same as before, if there was one.
  #row(row: GridRow, index: number, stop: number): DrawnRow {
    const cells = () => this.#columns.map((column) => column.cell(row[column.name]));
    const known = this.#drawn.get(keyOf(row));
    const element = known?.element ?? h("tr", {}, ...cells());
    if (known !== undefined && known.row !== row) replaceChangedCells(element, cells());
    element.tabIndex = index === stop ? 0 : -1;
    element.dataset["row"] = String(index);
    element.setAttribute("aria-rowindex", String(index + 2));
    return { row, element };
  }

  #at(index: number): HTMLElement | null {
    return this.#body.querySelector(`tr[data-row="${index}"]`);
  }

  #focusedIndex(): number | undefined {
    const { activeElement } = this.element.getRootNode() as ShadowRoot;
    const index = (activeElement as HTMLElement | null)?.dataset["row"];
    return index === undefined ? undefined : Number(index);
  }

  #activate(target: EventTarget | null): void {
    const index = (target as Element | null)?.closest<HTMLElement>("tr[data-row]")?.dataset["row"];
    if (index === undefined) return;
    this.#focus(Number(index));
    const row = this.#rows[Number(index)];
    if (row !== undefined) this.#open(row);
  }

  #key(event: KeyboardEvent): void {
    const index = Number((event.target as HTMLElement).dataset["row"]);
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.#rowHeight) - 2);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: index + 1,
      ArrowUp: index - 1,
      PageDown: index + page,
      PageUp: index - page,
      Home: 0,
      End: this.#rows.length - 1,
    };
    const wanted = moves[event.key];
    if (event.key === "Enter" || event.key === " ") this.#activate(event.target);
    else if (wanted !== undefined) {
      this.#focus(Math.min(this.#rows.length - 1, Math.max(0, wanted)));
    } else return;
    event.preventDefault(); // otherwise Enter would also submit the dialog that opens
  }

  #focus(index: number): void {
    const top = index * this.#rowHeight;
    const height = this.element.clientHeight - this.#head.offsetHeight - this.#rowHeight;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top > this.element.scrollTop + height) this.element.scrollTop = top - height;
    this.#active = index;
    this.#redraw();
    this.#at(index)?.focus({ preventScroll: true });
  }
}

interface DrawnRow {
  readonly row: GridRow;
  readonly element: HTMLTableRowElement;
}

function keyOf({ partitionKey, rowKey }: GridRow): string {
  return JSON.stringify([partitionKey, rowKey]);
}

function newSpacer(): HTMLTableRowElement {
  return h("tr", { class: "spacer", "aria-hidden": "true" }, h("td"));
}

function replaceChangedCells(row: HTMLTableRowElement, cells: readonly HTMLElement[]): void {
  const old = [...row.cells];
  for (const [index, cell] of cells.entries())
    if (old[index]?.isEqualNode(cell) === false) old[index]?.replaceWith(cell);
}

// A column of one property. The types of its values decide how it looks.
class Column {
  readonly name: string;
  readonly #types = new Set<string>();

  constructor(name: string) {
    this.name = name;
  }

  learn(value: unknown): void {
    if (isTyped(value)) this.#types.add(value.type);
  }

  get #kind(): string | undefined {
    if (this.name === "partitionKey" || this.name === "rowKey") return "key";
    const numbers = ["Int32", "Int64", "Double"];
    const all = [...this.#types];
    return all.length > 0 && all.every((type) => numbers.includes(type)) ? "number" : undefined;
  }

  head(): HTMLElement {
    const types = [...this.#types].join(", ");
    return h(
      "th",
      { scope: "col", class: this.#kind },
      titles[this.name] ?? this.name,
      types === "" ? undefined : h("span", { class: "type" }, ` ${types}`),
    );
  }

  cell(value: unknown): HTMLElement {
    const text = cellText(value);
    const title = text.length > 24 ? text : undefined;
    return h("td", { class: this.#kind, title }, text.slice(0, cellUnits));
  }
}

// Returns a value as one line of text: all rows must have the same height.
function cellText(value: unknown): string {
  if (!isTyped(value)) return typeof value === "string" ? value : "";
  if (value.type === "Binary") return byteCount(value.value);
  return value.value.slice(0, titleUnits).replace(/\r\n|[\r\n\t]/g, "\u21b5");
}

function byteCount(base64: string): string {
  const padding = /=*$/.exec(base64)?.[0].length ?? 0;
  return formatCountWithNoun((base64.length / 4) * 3 - padding, "byte");
}
