// Renders the output of a playground's run as elements.

import { isBytes, isDate } from "../util/platform-objects.ts";
import {
  describeError,
  formatCount,
  formatCountWithNoun,
  formatDuration,
  h,
  valueText,
  valueTextWithSeparators,
} from "./dom.ts";
import { errorLineOf } from "./live-code.ts";
import type { Cost } from "./run-cost.ts";

const mostRows = 50;
const hidden: readonly string[] = ["etag", "timestamp", "odata.metadata"];
const keys: readonly string[] = ["partitionKey", "rowKey"];

/** How to render a value. */
export interface DisplayOptions {
  readonly caption?: string | undefined;
  /**
   * Whether numbers are counts. Counts get thousands separators; other numbers, such as years, do
   * not.
   */
  readonly isCounted?: boolean;
}

type Text = (value: unknown) => string;

/**
 * Renders a list as a table, an object as a table of names and values, and anything else as text.
 */
export function renderValue(
  value: unknown,
  { caption, isCounted = false }: DisplayOptions = {},
): HTMLElement {
  const title = caption === undefined ? undefined : h("p", { class: "caption" }, caption);
  const view = viewOf(value, isCounted ? valueTextWithSeparators : valueText);
  return h("section", { class: "shown", part: "shown" }, title, view);
}

function viewOf(value: unknown, text: Text): HTMLElement {
  if (Array.isArray(value)) {
    if (value.length === 0) return h("p", { class: "muted" }, "No rows.");
    if (value.every((row) => typeof row === "object" && row !== null))
      return rowsTable(value, text);
    return h("p", { class: "value" }, value.map(text).join(", "));
  }
  const isPlain = typeof value === "object" && value !== null && !isScalar(value);
  if (!isPlain) return h("p", { class: "value" }, text(value));
  const pairs = Object.entries(value).map(([name, inner]) =>
    h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, text(inner))),
  );
  return scrolling(h("table", { class: "pairs" }, h("tbody", {}, ...pairs)));
}

function isScalar(value: object): boolean {
  if (isDate(value) || isBytes(value)) return true;
  return "type" in value && "value" in value && Object.keys(value).length === 2;
}

function rowsTable(rows: Record<string, unknown>[], text: Text): HTMLElement {
  const names = columnsOf(rows);
  const kinds = new Map(names.map((name) => [name, kindOf(name, rows)]));
  const heads = names.map((name) => h("th", { scope: "col", class: kinds.get(name) }, name));
  const head = h("tr", {}, ...heads);
  const body = rows.slice(0, mostRows).map((row) => {
    const cells = names.map((name) => {
      return h("td", { class: kinds.get(name) }, h("div", {}, text(row[name])));
    });
    return h("tr", {}, ...cells);
  });
  const table = h("table", {}, h("thead", {}, head), h("tbody", {}, ...body));
  const rest = rows.length - body.length;
  const more =
    rest > 0
      ? h("p", { class: "muted" }, `and ${formatCountWithNoun(rest, "more row")}`)
      : undefined;
  return h("div", {}, scrolling(table), more);
}

// Wraps a table in an element that can be scrolled, also by the keyboard.
function scrolling(table: HTMLElement): HTMLElement {
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Rows" }, table);
}

// Returns the columns: the keys, then the other properties in order of appearance. ETags and
// timestamps are left out, because every row has them.
function columnsOf(rows: readonly object[]): string[] {
  const names = new Set(rows.flatMap((row) => Object.keys(row)));
  const isProperty = (name: string) => !hidden.includes(name) && !keys.includes(name);
  return [...keys.filter((name) => names.has(name)), ...[...names].filter(isProperty)];
}

// Returns the CSS class of a column. Columns of numbers are aligned right.
function kindOf(name: string, rows: readonly Record<string, unknown>[]): string | undefined {
  if (keys.includes(name)) return "key";
  const isNumber = ({ [name]: value }: Record<string, unknown>) =>
    value === undefined || value === null || typeof value === "number" || typeof value === "bigint";
  return rows.every(isNumber) ? "number" : undefined;
}

/** Renders an error and, if known, the line of the code where it was thrown. */
export function renderError(error: unknown): HTMLElement {
  const { title, text, hint } = describeError(error);
  const line = errorLineOf(error);
  return h(
    "div",
    { class: "error", part: "error", role: "alert" },
    h("strong", {}, line === undefined ? title : `${title} (line ${line})`),
    h("span", {}, text),
    hint === undefined ? undefined : h("span", { class: "hint" }, ` ${hint}`),
  );
}

const planNames: Readonly<Record<string, string>> = {
  empty: "nothing to look for",
  point: "point query",
  range: "row range",
  partition: "partition scan",
  table: "table scan",
};

interface Costs {
  readonly cost: Cost | undefined;
  readonly hasUncountedRequests: boolean;
  readonly ms: number;
}

/** Renders the cost of a run. Adds a note if requests are missing from it. */
export function renderCost({ cost, hasUncountedRequests, ms }: Costs): HTMLElement[] {
  const figures: [name: string, value: string, kind?: string][] = [];
  // If all requests went to stores whose requests are not logged, the cost is unknown, not zero.
  if (cost !== undefined && !(hasUncountedRequests && cost.requests === 0)) {
    const [mostExpensive] = cost.plans;
    const plans = cost.plans.map((plan) => planNames[plan]).join(", ");
    if (mostExpensive !== undefined) figures.push(["Access", plans, mostExpensive]);
    figures.push(["Requests", formatCount(cost.requests)]);
    if (cost.plans.length > 0) {
      figures.push(
        ["Rows read", formatCount(cost.rowsRead)],
        ["Returned", formatCount(cost.rowsReturned)],
      );
    }
    if (cost.rowsWritten > 0) figures.push(["Rows written", formatCount(cost.rowsWritten)]);
    if (cost.rowsDeleted > 0) figures.push(["Rows deleted", formatCount(cost.rowsDeleted)]);
    if (cost.failed > 0) figures.push(["Rejected", formatCount(cost.failed)]);
  }
  figures.push(["Time here", formatDuration(ms)]);
  const items = figures.map(([name, value, kind]) =>
    h("div", { "data-figure": name, "data-kind": kind }, h("dt", {}, name), h("dd", {}, value)),
  );
  const list = h("dl", { class: "cost", part: "cost" }, ...items);
  if (!hasUncountedRequests) return [list];
  const note = "Requests to stores that openStore opened are not counted.";
  return [list, h("p", { class: "muted uncounted" }, note)];
}
