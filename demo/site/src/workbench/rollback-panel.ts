// Runs an entity group transaction that must fail, and checks that it changed nothing.
import type { Store, TableAction } from "entitable";
import { formatCount, h } from "../dom.ts";
import { type City, cityTableHandle, rowKeyOf } from "./cities.ts";
import { byId, describeError } from "./dom.ts";

const country = "IS";

export class RollbackPanel {
  #store: Store;

  constructor(store: Store) {
    this.#store = store;
    byId("transaction-button").addEventListener("click", () => void this.#run());
  }

  async #run(): Promise<void> {
    const result = byId("transaction-result");
    try {
      result.replaceChildren(await this.#attempt());
    } catch (error) {
      const { title, text } = describeError(error);
      result.replaceChildren(h("div", { class: "error" }, h("strong", {}, title), text));
    }
  }

  async #attempt(): Promise<HTMLElement> {
    const cities = cityTableHandle(this.#store);
    const before = await this.#partition();
    const [largest, second] = before;
    if (largest === undefined || second === undefined) {
      return h("p", { class: "numbers" }, "Load the cities first.");
    }
    const key = (rowKey: string) => ({ partitionKey: country, rowKey });
    const city: City = {
      name: "Nýborg",
      altName: "",
      adminCode: "",
      featureCode: "PPL",
      population: 1,
      longitude: 0,
      latitude: 0,
      cityId: 1,
    };
    const actions: TableAction<City>[] = [
      ["create", { ...key(rowKeyOf(1, 1)), ...city }],
      ["update", { ...key(largest.rowKey), population: 0 }, "Merge"],
      ["create", { ...key(second.rowKey), ...city, name: "Already exists" }],
    ];
    let failure: ReturnType<typeof describeError> | undefined;
    try {
      await cities.submitTransaction(actions);
    } catch (error) {
      failure = describeError(error);
    }
    const after = await this.#partition();
    const same = JSON.stringify(before) === JSON.stringify(after);
    const step = (cls: string, text: string) => h("li", { class: cls }, h("span", {}, text));
    return h(
      "ol",
      { class: "steps" },
      step("undone", "Insert Nýborg: rolled back"),
      step("undone", `Set the population of ${largest.name} to 0: rolled back`),
      step(
        "failed",
        `Insert ${second.name} again: ${failure === undefined ? "succeeded unexpectedly" : `${failure.title}, “${failure.text}”`}`,
      ),
      step(
        same ? "ok" : "failed",
        same
          ? `All ${formatCount(after.length)} cities of Iceland are unchanged, including their ETags.`
          : "Something changed. That is a bug: please report it.",
      ),
    );
  }

  async #partition(): Promise<{ rowKey: string; name: string; etag: string }[]> {
    const rows: { rowKey: string; name: string; etag: string }[] = [];
    const filter = `PartitionKey eq '${country}'`;
    for await (const city of cityTableHandle(this.#store).listEntities({
      queryOptions: { filter },
    })) {
      rows.push({ rowKey: city.rowKey ?? "", name: city.name, etag: city.etag });
    }
    return rows;
  }
}
