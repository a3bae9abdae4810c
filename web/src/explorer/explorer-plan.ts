// Renders a query plan as elements: its kind, the rows it read, and their key ranges.

import type { Explain, ExplainRange } from "../types.ts";
import { formatCount, formatDuration, h } from "./dom.ts";

const kinds: Readonly<Record<string, string>> = {
  empty: "Nothing can match",
  point: "Point query",
  range: "Row range",
  partition: "Partition scan",
  table: "Table scan",
};

const shownRanges = 4;

/** Renders a plan's kind and row counts. `ms`: the time until the first page arrived. */
export function renderPlanFigures(plan: Explain, ms: number): HTMLElement[] {
  const figures: [name: string, value: string][] = [
    ["Plan", kinds[plan.kind] ?? plan.kind],
    ["Rows read", formatCount(plan.rowsRead)],
    ["Rows returned", formatCount(plan.rowsReturned)],
    ["First page", formatDuration(ms)],
    ["Plan on the service", kinds[plan.serviceKind] ?? plan.serviceKind],
    ["Requests on the service", formatCount(plan.serviceRoundTrips)],
  ];
  return figures.map(([name, value]) =>
    h(
      "div",
      { "data-figure": name, "data-kind": plan.kind },
      h("dt", {}, name),
      h("dd", {}, value),
    ),
  );
}

/** Renders the key ranges that the query read. */
export function renderKeyRanges({ ranges }: Explain): HTMLElement {
  const lines = ranges.slice(0, shownRanges).map((range) => h("dd", {}, rangeText(range)));
  const more = ranges.length - lines.length;
  if (lines.length === 0) lines.push(h("dd", {}, "none"));
  if (more > 0) lines.push(h("dd", {}, `and ${formatCount(more)} more`));
  return h(
    "div",
    { class: "ranges", "data-figure": "Key ranges" },
    h("dt", {}, "Key ranges"),
    ...lines,
  );
}

function rangeText({ from, to }: ExplainRange): string {
  return `${keyText(from)} … ${to === undefined ? "the end" : keyText(to)}`;
}

// Formats a key. U+0000, which follows a key in the range's end, is shown as a symbol, because it
// would be invisible.
function keyText({ partitionKey, rowKey }: ExplainRange["from"]): string {
  const text = (key: string) => `'${key.replaceAll("\u0000", "\u2400")}'`;
  return `(${text(partitionKey)}, ${text(rowKey)})`;
}

/**
 * Renders a bar that shows the rows read and the rows returned as shares of the table's `total`
 * rows.
 */
export function renderMeter({ rowsRead, rowsReturned }: Explain, total: number): HTMLElement {
  const all = Math.max(total, rowsRead, 1);
  const bar = (kind: string, rows: number) => {
    const element = h("div", { class: kind });
    element.style.inlineSize = `${rows === 0 ? 0 : Math.max(0.4, (100 * rows) / all)}%`;
    return element;
  };
  const label = `${formatCount(rowsRead)} of ${formatCount(all)} rows read, ${formatCount(rowsReturned)} returned`;
  const bars = [bar("read", rowsRead), bar("returned", rowsReturned)];
  const meter = h("div", { class: "meter", role: "img", "aria-label": label }, ...bars);
  return h(
    "div",
    { class: "measure" },
    h("dt", { class: "unseen" }, "Measure"),
    h("dd", {}, meter),
  );
}
