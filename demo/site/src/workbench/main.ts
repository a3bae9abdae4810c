// The workbench: one store, one table of cities, and panels that use only the published package.
import "entitable/explorer";
import { openStore, type Store } from "entitable";
import { formatCount, h } from "../dom.ts";
import { registerOfflineCopy } from "../offline-copy.ts";
import { byId, describeError, formatBytes } from "./dom.ts";
import { ExplorePanel } from "./explore-panel.ts";
import { LoadPanel } from "./load-panel.ts";
import { RollbackPanel } from "./rollback-panel.ts";

async function showFacts(store: Store): Promise<void> {
  const stats = await store.stats();
  byId("fact-rows").textContent = formatCount(stats.rows);
  byId("fact-bytes").textContent = formatBytes(stats.bytes);
  byId("fact-persistence").textContent =
    store.status.persistence === "indexeddb" ? "IndexedDB" : "memory only";
}

function failed(error: unknown): void {
  const { title, text } = describeError(error);
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
  new RollbackPanel(store);

  let wasDone = false;
  const load = new LoadPanel(store, (done) => {
    void showFacts(store);
    if (done && !wasDone) {
      wasDone = true;
      explore.show();
    }
  });
  await load.resumeInterrupted();
}

registerOfflineCopy("../");
start().catch(failed);
