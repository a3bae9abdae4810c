// The element <table-playground>: code that the user can edit and run against a store, with its
// output and its cost.

import type { LoggedRequest, MockOptions, MockStore } from "../testing/types.ts";
import type { Store } from "../types.ts";
import { inMicrotask } from "../util/event-loop.ts";
import { baseStyles } from "./base-styles.ts";
import { h } from "./dom.ts";
import { ModuleInstrumenter, type Modules, type StoreListener } from "./instrumented-modules.ts";
import { prepareCode } from "./live-code.ts";
import {
  type CodeEditor,
  type CodeEditorOptions,
  type CodeSelection,
  TextAreaCodeEditor,
} from "./playground-editor.ts";
import { playgroundStyles } from "./playground-styles.ts";
import { type Cost, costOf } from "./run-cost.ts";
import { type DisplayOptions, renderCost, renderError, renderValue } from "./run-output.ts";
import { StoreElement } from "./store-element.ts";

export type { CodeEditor, CodeEditorOptions, CodeSelection, Cost, Modules };

/** The detail of the event "playground-start". */
export interface PlaygroundStart {
  /**
   * The store that the code runs against. A store that the element created stays open until the
   * next run, or until the element leaves the page.
   */
  readonly store: Store | undefined;
  /** If `store` is a mock store: a fork from before the run, which is open as long as `store`. */
  readonly before: MockStore | undefined;
  /**
   * The requests of the run; each is added when it ends. They include requests to the mock store
   * that the element created, to its forks, and to mock stores that the code opens. Requests to a
   * mock store that the page supplied are added when the run ends, and include those of other code.
   */
  readonly requests: readonly LoggedRequest[];
}

interface StartedRun extends PlaygroundStart, StoreListener {
  readonly store: Store;
  /** Whether the run used stores whose requests are not logged (see `hasUncountedRequests`). */
  hasUnobservedStores(): boolean;
  /** Returns the requests that have ended so far. */
  all(): readonly LoggedRequest[];
}

/** The detail of the event "playground-run": the result of a run. */
export interface PlaygroundRun extends PlaygroundStart {
  /** undefined if the run failed to start, or if `store` is not a mock store. */
  readonly cost: Cost | undefined;
  /**
   * Whether `cost` lacks requests: those to stores that openStore() opened, called either by the
   * code or by the element.
   */
  readonly hasUncountedRequests: boolean;
  readonly ms: number;
  /** The values that were passed to show(). */
  readonly shown: readonly unknown[];
  /** The error that the code, its setup or opening the store threw. */
  readonly error?: unknown;
}

/** The event "playground-start" at the start of a run. It bubbles. */
export type PlaygroundStartEvent = CustomEvent<PlaygroundStart>;

/** The event "playground-run" at the end of a run. It bubbles. */
export type PlaygroundRunEvent = CustomEvent<PlaygroundRun>;

/** The attributes and properties of <table-playground> in a framework's templates. */
export interface TablePlaygroundAttributes {
  run?: boolean | "" | undefined;
  store?: Store | string | undefined;
  seed?: number | string | undefined;
  throttle?: "azure" | undefined;
  setup?: string | undefined;
  label?: string | undefined;
}

/**
 * The element <table-playground>: its text is code that the user can edit and run.
 *
 * Attributes:
 * - `store`: the name of a store. Without it, each run has its own mock store (entitable/testing),
 *   so every run has the same result. The mock store reads like the service (`scans: "azure"`), and
 *   the element shows what the run would cost there.
 * - `seed`: the seed of the mock store's random values.
 * - `throttle="azure"`: the mock store rejects requests beyond the service's scalability targets.
 * - `setup`: the id of an element whose text is setup code. The setup code runs once; every run
 *   starts with the data that it wrote.
 * - `run`: runs the code as soon as the element is in the page, unless its value is "false", which
 *   Vue writes for `:run="false"` before the element's class is defined.
 * - `label`: the accessible name, for pages with several playgrounds.
 *
 * The code can use `store` and `table(name)`. `show(value, caption?)` awaits a value and shows it;
 * a list is shown as a table. `show.counts(value, caption?)` also formats numbers with thousands
 * separators.
 *
 * CSS parts: frame, code, bar, run, reset, output, shown, cost, error.
 */
export class TablePlayground extends StoreElement {
  /** The modules that code may import. A page may add to them. */
  static modules: Modules = {
    entitable: () => import("../index.ts"),
    "entitable/testing": () => import("../testing/index.ts"),
  };
  /**
   * Creates an editor that replaces the element's text area. It is called when the code first gets
   * the focus, so a page does not have to load the editor before. If it rejects, the text area
   * stays.
   */
  static editor: ((options: CodeEditorOptions) => Promise<CodeEditor>) | undefined;

  #original = "";
  #editor: CodeEditor | undefined;
  readonly #frame = h("div", { class: "frame", part: "frame", role: "group" });
  readonly #status = h("span", { role: "status" });
  readonly #output = h("div", { class: "output", part: "output" });
  readonly #runButton = h("button", {
    type: "button",
    class: "primary",
    part: "run",
    onclick: () => void this.run(),
  });
  readonly #resetButton = h("button", {
    type: "button",
    part: "reset",
    hidden: true,
    onclick: () => this.reset(),
  });
  #running: Promise<PlaygroundRun> | undefined;
  #listener: StoreListener | undefined; // the observer of the current run's stores
  readonly #modules = new ModuleInstrumenter(() => this.#listener);
  #lastStores: MockStore[] = []; // of the last run

  constructor() {
    super(baseStyles, playgroundStyles);
    this.#runButton.textContent = "Run";
    this.#resetButton.textContent = "Back to the original";
  }

  connectedCallback(): void {
    if (this.#editor !== undefined) return;
    this.upgradeProperties("store", "code", "run");
    this.#original = textOf(this);
    this.#frame.setAttribute("aria-label", this.getAttribute("label") ?? "Code to run");
    const options = this.#editorOptions(this.#original);
    this.#editor = new TextAreaCodeEditor(options);
    const bar = h(
      "div",
      { class: "bar", part: "bar" },
      this.#runButton,
      this.#resetButton,
      this.#status,
    );
    this.#frame.append(this.#editor.element, bar, this.#output);
    this.view.append(this.#frame);
    this.#upgradeOnFocus(this.#editor);
    if ((this.getAttribute("run") ?? "false") !== "false") void this.run();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    inMicrotask(() => {
      // If it is connected again, the element was only moved.
      if (!this.isConnected) void this.#closeLastStores();
    });
  }

  get code(): string {
    return this.#editor?.value ?? textOf(this);
  }
  set code(code: string) {
    if (this.#editor === undefined) {
      this.textContent = code; // the original
      return;
    }
    this.#editor.value = code;
    this.#changed();
  }

  /** Restores the original code. */
  reset(): void {
    this.code = this.#original;
    this.#runButton.focus();
  }

  /**
   * Runs the code and resolves to the result. If the code is already running, returns the same run.
   * Never rejects: the result has the `error`.
   */
  run(): Promise<PlaygroundRun> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #run(): Promise<PlaygroundRun> {
    this.#runButton.setAttribute("aria-disabled", "true"); // `disabled` would lose the focus
    this.#frame.setAttribute("aria-busy", "true");
    this.#status.textContent = "Running…";
    const displayOptions: DisplayOptions[] = [];
    const result = await this.#attempt(displayOptions);
    const views = result.shown.map((value, index) => renderValue(value, displayOptions[index]));
    if (result.error !== undefined) views.push(renderError(result.error));
    this.#output.replaceChildren(...renderCost(result), ...views);
    this.#status.textContent = result.error === undefined ? "Done." : "Failed.";
    this.#frame.removeAttribute("aria-busy");
    this.#runButton.removeAttribute("aria-disabled");
    this.dispatchEvent(new CustomEvent("playground-run", { detail: result, bubbles: true }));
    return result;
  }

  async #attempt(displayOptions: DisplayOptions[]): Promise<PlaygroundRun> {
    const shown: unknown[] = [];
    const pending: Promise<void>[] = [];
    const put = (value: unknown, display: DisplayOptions) => {
      const index = displayOptions.push(display) - 1;
      shown[index] = undefined;
      const done = awaitRows(value).then((resolved) => {
        shown[index] = resolved;
      });
      // Promise.all(pending) reports the error if the code did not await show()
      done.catch(() => {});
      pending.push(done);
      return done;
    };
    const show = Object.assign((value: unknown, caption?: string) => put(value, { caption }), {
      counts: (value: unknown, caption?: string) => put(value, { caption, isCounted: true }),
    });
    let startedRun: StartedRun | undefined;
    let started = performance.now();
    let error: unknown;
    try {
      startedRun = await this.#startRun();
      const { store } = startedRun;
      const modules = this.#modules.instrumentAll(TablePlayground.modules);
      const bindings = { store, table: (name: string) => store.table(name), show };
      this.dispatchEvent(
        new CustomEvent("playground-start", { detail: startedRun, bubbles: true }),
      );
      const main = await prepareCode(this.code, Object.keys(bindings), modules);
      this.#listener = startedRun;
      started = performance.now();
      await main(bindings);
      await Promise.all(pending);
    } catch (thrown) {
      error = thrown ?? new Error(String(thrown));
    } finally {
      this.#listener = undefined;
    }
    const ms = performance.now() - started;
    const { store, before, all } = startedRun ?? {};
    const requests = all?.() ?? [];
    const hasUncountedRequests = startedRun?.hasUnobservedStores() ?? false;
    const cost = before && (await costOf(before, requests));
    const failure = error === undefined ? {} : { error };
    return { store, before, requests, cost, hasUncountedRequests, ms, shown, ...failure };
  }

  // ---- Stores ----------------------------------------------------------------------------------

  async #startRun(): Promise<StartedRun> {
    await this.#closeLastStores();
    const requests: LoggedRequest[] = [];
    const onRequest = (request: LoggedRequest) => void requests.push(request);
    const all = () => [...requests]; // a copy, because requests that end after the run do not count
    let hasUnobservedStores = false;
    const onUnobservedStore = () => {
      hasUnobservedStores = true;
    };
    const common = {
      requests,
      onRequest,
      onUnobservedStore,
      hasUnobservedStores: () => hasUnobservedStores,
    };
    if (this.store === undefined) {
      const { forkWithRequestListener } = await loadMockStore();
      const prepared = await preparedStore(this.#mockOptions(), this.#setup());
      const store = this.#keepUntilNextRun(forkWithRequestListener(prepared, onRequest));
      return { ...common, store, before: this.#keepUntilNextRun(prepared.fork()), all };
    }
    const store = await this.opened();
    await this.#prepareOnce(store);
    if (!isMock(store)) {
      onUnobservedStore();
      return { ...common, store, before: undefined, all };
    }
    const earlier = new Set(store.requests.all());
    const own = () => store.requests.all().filter((request) => !earlier.has(request));
    const both = () => [...own(), ...requests];
    return { ...common, store, before: this.#keepUntilNextRun(store.fork()), all: both };
  }

  // Keeps a store open until the next run.
  #keepUntilNextRun(store: MockStore): MockStore {
    this.#lastStores.push(store);
    return store;
  }

  async #closeLastStores(): Promise<void> {
    const last = this.#lastStores;
    this.#lastStores = [];
    await Promise.all(last.map((store) => store.close()));
  }

  #mockOptions(): MockOptions {
    const seed = Number(this.getAttribute("seed") ?? 1);
    const throttle = this.getAttribute("throttle") === "azure" ? "azure" : undefined;
    return { seed, scans: "azure", throttle };
  }

  #prepared: Store | undefined;

  async #prepareOnce(store: Store): Promise<void> {
    if (this.#prepared === store) return;
    await runSetup(this.#setup(), store);
    this.#prepared = store;
  }

  #setup(): string {
    const id = this.getAttribute("setup");
    if (id === null) return "";
    const element = (this.getRootNode() as Document | ShadowRoot).getElementById(id);
    if (element === null) throw new Error(`There is no element with the id "${id}".`);
    return textOf(element);
  }

  // ---- Editing ---------------------------------------------------------------------------------

  #editorOptions(value: string): CodeEditorOptions {
    const root = this.view;
    return { value, root, onChange: () => this.#changed(), onRun: () => void this.run() };
  }

  #changed(): void {
    this.#resetButton.hidden = this.code === this.#original;
  }

  #upgradeOnFocus({ element }: CodeEditor): void {
    element.addEventListener("focusin", () => void this.#upgradeEditor(), { once: true });
  }

  // Replaces the text area by the page's editor. The user can type until the editor is there, and
  // the editor takes over the caret and the focus.
  async #upgradeEditor(): Promise<void> {
    const make = TablePlayground.editor;
    const before = this.#editor;
    if (make === undefined || !(before instanceof TextAreaCodeEditor)) return;
    try {
      const editor = await make(this.#editorOptions(this.#original));
      await before.whenNotComposing();
      this.#replaceEditor(before, editor);
    } catch (error) {
      // The editor could not be loaded, for example without a network. The next focus tries again.
      this.#upgradeOnFocus(before);
      reportError(error);
    }
  }

  #replaceEditor(before: TextAreaCodeEditor, editor: CodeEditor): void {
    if (editor.value !== before.value) editor.value = before.value;
    const { selection, element } = before;
    const { scrollTop } = element;
    const hadFocus = element.contains(this.view.activeElement);
    this.#editor = editor;
    element.replaceWith(editor.element);
    editor.element.scrollTop = scrollTop;
    if ("selection" in editor) editor.selection = selection;
    if (!hadFocus) return;
    if (editor.focus !== undefined) editor.focus();
    else editor.element.focus();
  }
}

// Frameworks set a property where there is one of an attribute's name. For `run`, that is the
// method run(): it stays, and the value becomes the attribute.
const { run } = TablePlayground.prototype;
Object.defineProperty(TablePlayground.prototype, "run", {
  configurable: true,
  get: () => run,
  set(this: TablePlayground, value: unknown) {
    // An empty attribute is present. But once the element was in the page, "" is how Preact removes
    // a property.
    const wasShown = this.shadowRoot?.hasChildNodes();
    const isPresent = value === "" ? !wasShown : Boolean(value) && value !== "false";
    this.toggleAttribute("run", isPresent);
  },
});

function isMock(store: Store): store is MockStore {
  return "fork" in store;
}

// Mock stores on which setup code has run, by their options and setup code. The playgrounds of a
// page share them; each run gets a fork.
const preparedStores = new Map<string, Promise<MockStore>>();

function preparedStore(options: MockOptions, setup: string): Promise<MockStore> {
  const key = `${JSON.stringify(options)}\n${setup}`;
  let prepared = preparedStores.get(key);
  if (prepared === undefined) {
    prepared = prepare(options, setup);
    preparedStores.set(key, prepared);
    prepared.catch(() => preparedStores.delete(key));
  }
  return prepared;
}

// With the first run, because a page may have many elements of which none is used.
const loadMockStore = () => import("../testing/mock-store.ts");

async function prepare(options: MockOptions, setup: string): Promise<MockStore> {
  const { openUnloggedMock } = await loadMockStore();
  const store = await openUnloggedMock(options);
  await runSetup(setup, store);
  return store;
}

async function runSetup(setup: string, store: Store): Promise<void> {
  if (setup.trim() === "") return;
  const bindings = { store, table: (name: string) => store.table(name) };
  const main = await prepareCode(setup, Object.keys(bindings), TablePlayground.modules);
  await main(bindings);
}

async function awaitRows(value: unknown): Promise<unknown> {
  const resolved = await value;
  if (typeof resolved !== "object" || resolved === null) return resolved;
  if (!(Symbol.asyncIterator in resolved)) return resolved;
  const rows: unknown[] = [];
  for await (const row of resolved as AsyncIterable<unknown>) rows.push(row);
  return rows;
}

// Returns an element's text without the blank lines and the indentation of the surrounding HTML.
function textOf(element: Element): string {
  const text = (element.textContent ?? "").replace(/^[ \t]*\n|\s+$/g, "");
  const indents = [...text.matchAll(/^[ \t]*(?=\S)/gm)].map(([indent]) => indent.length);
  const least = Math.min(...indents);
  return Number.isFinite(least) ? text.replace(new RegExp(`^[ \\t]{${least}}`, "gm"), "") : text;
}
