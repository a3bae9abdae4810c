// The dialog that inserts, edits or deletes one entity. Each property keeps its Edm type. Saving
// and deleting send the ETag that was read, so that changes of others are not overwritten.

import type { EdmTypes, Store, TableEntity } from "../types.ts";
import { h } from "./dom.ts";
import type { PropertySamples } from "./explorer-completion.ts";
import { Dialog, type DialogAction, field, selectBox, showProblem } from "./explorer-dialog.ts";
import {
  edmTypeNames,
  isTyped,
  propertyNameProblem,
  restoreLineEnds,
  type TypedValue,
  valueProblem,
} from "./explorer-values.ts";

export interface EntityEditorContext {
  readonly view: ShadowRoot;
  readonly store: Store;
  readonly table: string;
  readonly seen: PropertySamples;
  /** Called after a write. */
  readonly changed: () => void;
}

interface Keys {
  readonly partitionKey: string;
  readonly rowKey: string;
}

/** Opens a dialog that inserts an entity. */
export function openInsertDialog(context: EntityEditorContext): void {
  new EntityDialog(context, undefined, {}).focus();
}

/**
 * Reads the entity and opens a dialog that edits it. Rejects with the store's error if reading
 * fails.
 */
export async function openEditDialog(context: EntityEditorContext, keys: Keys): Promise<void> {
  new EntityDialog(context, keys, await read(context, keys));
}

async function read(
  { store, table }: EntityEditorContext,
  keys: Keys,
): Promise<Record<string, unknown>> {
  const options = { disableTypeConversion: true };
  return await store.tableClient(table).getEntity(keys.partitionKey, keys.rowKey, options);
}

class EntityDialog {
  readonly #context: EntityEditorContext;
  readonly #keys: Keys | undefined;
  readonly #dialog: Dialog;
  readonly #rows = h("div", { class: "properties" });
  readonly #metadata = h("p", { class: "facts" });
  readonly #partitionKey = h("input", { type: "text", spellcheck: "false", autocomplete: "off" });
  readonly #rowKey = h("input", { type: "text", spellcheck: "false", autocomplete: "off" });
  #properties: PropertyRow[] = [];
  #etag = "";

  constructor(
    context: EntityEditorContext,
    keys: Keys | undefined,
    entity: Record<string, unknown>,
  ) {
    this.#context = context;
    this.#keys = keys;
    const add = h("button", { type: "button", onclick: () => this.#add() }, "Add a property");
    const names = context.seen.names.map((value) => h("option", { value }));
    const content = [
      h(
        "div",
        { class: "keys" },
        field("PartitionKey", this.#partitionKey),
        field("RowKey", this.#rowKey),
      ),
      this.#metadata,
      this.#rows,
      add,
      h("datalist", { id: "known-names" }, ...names),
    ];
    const title = keys === undefined ? `A new entity in ${context.table}` : "Entity";
    this.#dialog = new Dialog(context.view, title, content, this.#actions(false));
    for (const input of [this.#partitionKey, this.#rowKey]) input.readOnly = keys !== undefined;
    this.#show(entity);
  }

  focus(): void {
    this.#partitionKey.focus();
  }

  #actions(conflict: boolean): DialogAction[] {
    if (this.#keys === undefined) {
      return [{ text: "Insert", kind: "primary", act: () => this.#insert() }];
    }
    const reload: DialogAction = { text: "Load the stored version", act: () => this.#reload() };
    return [
      {
        text: "Delete",
        kind: "danger",
        act: () => this.#writeWithConflictCheck(() => this.#delete()),
      },
      ...(conflict ? [reload] : []),
      {
        text: "Save",
        kind: "primary",
        act: () => this.#writeWithConflictCheck(() => this.#save()),
      },
    ];
  }

  #show(entity: Record<string, unknown>): void {
    const { partitionKey, rowKey, timestamp, etag, ...rest } = entity;
    this.#etag = typeof etag === "string" ? etag : "";
    this.#partitionKey.value = String(this.#keys?.partitionKey ?? partitionKey ?? "");
    this.#rowKey.value = String(this.#keys?.rowKey ?? rowKey ?? "");
    this.#metadata.textContent =
      etag === undefined ? "" : `Timestamp ${String(timestamp)} · ETag ${this.#etag}`;
    this.#metadata.hidden = etag === undefined;
    this.#properties = [];
    this.#rows.replaceChildren();
    for (const [name, value] of Object.entries(rest)) {
      if (isTyped(value)) this.#append(new PropertyRow(name, value, (row) => this.#remove(row)));
    }
  }

  #append(row: PropertyRow): void {
    this.#properties.push(row);
    this.#rows.append(row.element);
  }

  #add(): void {
    const row = new PropertyRow("", { type: "String", value: "" }, (gone) => this.#remove(gone));
    row.knowTypes((name) => this.#context.seen.typesOf(name)[0]);
    this.#append(row);
    row.focus();
  }

  #remove(row: PropertyRow): void {
    const at = this.#properties.indexOf(row);
    this.#properties.splice(at, 1);
    row.element.remove();
    const next = this.#properties[Math.min(at, this.#properties.length - 1)];
    if (next !== undefined) next.focus();
    else this.#dialog.element.querySelector<HTMLElement>("button")?.focus();
  }

  // Returns the entity that the fields contain. If a property is invalid, shows its problem and
  // returns undefined.
  #entity(): TableEntity | undefined {
    const entity: TableEntity = Object.create(null);
    entity.partitionKey = this.#partitionKey.value;
    entity.rowKey = this.#rowKey.value;
    let wrong: PropertyRow | undefined;
    for (const row of this.#properties) {
      if (!row.validate(row.name in entity)) wrong ??= row;
      entity[row.name] = row.value;
    }
    wrong?.focusInvalid();
    return wrong === undefined ? entity : undefined;
  }

  async #insert(): Promise<void> {
    const entity = this.#entity();
    if (entity === undefined) return;
    await this.#client().createEntity(entity);
    this.#done();
  }

  async #save(): Promise<void> {
    const entity = this.#entity();
    if (entity === undefined) return;
    await this.#client().updateEntity(entity, "Replace", { etag: this.#etag });
    this.#done();
  }

  async #delete(): Promise<void> {
    const { partitionKey, rowKey } = this.#keys as Keys;
    await this.#client().deleteEntity(partitionKey, rowKey, { etag: this.#etag });
    this.#done();
  }

  // Runs a write and rejects with its error. On a conflict (412), adds a button that loads the
  // stored entity.
  async #writeWithConflictCheck(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      const conflict = (error as { statusCode?: number }).statusCode === 412;
      this.#dialog.setActions(this.#actions(conflict));
      throw error;
    }
  }

  async #reload(): Promise<void> {
    this.#show(await read(this.#context, this.#keys as Keys));
    this.#dialog.setActions(this.#actions(false));
  }

  #client() {
    return this.#context.store.tableClient(this.#context.table);
  }

  #done(): void {
    this.#dialog.close();
    this.#context.changed();
  }
}

// The fields of one property: name, type and value.
class PropertyRow {
  readonly element: HTMLElement;
  readonly #name: HTMLInputElement;
  readonly #type: HTMLSelectElement;
  readonly #value = h("textarea", { rows: "1", spellcheck: "false", autocomplete: "off" });
  readonly #before: string;
  readonly #nameProblem: HTMLElement;
  readonly #valueProblem: HTMLElement;

  constructor(name: string, { type, value }: TypedValue, remove: (row: PropertyRow) => void) {
    this.#name = nameInput();
    this.#name.value = name;
    this.#name.readOnly = name !== "";
    this.#type = selectBox(
      edmTypeNames.map((one) => [one, one] as const),
      type,
    );
    this.#value.value = value;
    this.#before = value;
    const [nameField, typeField, valueField] = [
      field("Name", this.#name),
      field("Type", this.#type),
      field("Value", this.#value),
    ];
    this.#nameProblem = nameField.problem;
    this.#valueProblem = valueField.problem;
    const label = name === "" ? "Remove this property" : `Remove ${name}`;
    this.element = h(
      "div",
      { class: "property", role: "group", "aria-label": name === "" ? "A new property" : name },
      nameField,
      typeField,
      valueField,
      h(
        "button",
        {
          type: "button",
          class: "remove",
          "aria-label": label,
          title: label,
          onclick: () => remove(this),
        },
        "×",
      ),
    );
    this.#value.addEventListener("keydown", (event) => submitOnEnter(event));
  }

  get name(): string {
    return this.#name.value;
  }

  get value(): TypedValue {
    const value = restoreLineEnds(this.#before, this.#value.value);
    const type = this.#type.value as EdmTypes;
    return { type, value: type === "String" ? value : value.trim() };
  }

  /** When the user has entered a name, selects the type that `typeOf` returns for it, if any. */
  knowTypes(typeOf: (name: string) => EdmTypes | undefined): void {
    this.#name.addEventListener("change", () => {
      const type = typeOf(this.name);
      if (type !== undefined) this.#type.value = type;
    });
  }

  focus(): void {
    (this.#name.readOnly ? this.#value : this.#name).focus();
  }

  focusInvalid(): void {
    this.element.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }

  /**
   * Shows what is wrong with the property. `twice`: another property has the same name. Returns
   * whether the property is valid.
   */
  validate(twice: boolean): boolean {
    const problem = twice ? "Another property has this name." : propertyNameProblem(this.name);
    // The name of a stored property cannot be edited, and may be one that new properties cannot
    // have.
    const name = showProblem(
      this.#name,
      this.#nameProblem,
      this.#name.readOnly ? undefined : problem,
    );
    const value = showProblem(this.#value, this.#valueProblem, valueProblem(this.value));
    return name && value;
  }
}

function nameInput(): HTMLInputElement {
  return h("input", {
    type: "text",
    list: "known-names",
    spellcheck: "false",
    autocapitalize: "off",
    autocomplete: "off",
  });
}

// Makes Enter submit the form, as in a single-line field. Shift+Enter inserts a line break.
function submitOnEnter(event: KeyboardEvent): void {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  (event.target as HTMLTextAreaElement).form?.requestSubmit();
}
