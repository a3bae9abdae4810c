// The dialogs that create and delete a table.

import type { Store } from "../types.ts";
import { h } from "./dom.ts";
import { Dialog, field } from "./explorer-dialog.ts";

/** Opens a dialog that creates a table. `done` is called after that, with the table's name. */
export function openCreateTableDialog(
  view: ShadowRoot,
  store: Store,
  done: (table: string) => Promise<void>,
): void {
  const name = h("input", { type: "text", spellcheck: "false", autocomplete: "off" });
  const create = async () => {
    await store.serviceClient().createTable(name.value);
    dialog.close();
    await done(name.value);
  };
  const note = "3 to 63 letters and digits, beginning with a letter.";
  const dialog = new Dialog(
    view,
    "A new table",
    [field("Name", name, note)],
    [{ text: "Create", kind: "primary", act: create }],
  );
  name.focus();
}

/** Asks whether to delete a table, and deletes it. `done` is called after that. */
export function openDeleteTableDialog(
  view: ShadowRoot,
  store: Store,
  table: string,
  done: () => Promise<void>,
): void {
  const remove = async () => {
    await store.serviceClient().deleteTable(table);
    dialog.close();
    await done();
  };
  const dialog = new Dialog(
    view,
    `Delete ${table}?`,
    [h("p", {}, "The table and all its entities will be deleted permanently.")],
    [{ text: "Delete the table", kind: "danger", act: remove }],
  );
}
