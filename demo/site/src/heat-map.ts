// The picture of the partitions: a field for each, darker the more of it was read or written. Numbers are in it as text, so it can be
// read without seeing colours, and the scale is the same everywhere, so two pictures can be compared.
import { count, h } from "./dom.ts";
import type { Access } from "./partition-access.ts";

const levels = [1, 10, 100, 1000, 10_000]; // rows, from which on a field is that dark

// Beyond that many partitions, fields are small squares, with their text in a tooltip and for screen readers.
const mostNamed = 40;

export class HeatMap {
  readonly element = h("figure", { class: "heat" });

  show(accesses: readonly Access[]): void {
    const tables = Map.groupBy(accesses, ({ table }) => table);
    const maps = [...tables].flatMap(([table, own]) => [
      h("p", { class: "heat-table" }, `Table ${table}`),
      fields(own),
    ]);
    this.element.replaceChildren(caption(accesses), ...maps);
  }
}

function caption(accesses: readonly Access[]): HTMLElement {
  const touched = accesses.filter(({ reads, writes }) => reads + writes > 0).length;
  return h("figcaption", {}, `Partitions touched: ${count(touched)} of ${count(accesses.length)}`);
}

function fields(accesses: readonly Access[]): HTMLElement {
  const isSmall = accesses.length > mostNamed;
  const list = h("ul", { class: isSmall ? "fields small" : "fields" });
  for (const { partition, reads, writes } of accesses) {
    const field = h("li");
    field.dataset["reads"] = String(levelOf(reads));
    field.dataset["writes"] = String(levelOf(writes));
    const numbers = [
      reads > 0 ? `${count(reads)} read` : "",
      writes > 0 ? `${count(writes)} written` : "",
    ];
    const text = numbers.filter((part) => part !== "").join(", ") || "untouched";
    if (isSmall) field.title = `${partition}: ${text}`;
    field.append(
      h("p", { class: "name" }, partition || "(empty)"),
      h("p", { class: "numbers" }, text),
    );
    list.append(field);
  }
  return list;
}

function levelOf(rows: number): number {
  return levels.filter((from) => rows >= from).length;
}
