// Insert, change and delete one city. Saves carry the ETag that was read; a conflict is shown, not overwritten.
import type { Store } from "entitable";
import { type City, citiesOf, rowKeyOf } from "./cities.ts";
import { byId, describe, h } from "./dom.ts";
import type { Row } from "./virtual-table.ts";

type Keys = { partitionKey: string; rowKey: string };

const fields: { name: keyof City; label: string; type: "text" | "number"; step?: string }[] = [
  { name: "name", label: "Name", type: "text" },
  { name: "altName", label: "Other name", type: "text" },
  { name: "population", label: "Population", type: "number", step: "1" },
  { name: "adminCode", label: "Region code", type: "text" },
  { name: "latitude", label: "Latitude", type: "number", step: "any" },
  { name: "longitude", label: "Longitude", type: "number", step: "any" },
];

export class EntityDialog {
  #store: Store;
  #changed: () => void;
  #dialog = byId<HTMLDialogElement>("entity-dialog");

  constructor(store: Store, changed: () => void) {
    this.#store = store;
    this.#changed = changed;
  }

  async edit(row: Row): Promise<void> {
    if (row.partitionKey === undefined || row.rowKey === undefined) return; // $select left the keys out
    const keys = { partitionKey: row.partitionKey, rowKey: row.rowKey };
    try {
      const city = await citiesOf(this.#store).getEntity(keys.partitionKey, keys.rowKey);
      this.#show(`${city.name}, ${keys.partitionKey}`, city, keys, city.etag);
    } catch (error) {
      this.#show("This city is gone", undefined, keys, undefined);
      this.#say(describe(error));
    }
  }

  insert(): void {
    this.#show("A new city", undefined, undefined, undefined);
  }

  #show(
    title: string,
    city: Partial<City> | undefined,
    keys: Keys | undefined,
    etag: string | undefined,
  ): void {
    const gone = keys !== undefined && city === undefined;
    const form = h(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          void (keys === undefined ? this.#insert() : this.#save(keys, etag));
        },
      },
      h("h2", { id: "dialog-title" }, title),
      etag === undefined
        ? undefined
        : h("p", { class: "etag mono", id: "dialog-etag" }, `ETag ${etag}`),
      gone
        ? undefined
        : h(
            "div",
            { class: "fields" },
            ...(keys ? [] : [input("country", "Country code (PartitionKey)", "text", "IS")]),
            ...this.#inputs(city),
          ),
      h("div", { class: "error", role: "alert", id: "dialog-error", hidden: true }),
      h(
        "div",
        { class: "actions" },
        etag === undefined
          ? undefined
          : h(
              "button",
              {
                type: "button",
                class: "danger start",
                onclick: () => void this.#remove(keys as Keys, etag),
              },
              "Delete",
            ),
        etag === undefined
          ? undefined
          : h(
              "button",
              { type: "button", id: "rival", onclick: () => void this.#rival(keys as Keys) },
              "Let someone else change it",
            ),
        h("button", { type: "button", onclick: () => this.#dialog.close() }, "Close"),
        gone
          ? undefined
          : h(
              "button",
              { type: "submit", class: "primary", id: "dialog-save" },
              keys === undefined ? "Insert" : "Save",
            ),
      ),
    );
    this.#dialog.replaceChildren(form);
    if (!this.#dialog.open) this.#dialog.showModal();
  }

  #inputs(city: Partial<City> | undefined): HTMLElement[] {
    return fields.map(({ name, label, type, step }) =>
      input(name, label, type, city?.[name], step),
    );
  }

  #read(): Omit<City, "cityId" | "featureCode"> {
    const text = (name: string) =>
      this.#dialog.querySelector<HTMLInputElement>(`[name="${name}"]`)?.value ?? "";
    return {
      name: text("name"),
      altName: text("altName"),
      population: Number(text("population")),
      adminCode: text("adminCode"),
      latitude: Number(text("latitude")),
      longitude: Number(text("longitude")),
    };
  }

  async #insert(): Promise<void> {
    const city = this.#read();
    const country = this.#dialog.querySelector<HTMLInputElement>('[name="country"]')?.value ?? "";
    const cityId = Date.now() % 2 ** 31;
    const keys = { partitionKey: country, rowKey: rowKeyOf(city.population, cityId) };
    await this.#try(() =>
      citiesOf(this.#store).createEntity({ ...keys, ...city, featureCode: "PPL", cityId }),
    );
  }

  async #save(keys: Keys, etag: string | undefined): Promise<void> {
    await this.#try(() =>
      citiesOf(this.#store).updateEntity({ ...keys, ...this.#read() }, "Merge", {
        etag: etag ?? "*",
      }),
    );
  }

  async #remove(keys: Keys, etag: string): Promise<void> {
    await this.#try(() =>
      citiesOf(this.#store).deleteEntity(keys.partitionKey, keys.rowKey, { etag }),
    );
  }

  // Another writer, for the sake of the example: the entity changes and the ETag in this dialog is stale.
  async #rival(keys: Keys): Promise<void> {
    const cities = citiesOf(this.#store);
    try {
      const { population } = await cities.getEntity(keys.partitionKey, keys.rowKey);
      await cities.updateEntity({ ...keys, population: population + 1 }, "Merge");
      this.#say({
        title: "Someone else moved in",
        text: "The population grew by one. Now save or delete with the ETag you read.",
      });
    } catch (error) {
      this.#say(describe(error));
    }
  }

  async #try(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
      this.#dialog.close();
      this.#changed();
    } catch (error) {
      this.#say(describe(error));
    }
  }

  #say({ title, text }: { title: string; text: string }): void {
    const box = this.#dialog.querySelector<HTMLElement>("#dialog-error");
    if (box === null) return;
    box.replaceChildren(h("strong", {}, title), text);
    box.hidden = false;
  }
}

function input(
  name: string,
  label: string,
  type: string,
  value: unknown = "",
  step = "",
): HTMLElement {
  const attributes: Record<string, string | boolean> = {
    name,
    type,
    value: String(value ?? ""),
    ...(step ? { step } : {}),
  };
  if (name !== "altName") attributes["required"] = true;
  return h("label", {}, h("span", {}, label), h("input", attributes));
}
