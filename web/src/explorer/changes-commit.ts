// Renders an entry of the change log: a line for each commit, and on demand the rows that it has
// changed.

import type { Change } from "../types.ts";
import type { ChangeCounts, CommitEntry, GapEntry } from "./change-log.ts";
import { areEqual, differingTexts } from "./changes-values.ts";
import type { Dom } from "./dom.ts";

const shownAtOnce = 50; // rows

/** `table`: shows only the changes of this table; undefined: of all. */
export function renderCommit(dom: Dom, entry: CommitEntry, table: string | undefined): HTMLElement {
  const { h } = dom;
  const { sequence, at, origin, tables } = entry;
  const counts = sumCounts(entry, table);
  const names = table === undefined ? tableNamesOf(entry) : [table];
  const isShown = (name: string) => table === undefined || name === table;
  const summary = h(
    "summary",
    {},
    h("span", { class: "sequence" }, `#${sequence}`),
    h("time", { datetime: at.toISOString(), title: at.toISOString() }, timeOf(at)),
    h("span", { class: "origin" }, origin),
    h("span", { class: "names" }, names.join(", ")),
    h(
      "span",
      { class: "counts" },
      ...tables
        .filter((change) => isShown(change.table))
        .map(({ op }) => badge(dom, op, op === "create" ? "table created" : "table deleted")),
      ...(["insert", "update", "delete"] as const)
        .filter((op) => counts[op] > 0)
        .map((op) => badge(dom, op, dom.formatCountWithNoun(counts[op], op))),
    ),
  );
  const details = h("details", {}, summary);
  details.addEventListener("toggle", () => {
    for (const shown of [...details.children].slice(1)) shown.remove();
    if (details.open) details.append(...renderRows(dom, entry, table, counts));
  });
  return h("li", {}, details);
}

export function renderGap({ h }: Dom, { at, text }: GapEntry): HTMLElement {
  return h("li", { class: "gap" }, h("time", { datetime: at.toISOString() }, timeOf(at)), text);
}

/** The names of the tables that the commit has changed. */
export function tableNamesOf({ counts, tables }: CommitEntry): string[] {
  return [...new Set([...counts.keys(), ...tables.map(({ table }) => table)])];
}

function sumCounts({ counts }: CommitEntry, table: string | undefined): ChangeCounts {
  const sum = { insert: 0, update: 0, delete: 0 };
  for (const [name, count] of counts) {
    if (table !== undefined && name !== table) continue;
    sum.insert += count.insert;
    sum.update += count.update;
    sum.delete += count.delete;
  }
  return sum;
}

function badge({ h }: Dom, kind: string, text: string): HTMLElement {
  return h("span", { class: `badge ${kind}` }, text);
}

function timeOf(at: Date): string {
  const two = (n: number, digits = 2) => String(n).padStart(digits, "0");
  const seconds = `${two(at.getSeconds())}.${two(at.getMilliseconds(), 3)}`;
  return `${two(at.getHours())}:${two(at.getMinutes())}:${seconds}`;
}

// ---- Rows ------------------------------------------------------------------------------------

function renderRows(
  dom: Dom,
  entry: CommitEntry,
  table: string | undefined,
  counts: ChangeCounts,
): HTMLElement[] {
  const { h, formatCount, formatCountWithNoun } = dom;
  const kept = entry.changes.filter((change) => table === undefined || change.table === table);
  const total = counts.insert + counts.update + counts.delete;
  const list = h("ol", { class: "changed-rows" });
  const note = h("p", { class: "muted" });
  const more = h("button", { type: "button", class: "small" });
  let shown = 0;
  const showMore = () => {
    const next = kept.slice(shown, shown + shownAtOnce).map((change) => renderChange(dom, change));
    list.append(...next);
    shown += next.length;
    const rest = kept.length - shown;
    more.textContent = `Show ${formatCount(Math.min(rest, shownAtOnce))} more`;
    more.hidden = rest === 0;
    if (rest === 0 && shown > shownAtOnce) focusOn(next[0]);
  };
  more.addEventListener("click", showMore);
  showMore();
  const lost = total - kept.length;
  if (lost > 0) note.textContent = `The log no longer has ${formatCountWithNoun(lost, "row")}.`;
  else if (total === 0) note.textContent = "No row has changed.";
  note.hidden = note.textContent === "";
  return [list, more, note];
}

// The button that had the focus is gone.
function focusOn(element: HTMLElement | undefined): void {
  if (element === undefined) return;
  element.tabIndex = -1;
  element.focus();
}

function renderChange(dom: Dom, change: Change): HTMLElement {
  const { h } = dom;
  const { op, table, partitionKey, rowKey, before, after } = change;
  const values = propertiesOf(dom, before, after);
  const head = h(
    "p",
    {},
    badge(dom, op, op),
    " ",
    h("code", {}, `${table} ('${partitionKey}', '${rowKey}')`),
  );
  if (values.length === 0) {
    const text = op === "update" ? "No property has changed." : "No properties.";
    return h("li", {}, head, h("p", { class: "muted" }, text));
  }
  const titles = ["Property", ...(before ? ["Before"] : []), ...(after ? ["After"] : [])];
  const rows = values.map(([name, old, now]) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, name),
      ...(before ? [h("td", { class: "before" }, old)] : []),
      ...(after ? [h("td", { class: "after" }, now)] : []),
    ),
  );
  const heads = titles.map((title) => h("th", { scope: "col" }, title));
  const content = h("table", {}, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows));
  return h("li", {}, head, h("div", { class: "values" }, content));
}

type Row = Readonly<Record<string, unknown>>;

// Returns the properties with their values before and after: all of an inserted or deleted row, the
// changed ones of an updated row. Every write changes the ETag and the timestamp.
function propertiesOf(
  { valueText }: Dom,
  before: Row | undefined,
  after: Row | undefined,
): [string, string, string][] {
  const hidden = ["partitionKey", "rowKey", "etag", "timestamp"];
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...names]
    .filter((name) => !hidden.includes(name))
    .filter((name) => !isSame(name, before, after))
    .map((name) => {
      const valueIn = (row: Row | undefined) =>
        row !== undefined && Object.hasOwn(row, name) ? row[name] : undefined;
      return [name, ...differingTexts(valueText, valueIn(before), valueIn(after))];
    });
}

function isSame(name: string, before: Row | undefined, after: Row | undefined): boolean {
  if (before === undefined || after === undefined) return false;
  return (
    Object.hasOwn(before, name) === Object.hasOwn(after, name) &&
    areEqual(before[name], after[name])
  );
}
