// The panel "Changes": the newest commits of a store, and the live queries that are open.

import type { Store } from "../types.ts";
import { ChangeLog, type LogEntry } from "./change-log.ts";
import { renderCommit, renderGap, tableNamesOf } from "./changes-commit.ts";
import { LiveQueryList } from "./changes-queries.ts";
import type { Dom } from "./dom.ts";
import { followFeed } from "./follow-feed.ts";

const everyTable = ""; // the value of the option; no table has this name
const intervalMs = 500; // between reads of the live queries
const readingShare = 0.05; // of the time

export class ChangesPanel {
  readonly element: HTMLElement;
  readonly #log = new ChangeLog();
  readonly #dom: Dom;
  readonly #queries: LiveQueryList;
  readonly #table: HTMLSelectElement;
  readonly #pause: HTMLElement;
  readonly #missedText: HTMLElement;
  readonly #status: HTMLElement;
  readonly #empty: HTMLElement;
  readonly #list: HTMLElement;
  readonly #scroll: HTMLElement; // with the list
  readonly #elements = new Map<LogEntry, HTMLElement>(); // those that are shown
  #storeTables: readonly string[] = [];
  #paused: readonly LogEntry[] | undefined; // what is shown while it is paused
  #missed = 0; // commits since then
  #store: Store | undefined;
  #isClosed = false; // the store is closed
  #stop: (() => void) | undefined; // undefined: the feed was not opened yet
  #isDrawDue = false; // something has changed since the last drawing
  #isDrawScheduled = false;
  #timer: ReturnType<typeof setTimeout> | undefined; // undefined: it is not shown
  #wasConnected = false;
  readonly #onDisconnect: () => void;

  /** `onDisconnect` is called some time after the panel has left its document. */
  constructor(dom: Dom, onDisconnect: () => void = () => {}) {
    const { h } = dom;
    this.#dom = dom;
    this.#onDisconnect = onDisconnect;
    this.#queries = new LiveQueryList(dom);
    this.#table = h("select", { id: "changes-table" });
    this.#pause = h("button", { type: "button", "aria-pressed": "false" }, "Pause");
    this.#missedText = h("span", { class: "missed" });
    this.#status = h("p", { class: "muted", role: "status" });
    this.#empty = h("p", { class: "muted" });
    this.#list = h("ol", { class: "commits" });
    this.#pause.addEventListener("click", () => this.#togglePause());
    this.#table.addEventListener("change", () => this.#redraw());
    const clear = h("button", { type: "button", onclick: () => this.#clear() }, "Clear");
    const bar = h(
      "div",
      { class: "bar" },
      h("strong", { class: "title" }, "Commits"),
      h("label", { for: "changes-table" }, "Table"),
      this.#table,
      this.#missedText,
      this.#pause,
      clear,
    );
    this.#scroll = h(
      "div",
      { class: "scroll commits-scroll", tabindex: "0", role: "region", "aria-label": "Commits" },
      this.#empty,
      this.#list,
    );
    const commits = h("div", {}, bar, this.#status, this.#scroll);
    this.element = h("div", { class: "changes" }, commits, this.#queries.element);
    this.#draw();
  }

  /** The store to follow. Its feed is opened when the panel is first seen. */
  open(store: Store): void {
    if (store === this.#store) return;
    this.close();
    this.#store = store;
  }

  #openFeed(store: Store): void {
    const stop = followFeed(
      store,
      { before: true },
      {
        onOpen: () => this.#say(""),
        onBatch: (batch) => {
          this.#log.add(batch);
          this.#onEntry();
        },
        onInterruption: (error) => this.#onInterruption(error),
        onEnd: () => this.#onEnd(),
      },
    );
    this.#stop = stop;
    void this.#readTables(store);
  }

  /** Follows no store, and shows nothing. */
  close(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.hide();
    this.#store = undefined;
    this.#isClosed = false;
    this.#storeTables = [];
    this.#table.value = everyTable;
    this.#queries.show([]);
    this.#resume();
    this.#clear();
    this.#say("");
  }

  /** Draws what happens, and the live queries, until hide() or close() is called. */
  show(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {}); // update() replaces it
    void this.#update();
  }

  /** The feed is still read. */
  hide(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #update(): Promise<void> {
    this.#checkConnection();
    const [store, timer] = [this.#store, this.#timer];
    if (timer === undefined) return;
    const from = performance.now();
    if (store !== undefined && this.#isSeen) {
      if (this.#stop === undefined) this.#openFeed(store);
      if (this.#isDrawDue) this.#draw();
      if (!this.#isClosed)
        await this.#queries.read(store, () => timer !== this.#timer || this.#isClosed);
    }
    if (timer !== this.#timer) return;
    const ms = (performance.now() - from) / readingShare;
    this.#timer = setTimeout(() => void this.#update(), Math.max(intervalMs, ms));
  }

  // An element that is not displayed, such as one in a tab behind another, has no rectangles.
  get #isSeen(): boolean {
    return !document.hidden && this.element.getClientRects().length > 0;
  }

  #checkConnection(): void {
    const { isConnected } = this.element;
    if (this.#wasConnected && !isConnected) this.#onDisconnect();
    this.#wasConnected = isConnected;
  }

  // ---- The feed -------------------------------------------------------------------------------

  #onEntry(): void {
    this.#checkConnection();
    if (this.#paused !== undefined) this.#missed += 1;
    this.#scheduleDraw();
  }

  #onInterruption(error: unknown): void {
    const { title, text } = this.#dom.describeError(error);
    this.#log.addGap(`${title}: ${text} Commits may be missing before the next one.`);
    this.#say("The feed was interrupted. Trying to open it again.");
    this.#scheduleDraw();
  }

  #onEnd(): void {
    this.#isClosed = true;
    this.#queries.show([]);
    this.#say("The store is closed.");
    this.#scheduleDraw();
  }

  async #readTables(store: Store): Promise<void> {
    const { tables } = await store.stats().catch(() => ({ tables: [] }));
    if (store !== this.#store) return;
    this.#storeTables = tables.map(({ name }) => name);
    this.#scheduleDraw();
  }

  // ---- The controls ---------------------------------------------------------------------------

  #say(text: string): void {
    if (this.#status.textContent !== text) this.#status.textContent = text;
  }

  #togglePause(): void {
    if (this.#paused === undefined) {
      this.#paused = this.#log.pin();
      this.#pause.setAttribute("aria-pressed", "true");
    } else {
      this.#resume();
    }
    this.#draw();
  }

  #resume(): void {
    this.#paused = undefined;
    this.#log.unpin();
    this.#missed = 0;
    this.#pause.setAttribute("aria-pressed", "false");
  }

  #clear(): void {
    this.#log.clear();
    this.#missed = 0;
    if (this.#paused !== undefined) this.#paused = [];
    this.#draw();
  }

  // ---- Drawing --------------------------------------------------------------------------------

  // While the panel is not seen, nothing is drawn.
  #scheduleDraw(): void {
    this.#isDrawDue = true;
    if (this.#isDrawScheduled) return;
    this.#isDrawScheduled = true;
    requestAnimationFrame(() => {
      this.#isDrawScheduled = false;
      if (this.#isDrawDue && this.#timer !== undefined && this.#isSeen) this.#draw();
    });
  }

  #redraw(): void {
    this.#elements.clear();
    this.#draw();
  }

  #draw(): void {
    this.#isDrawDue = false;
    this.#drawTables();
    const table = this.#table.value === everyTable ? undefined : this.#table.value;
    const entries = (this.#paused ?? this.#log.entries).filter(
      (entry) => entry.kind === "gap" || table === undefined || isOf(entry, table),
    );
    const shown = new Set(entries);
    for (const entry of this.#elements.keys()) if (!shown.has(entry)) this.#elements.delete(entry);
    const focused = this.#list.querySelector(":focus");
    this.#dom.setChildren(
      this.#list,
      entries.map((entry) => this.#elementOf(entry, table)).reverse(), // the newest comes first
    );
    if (focused !== null && !this.#list.contains(focused)) this.#scroll.focus();
    this.#list.hidden = entries.length === 0;
    this.#empty.hidden = entries.length > 0;
    this.#empty.textContent = this.#isClosed ? "No commits." : "No commits yet.";
    const missed = this.#dom.formatCountWithNoun(this.#missed, "new commit");
    this.#missedText.textContent = this.#missed > 0 ? missed : "";
  }

  #elementOf(entry: LogEntry, table: string | undefined): HTMLElement {
    const known = this.#elements.get(entry);
    if (known !== undefined) return known;
    const element =
      entry.kind === "gap" ? renderGap(this.#dom, entry) : renderCommit(this.#dom, entry, table);
    this.#elements.set(entry, element);
    return element;
  }

  // The tables of the store, those of the commits, and the chosen one.
  #drawTables(): void {
    const chosen = this.#table.value;
    const inLog = this.#log.entries.flatMap((entry) =>
      entry.kind === "gap" ? [] : tableNamesOf(entry),
    );
    const names = [...new Set([...this.#storeTables, ...inLog, chosen])].sort();
    const wanted = [everyTable, ...names.filter((name) => name !== everyTable)];
    const options = [...this.#table.options];
    if (options.map(({ value }) => value).join("/") === wanted.join("/")) return;
    const { h } = this.#dom;
    this.#table.replaceChildren(
      ...wanted.map((value) => h("option", { value }, value === everyTable ? "All" : value)),
    );
    this.#table.value = chosen;
  }
}

function isOf(entry: LogEntry, table: string): boolean {
  return entry.kind === "commit" && tableNamesOf(entry).includes(table);
}
