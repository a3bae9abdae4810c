// The explorer on the cities, with example queries and a simulated concurrent writer.
import type { Store } from "entitable";
import type { ExplorerOpenEvent, TableExplorer } from "entitable/explorer";
import { h } from "../dom.ts";
import { cityTable, cityTableHandle, rowKeyOf } from "./cities.ts";
import { byId } from "./dom.ts";

interface Example {
  name: string;
  filter: string;
  select?: string[];
}

const examples: Example[] = [
  {
    name: "Point: Paris",
    filter: `PartitionKey eq 'FR' and RowKey eq '${rowKeyOf(2_138_551, 2_988_507)}'`,
  },
  {
    name: "Range: Brazil over a million",
    filter: "PartitionKey eq 'BR' and RowKey lt '9999000000'",
    select: ["name", "population"],
  },
  { name: "Partition: Japan", filter: "PartitionKey eq 'JP'" },
  { name: "Partition + filter: northern USA", filter: "PartitionKey eq 'US' and latitude gt 60.0" },
  { name: "Two partitions", filter: "PartitionKey eq 'IS' or PartitionKey eq 'LU'" },
  { name: "Countries starting with N", filter: "PartitionKey ge 'N' and PartitionKey lt 'O'" },
  { name: "Table scan: over five million", filter: "population gt 5000000" },
  { name: "Table scan: Springfield", filter: "name eq 'Springfield'" },
  { name: "Syntax error", filter: "PartitionKey eq 'FR' adn name eq 'Lyon'" },
];

export class ExplorePanel {
  readonly #explorer = byId<TableExplorer>("explorer");
  readonly #store: Store;

  constructor(store: Store, changed: () => void) {
    this.#store = store;
    byId("examples").replaceChildren(
      ...examples.map(({ name, filter, select }) =>
        h(
          "button",
          { type: "button", onclick: () => void this.#explorer.runQuery(filter, select) },
          name,
        ),
      ),
    );
    byId("rival").addEventListener("change", () => byId("rival-text").replaceChildren());
    this.#explorer.addEventListener("explorer-change", changed);
    this.#explorer.addEventListener("explorer-open", (event) => {
      if (byId<HTMLInputElement>("rival").checked)
        void this.#editConcurrently(event as ExplorerOpenEvent);
    });
  }

  /** Shows the cities after loading, starting with Japan. */
  show(): void {
    this.#explorer.hidden = false;
    this.#explorer.table = cityTable;
    void this.#explorer.runQuery("PartitionKey eq 'JP'"); // runs once the store is set
    this.#explorer.store = this.#store;
  }

  // Simulates a concurrent writer: changes the entity, so that the ETag in the dialog becomes
  // stale.
  async #editConcurrently({
    detail: { table, partitionKey, rowKey },
  }: ExplorerOpenEvent): Promise<void> {
    if (table !== cityTable) return;
    const cities = cityTableHandle(this.#store);
    const { population } = await cities.getEntity(partitionKey, rowKey);
    await cities.updateEntity({ partitionKey, rowKey, population: population + 1 }, "Merge");
    byId("rival-text").textContent =
      "Another user has changed the population. Now save or delete with the ETag that you read.";
  }
}
