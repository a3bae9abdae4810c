// The list of the live queries that are open: what each reads, how often it was changed, and what
// the last change was.

import type { OpenLiveQuery, Store } from "../types.ts";
import type { Dom } from "./dom.ts";

const shownMost = 200;

export class LiveQueryList {
  readonly element: HTMLElement;
  readonly #dom: Dom;
  readonly #body: HTMLElement;
  readonly #scroll: HTMLElement;
  readonly #note: HTMLElement;
  readonly #rows = new Map<number, { element: HTMLElement; text: string }>(); // by id
  constructor(dom: Dom) {
    const { h } = dom;
    this.#dom = dom;
    this.#body = h("tbody");
    this.#note = h("p", { class: "muted" });
    const heads = [
      h("th", { scope: "col" }, "Query"),
      h("th", { scope: "col", class: "number" }, "Rows"),
      h("th", { scope: "col", class: "number" }, "Hits"),
      h("th", { scope: "col" }, "Last delta"),
    ];
    const table = h("table", {}, h("thead", {}, h("tr", {}, ...heads)), this.#body);
    const label = "Live queries";
    const attributes = { class: "scroll queries-scroll", tabindex: "0", role: "region" };
    this.#scroll = h("div", { ...attributes, "aria-label": label }, table);
    const title = h("strong", { class: "title" }, label);
    this.element = h("div", { class: "queries" }, title, this.#scroll, this.#note);
    this.show([]);
  }

  /** Shows the queries of the store, unless `isOutdated()` is true when they were read. */
  async read(store: Store, isOutdated: () => boolean): Promise<void> {
    try {
      const queries = await store.liveQueries();
      if (!isOutdated()) this.show(queries);
    } catch (error) {
      if (!isOutdated()) this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    const { title, text } = this.#dom.describeError(error);
    this.#note.textContent = `${title}: ${text}`;
    this.#note.hidden = false;
  }

  show(queries: readonly OpenLiveQuery[]): void {
    const { formatCount, setChildren } = this.#dom;
    const shown = queries.slice(0, shownMost);
    const ids = new Set(shown.map(({ id }) => id));
    for (const id of this.#rows.keys()) if (!ids.has(id)) this.#rows.delete(id);
    setChildren(
      this.#body,
      shown.map((query) => this.#row(query)),
    );
    const more = queries.length - shown.length;
    this.#note.textContent =
      more > 0 ? `and ${formatCount(more)} more.` : "No live query of this store is open.";
    this.#note.hidden = queries.length > 0 && more === 0;
    this.#scroll.hidden = queries.length === 0;
  }

  // Keeps the row of a query as long as it shows the same.
  #row(query: OpenLiveQuery): HTMLElement {
    const { h, formatCount } = this.#dom;
    const cells = [
      h("td", { class: "query-text" }, ...describeQuery(this.#dom, query)),
      h("td", { class: "number" }, formatCount(query.rowsWatched)),
      h("td", { class: "number hits" }, formatCount(query.hits)),
      h("td", { class: "delta" }, deltaText(this.#dom, query)),
    ];
    const text = cells.map(({ textContent }) => textContent).join("\n");
    const known = this.#rows.get(query.id);
    if (known?.text === text) return known.element;
    const element = known?.element ?? h("tr", { "data-query": query.id });
    element.replaceChildren(...cells);
    this.#rows.set(query.id, { element, text });
    return element;
  }
}

function describeQuery({ h, formatCount }: Dom, query: OpenLiveQuery): Node[] {
  const { kind, tables, filter, select, limit, from, status, warnings } = query;
  const key = from && `('${from.partitionKey}', '${from.rowKey}')`;
  const parts: [string, string | undefined][] = [
    ["filter", filter],
    ["select", select?.join(", ")],
    ["limit", limit === undefined ? undefined : formatCount(limit)],
    [kind === "liveEntity" ? "key" : "from", key],
    ["status", status === "ready" ? undefined : status],
  ];
  const options = parts.flatMap(([name, text]) =>
    text === undefined ? [] : [h("div", {}, `${name} `, h("code", {}, text))],
  );
  const name = h("div", {}, h("strong", {}, tables.join(", ") || "no table"), ` ${kind}`);
  const notes = warnings.map(({ message, help }) =>
    h("div", { class: "muted", title: help }, message),
  );
  return [name, ...options, ...notes];
}

function deltaText({ formatCountWithNoun }: Dom, { kind, hits, lastDelta }: OpenLiveQuery): string {
  if (kind === "observe") return "run again";
  if (lastDelta === undefined) return hits > 0 ? "read again" : "none";
  const { sequence, inserted, updated, deleted } = lastDelta;
  const counts = [
    [inserted, "insert"],
    [updated, "update"],
    [deleted, "delete"],
  ] as const;
  const texts = counts
    .filter(([count]) => count > 0)
    .map(([count, noun]) => formatCountWithNoun(count, noun));
  return `#${sequence}: ${texts.join(", ") || "no difference"}`;
}
