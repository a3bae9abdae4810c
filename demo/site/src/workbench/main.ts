// The playground: one store, one table of cities, and panels that use it through the published package only.
import { openStore, type Store } from "entitable";
import { byId, bytes, count, describe, h } from "./dom.ts";
import { EntityDialog } from "./entity-dialog.ts";
import { LoadPanel } from "./load-panel.ts";
import { QueryPanel } from "./query-panel.ts";
import { TransactionPanel } from "./transaction-panel.ts";

async function showFacts(store: Store): Promise<void> {
  const stats = await store.stats();
  byId("fact-rows").textContent = count(stats.rows);
  byId("fact-bytes").textContent = bytes(stats.bytes);
  byId("fact-persistence").textContent =
    store.status.persistence === "indexeddb" ? "IndexedDB" : "memory only";
}

function failed(error: unknown): void {
  const { title, text } = describe(error);
  const hint = (error as { hint?: string }).hint;
  byId("load").replaceChildren(
    h(
      "div",
      { class: "error", role: "alert" },
      h("strong", {}, `The store did not open: ${title}`),
      [text, hint].filter(Boolean).join(" "),
    ),
  );
}

async function start(): Promise<void> {
  const store = await openStore({ name: "cities" });
  const query = new QueryPanel(store, (row) => void dialog.edit(row));
  const refresh = () => {
    void showFacts(store);
    void query.run();
  };
  const dialog = new EntityDialog(store, refresh);
  byId("insert-button").addEventListener("click", () => dialog.insert());
  new TransactionPanel(store);

  let wasDone = false;
  const load = new LoadPanel(store, (done) => {
    void showFacts(store);
    if (done && !wasDone) {
      wasDone = true;
      byId<HTMLInputElement>("filter").value ||= "PartitionKey eq 'JP'";
      void query.run();
    }
  });
  await load.start();
}

start().catch(failed);
