// The card that loads the cities, with progress, rate, pause, resume, and deleting everything.
import { deleteStore, type Store } from "entitable";
import { formatCount, h } from "../dom.ts";
import { cityTable } from "./cities.ts";
import { CityLoader, type CityLoadProgress } from "./city-loader.ts";
import { byId, describeError } from "./dom.ts";

export class LoadPanel {
  #store: Store;
  #loader: CityLoader | undefined;
  #changed: (done: boolean) => void;

  constructor(store: Store, changed: (done: boolean) => void) {
    this.#store = store;
    this.#changed = changed;
    byId("load-button").addEventListener("click", () => void this.#press());
    byId("clear-button").addEventListener("click", () => void this.#clear());
  }

  // Resumes a load that was interrupted by closing the page.
  async resumeInterrupted(): Promise<void> {
    const { tables } = await this.#store.stats();
    const rows = tables.find((table) => table.name === cityTable)?.rows ?? 0;
    const complete = await CityLoader.isComplete(this.#store);
    byId<HTMLButtonElement>("load-button").disabled = false;
    if (complete) this.#done(rows);
    else if (rows > 0) await this.#press();
    this.#changed(complete);
  }

  async #press(): Promise<void> {
    if (this.#loader !== undefined) {
      if (this.#loader.paused) this.#loader.resume();
      else this.#loader.pause();
      return;
    }
    byId("load-progress").hidden = false;
    this.#loader = new CityLoader(this.#store, (progress) => this.#show(progress));
    try {
      await this.#loader.run();
    } catch (error) {
      this.#fail(error);
      this.#loader = undefined;
      byId("load-button").textContent = "Try again";
    }
  }

  #show({ stored, total, perSecond, state }: CityLoadProgress): void {
    byId<HTMLProgressElement>("load-bar").value = stored / total;
    byId("load-numbers").textContent =
      `${formatCount(stored)} of ${formatCount(total)} cities stored` +
      (state === "loading"
        ? `, ${formatCount(Math.round(perSecond))} a second`
        : state === "paused"
          ? ", paused"
          : "");
    byId("load-button").textContent = state === "paused" ? "Resume" : "Pause";
    this.#changed(state === "done");
    if (state === "done") this.#done(stored);
  }

  #done(rows: number): void {
    byId("load-button").hidden = true;
    byId("clear-button").hidden = false;
    byId("load-text").textContent =
      `${formatCount(rows)} cities are stored in this browser and survive a reload. Each country is a partition; its cities are sorted from the largest to the smallest.`;
  }

  async #clear(): Promise<void> {
    byId<HTMLButtonElement>("clear-button").disabled = true;
    const { name } = this.#store;
    try {
      await this.#store.close();
      await deleteStore(name);
      location.reload();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    const { title, text } = describeError(error);
    byId("load-progress").hidden = false;
    byId("load-numbers").replaceChildren(h("span", { class: "error" }, `${title}: ${text}`));
  }
}
