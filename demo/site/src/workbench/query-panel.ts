// The query form, its plan and its rows.
import type { Explain, Store, TableEntityResult } from "entitable";
import { type City, citiesOf, rowKeyOf } from "./cities.ts";
import { byId, bytes, count, describe, h, milliseconds } from "./dom.ts";
import { type Row, VirtualTable } from "./virtual-table.ts";

interface Example {
  name: string;
  filter: string;
  select?: string;
}

const examples: Example[] = [
  {
    name: "Point: Paris",
    filter: `PartitionKey eq 'FR' and RowKey eq '${rowKeyOf(2_138_551, 2_988_507)}'`,
  },
  {
    name: "Range: Brazil over a million",
    filter: "PartitionKey eq 'BR' and RowKey lt '9999000000'",
    select: "name,population",
  },
  { name: "Partition: Japan", filter: "PartitionKey eq 'JP'" },
  { name: "Partition + filter: northern USA", filter: "PartitionKey eq 'US' and latitude gt 60.0" },
  { name: "Two partitions", filter: "PartitionKey eq 'IS' or PartitionKey eq 'LU'" },
  { name: "Countries N…", filter: "PartitionKey ge 'N' and PartitionKey lt 'O'" },
  { name: "Table scan: over five million", filter: "population gt 5000000" },
  { name: "Table scan: Springfield", filter: "name eq 'Springfield'" },
  { name: "A mistake", filter: "PartitionKey eq 'FR' adn name eq 'Lyon'" },
];

const kindNames: Record<string, string> = {
  empty: "Nothing can match",
  point: "Point query",
  range: "Row range",
  partition: "Partition scan",
  table: "Table scan",
};

type Pages = AsyncIterator<TableEntityResult<City>[] & { continuationToken?: string }>;

export class QueryPanel {
  #store: Store;
  #table: VirtualTable;
  #pages: Pages | undefined;
  #run = 0; // a newer run makes answers of an older one uninteresting

  constructor(store: Store, open: (row: Row) => void) {
    this.#store = store;
    this.#table = new VirtualTable(open);
    byId("grid").replaceChildren(this.#table.element);
    byId("examples").replaceChildren(
      ...examples.map((example) =>
        h("button", { type: "button", onclick: () => this.#use(example) }, example.name),
      ),
    );
    byId("query-form").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.run();
    });
    byId("next-page").addEventListener("click", () => void this.#next());
  }

  #use(example: Example): void {
    byId<HTMLInputElement>("filter").value = example.filter;
    byId<HTMLInputElement>("select").value = example.select ?? "";
    void this.run();
  }

  async run(): Promise<void> {
    const run = ++this.#run;
    const filter = byId<HTMLInputElement>("filter").value.trim();
    const select = byId<HTMLInputElement>("select")
      .value.split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "");
    const maxPageSize = byId<HTMLInputElement>("page-size").valueAsNumber || 200;
    const queryOptions = { ...(filter ? { filter } : {}), ...(select.length ? { select } : {}) };
    byId("query-error").hidden = true;
    byId("query").setAttribute("aria-busy", "true");
    try {
      const cities = citiesOf(this.#store);
      const pages = cities
        .listEntities({ queryOptions })
        .byPage({ maxPageSize })
        [Symbol.asyncIterator]() as Pages;
      const started = performance.now();
      const { value: first, done } = await pages.next();
      const elapsed = performance.now() - started;
      const explain = await cities.explain({ queryOptions });
      const { rows: total } = await this.#store.stats();
      if (run !== this.#run) return;
      this.#pages = pages;
      this.#table.show(
        done ? [] : ([...first] as unknown as Row[]),
        select.length ? asRead(select) : undefined,
      );
      this.#showPlan(explain, elapsed, total);
      this.#showRest(done || first.continuationToken === undefined);
    } catch (error) {
      if (run === this.#run) this.#fail(error);
    } finally {
      if (run === this.#run) byId("query").removeAttribute("aria-busy");
    }
  }

  async #next(): Promise<void> {
    const run = this.#run;
    try {
      const page = await this.#pages?.next();
      if (run !== this.#run || page === undefined) return;
      if (!page.done) this.#table.append(page.value as unknown as Row[]);
      this.#showRest(page.done || page.value.continuationToken === undefined);
    } catch (error) {
      if (run === this.#run) this.#fail(error);
    }
  }

  #showRest(atEnd: boolean | undefined): void {
    byId("results").hidden = false;
    byId<HTMLButtonElement>("next-page").disabled = Boolean(atEnd);
    const shown = this.#table.length;
    byId("results-text").textContent =
      shown === 0
        ? "No entity matches."
        : `${count(shown)} ${shown === 1 ? "entity" : "entities"} shown${atEnd ? ", that is all" : ""}`;
  }

  #showPlan(explain: Explain, elapsed: number, total: number): void {
    const fact = (name: string, value: string, cls = "") =>
      h("div", {}, h("dt", {}, name), h("dd", { class: cls }, value));
    byId("plan").hidden = false;
    byId("plan").replaceChildren(
      h(
        "div",
        {},
        h("dt", {}, "Plan"),
        h("dd", { class: "kind", id: "plan-kind" }, kindNames[explain.kind] ?? explain.kind),
      ),
      fact("Rows read", count(explain.rowsRead)),
      fact("Rows returned", count(explain.rowsReturned)),
      fact("Bytes read", bytes(explain.bytesRead)),
      fact("First page in", milliseconds(elapsed)),
      fact(
        "On the real service",
        `${kindNames[explain.serviceKind] ?? explain.serviceKind}, ${count(explain.serviceRoundTrips)} round trip${explain.serviceRoundTrips === 1 ? "" : "s"}`,
      ),
      meter(explain, total),
      h(
        "div",
        { class: "ranges" },
        h("dt", {}, "Key ranges"),
        h("dd", { class: "mono ranges" }, ranges(explain)),
      ),
      ...explain.warnings.map((warning) =>
        h("p", { class: "note" }, `${warning.message} ${warning.help}`),
      ),
    );
  }

  #fail(error: unknown): void {
    const { title, text } = describe(error);
    const box = byId("query-error");
    const position = /position (\d+) in/.exec(text)?.[1];
    const filter = byId<HTMLInputElement>("filter").value.trim();
    box.replaceChildren(h("strong", {}, title), text);
    if (position !== undefined) {
      box.append(h("pre", {}, `${filter}\n${" ".repeat(Math.max(0, Number(position) - 1))}▲`));
    }
    box.hidden = false;
    byId("plan").hidden = true;
    byId("results").hidden = true;
  }
}

// $select takes the service's names; entities come back with the client's.
function asRead(select: string[]): string[] {
  const names: Record<string, string> = {
    PartitionKey: "partitionKey",
    RowKey: "rowKey",
    Timestamp: "timestamp",
  };
  return select.map((name) => names[name] ?? name);
}

function ranges(explain: Explain): string {
  const shown = explain.ranges.slice(0, 4).map(({ from, to }) => {
    const key = (k: { partitionKey: string; rowKey: string }) =>
      `(${visible(k.partitionKey)}, ${visible(k.rowKey)})`;
    return `${key(from)} … ${to === undefined ? "end" : key(to)}`;
  });
  const more = explain.ranges.length - shown.length;
  return shown.length === 0 ? "none" : shown.join("   ") + (more > 0 ? `   and ${more} more` : "");
}

// The successor of a key is written with U+0000; show it.
const visible = (key: string) => `'${key.replaceAll("\u0000", "␀")}'`;

// How much of the table was read, and how much of that came back.
function meter(explain: Explain, total: number): HTMLElement {
  const box = h("div", {
    class: "meter",
    role: "img",
    "aria-label": `${count(explain.rowsRead)} of ${count(total)} rows read`,
  });
  const width = (rows: number) =>
    total === 0 ? 0 : Math.max(rows === 0 ? 0 : 0.4, (100 * rows) / total);
  box.innerHTML = `<svg viewBox="0 0 100 1" preserveAspectRatio="none"><rect class="read" width="${width(explain.rowsRead)}" height="1"/><rect class="returned" width="${width(explain.rowsReturned)}" height="1"/></svg>`;
  return box;
}
