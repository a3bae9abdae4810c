// All dialogs of the explorer. Loaded when the user begins to use the element.

export { openEditDialog, openInsertDialog } from "./explorer-entity-dialog.ts";
export { openExportDialog, openImportDialog } from "./explorer-import-export.ts";
export { openCreateTableDialog, openDeleteTableDialog } from "./explorer-table-dialogs.ts";
