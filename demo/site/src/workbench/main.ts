// The workbench: one store, one table of cities, and panels that use only the published package.
import "entitable/explorer";
import { openStore, type Store } from "entitable";
import { count, h } from "../dom.ts";
import { registerOfflineCopy } from "../offline-copy.ts";
import { byId, bytes, describe } from "./dom.ts";
import { ExplorePanel } from "./explore-panel.ts";
import { LoadPanel } from "./load-panel.ts";
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
  const explore = new ExplorePanel(store, () => void showFacts(store));
  new TransactionPanel(store);

  let wasDone = false;
  const load = new LoadPanel(store, (done) => {
    void showFacts(store);
    if (done && !wasDone) {
      wasDone = true;
      explore.show();
    }
  });
  await load.start();
}

registerOfflineCopy("../");
start().catch(failed);
