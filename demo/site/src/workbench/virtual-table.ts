// A table of any number of rows that keeps only the visible ones in the document, so that it stays smooth.
// Arrow keys, Page Up and Down, Home and End move between rows; Enter opens one.
import { h } from "./dom.ts";

export type Row = Record<string, unknown> & {
  partitionKey?: string;
  rowKey?: string;
  etag: string;
};

const rowHeight = 37; // --row in style.css
const overscan = 10;

export class VirtualTable {
  readonly element: HTMLElement;
  #rows: Row[] = [];
  #columns: string[] = [];
  #head = h("thead");
  #body = h("tbody");
  #first = -1;
  #last = -1;
  #open: (row: Row) => void;

  constructor(open: (row: Row) => void) {
    this.#open = open;
    const table = h("table", { "aria-label": "Entities" }, this.#head, this.#body);
    this.element = h("div", { class: "grid-scroll" }, table);
    this.element.addEventListener("scroll", () => this.#draw(), { passive: true });
    this.#body.addEventListener("click", (event) => this.#activate(event.target));
    this.#body.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#draw()).observe(this.element);
  }

  get length(): number {
    return this.#rows.length;
  }

  show(rows: Row[], columns: string[] | undefined): void {
    this.#rows = rows;
    this.#columns = columns ?? columnsOf(rows);
    this.#table().setAttribute("aria-rowcount", String(rows.length + 1));
    this.#head.replaceChildren(
      h(
        "tr",
        {},
        ...this.#columns.map((name) => h("th", { scope: "col", class: this.#class(name) }, name)),
      ),
    );
    this.element.scrollTop = 0;
    this.#redraw();
  }

  append(rows: Row[]): void {
    this.#rows.push(...rows);
    const known = new Set(this.#columns);
    if (columnsOf(rows).some((name) => !known.has(name))) {
      const scroll = this.element.scrollTop;
      this.show(this.#rows, undefined);
      this.element.scrollTop = scroll;
    }
    this.#table().setAttribute("aria-rowcount", String(this.#rows.length + 1));
    this.#redraw();
  }

  #table(): Element {
    return this.#body.parentElement as Element;
  }

  #redraw(): void {
    this.#first = -1;
    this.#draw();
  }

  #draw(): void {
    const first = Math.max(0, Math.floor(this.element.scrollTop / rowHeight) - overscan);
    const visible = Math.ceil(this.element.clientHeight / rowHeight) + 2 * overscan;
    const last = Math.min(this.#rows.length, first + visible);
    if (first === this.#first && last === this.#last) return;
    this.#first = first;
    this.#last = last;
    const focused = (document.activeElement as HTMLElement | null)?.dataset["row"];
    const above = this.#spacer(first);
    const below = this.#spacer(this.#rows.length - last);
    this.#body.replaceChildren(
      above,
      ...this.#rows.slice(first, last).map((row, i) => this.#draw1(row, first + i)),
      below,
    );
    if (focused !== undefined) this.#at(Number(focused))?.focus({ preventScroll: true });
  }

  #spacer(rows: number): HTMLTableRowElement {
    const cell = h("td", { colspan: String(Math.max(1, this.#columns.length)) });
    cell.style.height = `${rows * rowHeight}px`;
    return h("tr", { class: "spacer", "aria-hidden": "true", hidden: rows === 0 }, cell);
  }

  #draw1(row: Row, index: number): HTMLTableRowElement {
    const cells = this.#columns.map((name) => {
      const value = row[name];
      const text = textOf(value);
      return h("td", { class: value === null ? "null" : this.#class(name), title: text }, text);
    });
    return h(
      "tr",
      { tabindex: "0", "data-row": String(index), "aria-rowindex": String(index + 2) },
      ...cells,
    );
  }

  #class(name: string): string {
    if (name === "partitionKey" || name === "rowKey") return "key";
    const sample = this.#rows.find((row) => row[name] != null)?.[name];
    return typeof sample === "number" || typeof sample === "bigint" ? "number" : "";
  }

  #at(index: number): HTMLElement | null {
    return this.#body.querySelector(`tr[data-row="${index}"]`);
  }

  #activate(target: EventTarget | null): void {
    const index = (target as Element | null)?.closest<HTMLElement>("tr[data-row]")?.dataset["row"];
    const row = index === undefined ? undefined : this.#rows[Number(index)];
    if (row !== undefined) this.#open(row);
  }

  #key(event: KeyboardEvent): void {
    const index = Number((event.target as HTMLElement).dataset["row"]);
    const page = Math.max(1, Math.floor(this.element.clientHeight / rowHeight) - 1);
    const moves: Record<string, number> = {
      ArrowDown: index + 1,
      ArrowUp: index - 1,
      PageDown: index + page,
      PageUp: index - page,
      Home: 0,
      End: this.#rows.length - 1,
    };
    if (event.key === "Enter") {
      event.preventDefault(); // or the same key press would go on to submit the dialog that it opens
      this.#activate(event.target);
      return;
    }
    const wanted = moves[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    this.#focus(Math.min(this.#rows.length - 1, Math.max(0, wanted)));
  }

  #focus(index: number): void {
    const top = index * rowHeight;
    const height = this.element.clientHeight - 2 * rowHeight; // the sticky head hides a row
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top > this.element.scrollTop + height) this.element.scrollTop = top - height;
    this.#draw();
    this.#at(index)?.focus({ preventScroll: true });
  }
}

function columnsOf(rows: Row[]): string[] {
  const names = new Set<string>(["partitionKey", "rowKey"]);
  for (const row of rows) for (const name in row) names.add(name);
  const last = ["timestamp", "etag"];
  return [
    ...[...names].filter((name) => !last.includes(name)),
    ...last.filter((name) => names.has(name)),
  ];
}

export function textOf(value: unknown): string {
  if (value === undefined) return ""; // the entity lacks it
  if (value === null) return "null"; // asked for by $select, and the entity lacks it
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (typeof value === "object" && "value" in value)
    return String((value as { value: unknown }).value);
  return String(value);
}
