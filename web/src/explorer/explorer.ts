// The element <table-explorer>: shows, queries, edits, imports and exports the tables of a store.

import type { Sync } from "../start-sync/types.ts";
import type { Store, TableStats } from "../types.ts";
import { baseStyles } from "./base-styles.ts";
import type { ChangesTabs } from "./changes-tab.ts";
import {
  describeError,
  formatCount,
  formatCountWithNoun,
  h,
  setChildren,
  valueText,
} from "./dom.ts";
import type { GridRow } from "./explorer-grid.ts";
import { QueryView, queryOptions } from "./explorer-query.ts";
import { explorerStyles } from "./explorer-styles.ts";
import { TableList } from "./explorer-tables.ts";
import { StoreElement } from "./store-element.ts";

const tablesIntervalMs = 500;

type Dialogs = typeof import("./explorer-dialogs.ts");

let loadedDialogs: Dialogs | undefined;

// Called before the first dialog is opened, so that it appears at once. After that, resolves in a
// microtask: import() takes longer, and keys that are pressed meanwhile would not reach the dialog.
async function loadDialogs(): Promise<Dialogs> {
  loadedDialogs ??= await import("./explorer-dialogs.ts");
  return loadedDialogs;
}

/** The detail of the event "explorer-open": the keys of the opened entity. */
export interface ExplorerOpen {
  readonly table: string;
  readonly partitionKey: string;
  readonly rowKey: string;
}

/** The event "explorer-open". */
export type ExplorerOpenEvent = CustomEvent<ExplorerOpen>;

/** The attributes and properties of <table-explorer> in a framework's templates. */
export interface TableExplorerAttributes {
  store?: Store | string | undefined;
  table?: string | undefined;
  sync?: Sync | undefined;
}

/**
 * The element <table-explorer>, which shows and edits the tables of a store.
 *
 * Attributes: `store`, the name of a store; `table`, the table to show. The property `store` also
 * accepts a Store; the property `sync` is what startSync() has returned for that store.
 *
 * CSS parts: frame, tables, tabs, table, query, run, plan, warnings, error, position, completions,
 * grid, status, next, changes, sync, dialog.
 *
 * Events, which bubble: explorer-open after the user opened an entity; explorer-change after the
 * element wrote to the store.
 */
export class TableExplorer extends StoreElement {
  static override readonly observedAttributes = [...StoreElement.observedAttributes, "table"];

  readonly #tables = new TableList({
    choose: (table) => this.#selectTable(table),
    add: () => this.#addTable(),
    refresh: () => void this.refresh(),
  });
  readonly #query = new QueryView(
    (row) => this.#edit(row),
    () => this.#showTablesSoon(),
  );
  readonly #entitiesView = h("div");
  #changes: ChangesTabs | undefined; // undefined: they are not loaded yet
  readonly #title = h("span", { class: "name" });
  readonly #error = h("div", { class: "error", part: "error", role: "alert", hidden: true });
  readonly #main: HTMLElement;
  readonly #empty: HTMLElement;
  #built = false;
  #tablesTimer: ReturnType<typeof setTimeout> | undefined;
  #table: string | undefined;
  #sync: Sync | undefined;
  #shown: string | undefined; // the table shown last, if it existed
  #loadNumber = 0; // counts loads; responses to an older load are ignored

  constructor() {
    super(baseStyles, explorerStyles);
    const button = (text: string, onclick: () => void, kind = "") =>
      h("button", { type: "button", class: kind, onclick }, text);
    const bar = h(
      "div",
      { class: "bar" },
      this.#title,
      button("Insert…", () => this.#insert()),
      button("Import…", () => this.#import()),
      button("Export…", () => this.#export()),
      button("Delete table…", () => this.#deleteTable(), "danger"),
    );
    this.#main = h(
      "section",
      { class: "table", part: "table", hidden: true },
      bar,
      this.#query.element,
    );
    this.#empty = h(
      "div",
      { class: "empty", hidden: true },
      h("p", {}, "This store has no tables yet."),
      button("Import a file…", () => this.#import()),
    );
    this.#entitiesView.append(this.#empty, this.#main);
    for (const type of ["pointerenter", "focusin"])
      this.addEventListener(type, () => void loadDialogs().catch(() => {}), { once: true });
  }

  connectedCallback(): void {
    if (!this.#built) {
      this.upgradeProperties("store", "table", "sync");
      this.#built = true;
      const rest = h("div", { class: "rest" }, this.#error, this.#entitiesView);
      this.view.append(h("div", { class: "frame", part: "frame" }, this.#tables.element, rest));
    }
    void this.#load();
  }

  protected override storeReleased(): void {
    this.#loadNumber += 1;
    this.#closeFeeds();
    void this.#changes?.showSync(undefined);
  }

  #closeFeeds(): void {
    this.#query.close();
    this.#changes?.panel.close();
    clearTimeout(this.#tablesTimer);
    this.#tablesTimer = undefined;
  }

  override attributeChangedCallback(name: string, old: string | null, value: string | null): void {
    if (name === "table") this.table = value ?? undefined;
    else super.attributeChangedCallback(name, old, value);
  }

  /** The table to show. Undefined: the store's first table. */
  get table(): string | undefined {
    return this.#table;
  }
  set table(name: string | undefined) {
    if (name === this.#table) return;
    this.#table = name;
    if (this.#built && this.isConnected) void this.#load();
  }

  /** The sync of the store, for the tab "Sync". Undefined: there is no such tab. */
  get sync(): Sync | undefined {
    return this.#sync;
  }
  set sync(sync: Sync | undefined) {
    this.#sync = sync || undefined;
    if (this.isConnected && this.store) void this.#changes?.showSync(this.#sync);
  }

  /**
   * Reads the tables, their row counts and the query's rows again. Never rejects; errors are shown.
   */
  async refresh(): Promise<void> {
    if (this.#main.hidden) return await this.#load();
    await this.#attempt(async (store) => {
      await this.#showTables(store);
      if (!this.#main.hidden) await this.#query.run();
    });
  }

  /**
   * Runs a query on the shown table, as if the user had typed the filter and the properties. If no
   * table is shown yet, the query runs when the first table is shown. Never rejects; errors are
   * shown.
   */
  async runQuery(filter: string, select: readonly string[] = []): Promise<void> {
    if (this.#main.hidden) this.#query.setFields(filter, select);
    else await this.#attempt(() => this.#query.runQuery(filter, select));
  }

  protected override storeChanged(): void {
    for (const dialog of this.view.querySelectorAll("dialog")) dialog.close();
    this.#closeFeeds();
    if (this.#built && this.isConnected) void this.#load();
  }

  async #load(): Promise<void> {
    const turn = ++this.#loadNumber;
    if (this.store === undefined) return this.#showNothing();
    await this.#addTabs();
    if (turn !== this.#loadNumber) return;
    void this.#changes?.showSync(this.#sync);
    this.#showChanges();
    await this.#attempt(async (store) => {
      const tables = await this.#showTables(store);
      if (tables === undefined) return;
      const named = (wanted: string | undefined) =>
        tables.find(({ name }) => name.toLowerCase() === wanted?.toLowerCase());
      const table = named(this.#table) ?? named(this.#shown) ?? tables[0];
      if (table === undefined) return void this.#query.followStore(store);
      this.#describe(table);
      await this.#show(store, table.name);
    });
  }

  // Empties the element. No store is opened before the page names one.
  #showNothing(): void {
    void this.#changes?.showSync(undefined);
    this.#tables.show([]);
    this.#main.hidden = true;
    this.#empty.hidden = true;
    this.#error.hidden = true;
  }

  // The feed is read after the tab was selected for the first time. If the store cannot be opened,
  // #load() shows why.
  #showChanges(): void {
    const { tabs, panel } = this.#changes ?? {};
    if (tabs?.selected !== "Changes") panel?.hide();
    if (tabs?.selected !== "Changes" || this.store === undefined) return;
    const turn = this.#loadNumber;
    const show = (store: Store) => {
      if (turn !== this.#loadNumber || tabs.selected !== "Changes") return;
      panel?.open(store);
      panel?.show();
    };
    this.opened().then(show, () => {});
  }

  // Without the script, there is no tab "Changes".
  async #addTabs(): Promise<void> {
    const { addTabs } = await import("./changes-tab.ts").catch(() => ({ addTabs: undefined }));
    const functions = { h, setChildren, formatCount, formatCountWithNoun };
    this.#changes ??= addTabs?.(
      { ...functions, describeError, valueText },
      this.view,
      this.#entitiesView,
      () => this.#showChanges(),
    );
  }

  // Shows tables and row counts after commits, at most twice a second.
  #showTablesSoon(): void {
    this.#tablesTimer ??= setTimeout(() => {
      this.#tablesTimer = undefined;
      if (this.store === undefined || !this.isConnected) return;
      this.opened()
        .then(async (store) => {
          if (this.#main.hidden) await this.#load();
          else await this.#showTables(store);
        })
        .catch(() => {}); // the next read of the user shows why
    }, tablesIntervalMs);
  }

  // Reads and shows the tables and their row counts, and returns them. Returns undefined if a newer
  // load has started.
  async #showTables(store: Store): Promise<TableStats[] | undefined> {
    const turn = this.#loadNumber;
    const { tables } = await store.stats();
    if (turn !== this.#loadNumber) return undefined;
    this.#tables.show(tables);
    const current = tables.find(({ name }) => name === this.#table);
    if (current !== undefined) this.#describe(current);
    this.#empty.hidden = tables.length > 0;
    if (tables.length === 0) {
      this.#main.hidden = true;
      this.#table = undefined;
      this.#tables.mark(undefined);
    }
    return tables;
  }

  #describe({ name, rows }: TableStats): void {
    this.#title.textContent = name;
    this.#query.tableRowCount = rows;
    this.#main.setAttribute(
      "aria-label",
      `${name}, ${formatCountWithNoun(rows, "entity", "entities")}`,
    );
  }

  async #show(store: Store, table: string): Promise<void> {
    this.#table = table;
    this.#shown = table;
    this.#tables.mark(table);
    this.#main.hidden = false;
    this.#empty.hidden = true;
    await this.#query.open(store, table);
  }

  #selectTable(table: string): void {
    this.#table = table;
    this.#changes?.tabs.select("Entities");
    this.#query.reset();
    void this.#load();
  }

  async #attempt(act: (store: Store) => Promise<void> | void): Promise<void> {
    if (this.store === undefined) return;
    const turn = this.#loadNumber;
    try {
      const store = await this.opened();
      if (turn !== this.#loadNumber) return;
      this.#error.hidden = true;
      await act(store);
    } catch (error) {
      if (turn === this.#loadNumber) this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    const { title, text } = describeError(error);
    const again = h("button", { type: "button", onclick: () => void this.#load() }, "Try again");
    this.#error.replaceChildren(h("strong", {}, title), h("p", {}, text), again);
    this.#error.hidden = false;
  }

  #editing(store: Store, table: string) {
    return {
      view: this.view,
      store,
      table,
      seen: this.#query.seen,
      changed: () => {
        this.#changed();
        this.#showTablesSoon();
        this.#query.readAgain();
      },
    };
  }

  #changed(): void {
    this.dispatchEvent(new CustomEvent("explorer-change", { bubbles: true }));
  }

  // ---- Dialogs --------------------------------------------------------------------------------

  // Does nothing if a dialog was opened, or the store or the table was changed, while the script
  // was loaded.
  async #openDialog(open: (dialogs: Dialogs, store: Store) => Promise<void> | void): Promise<void> {
    const turn = this.#loadNumber;
    await this.#attempt(async (store) => {
      const dialogs = await loadDialogs();
      const isOpen = this.view.querySelector("dialog[open]") !== null;
      if (!isOpen && turn === this.#loadNumber) await open(dialogs, store);
    });
  }

  // As #openDialog(), if a table is shown.
  #openDialogOfTable(
    open: (dialogs: Dialogs, store: Store, table: string) => Promise<void> | void,
  ): void {
    const table = this.#table;
    if (table !== undefined) void this.#openDialog((dialogs, store) => open(dialogs, store, table));
  }

  #insert(): void {
    this.#openDialogOfTable(({ openInsertDialog }, store, table) =>
      openInsertDialog(this.#editing(store, table)),
    );
  }

  #edit({ partitionKey, rowKey }: GridRow): void {
    if (partitionKey === undefined || rowKey === undefined) return; // rows are read with their keys
    this.#openDialogOfTable(async ({ openEditDialog }, store, table) => {
      await openEditDialog(this.#editing(store, table), { partitionKey, rowKey });
      const detail: ExplorerOpen = { table, partitionKey, rowKey };
      this.dispatchEvent(new CustomEvent("explorer-open", { detail, bubbles: true }));
    });
  }

  #export(): void {
    this.#openDialogOfTable(({ openExportDialog }, store, table) =>
      openExportDialog(this.view, store, table, queryOptions(this.#query.lastQuery)),
    );
  }

  #import(): void {
    void this.#openDialog(({ openImportDialog }, store) =>
      openImportDialog(this.view, store, this.#table ?? "", (table, written) => {
        if (written) this.#changed();
        if (table === this.#table) return void this.refresh();
        this.#table = table;
        void this.#load();
      }),
    );
  }

  #addTable(): void {
    void this.#openDialog(({ openCreateTableDialog }, store) =>
      openCreateTableDialog(this.view, store, async (table) => {
        this.#changed();
        this.#table = table;
        this.#changes?.tabs.select("Entities");
        await this.#load();
      }),
    );
  }

  #deleteTable(): void {
    this.#openDialogOfTable(({ openDeleteTableDialog }, store, table) =>
      openDeleteTableDialog(this.view, store, table, async () => {
        this.#changed();
        this.#table = undefined;
        await this.#load();
      }),
    );
  }
}
