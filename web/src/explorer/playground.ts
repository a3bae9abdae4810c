// <table-playground>: code that can be edited and run against a store, with its output and its
// cost.

import { forkWithListener, openMock } from "../testing/mock-store.ts";
import { RequestRecorder } from "../testing/request-recorder.ts";
import type { LoggedRequest, MockOptions, MockStore } from "../testing/types.ts";
import type { Store } from "../types.ts";
import { baseStyles } from "./base-styles.ts";
import {
  type CodeEditor,
  type CodeEditorOptions,
  type CodeSelection,
  CodeView,
} from "./code-view.ts";
import { type Cost, costOf } from "./cost.ts";
import { h } from "./dom.ts";
import { InstrumentedModules, type Modules, type StoreListener } from "./instrumented-modules.ts";
import { prepareCode } from "./live-code.ts";
import { type DisplayOptions, renderCost, renderError, renderValue } from "./output.ts";
import { playgroundStyles } from "./playground-styles.ts";
import { StoreElement } from "./store-element.ts";

export type { CodeEditor, CodeEditorOptions, CodeSelection, Cost, Modules };

/** A run that starts. */
export interface PlaygroundStart {
  /** What the code runs against. A mock store of the element's stays open until the next run, or until the element leaves the page. */
  readonly store: Store | undefined;
  /** That store as it is now, if it is a mock store; open as long. */
  readonly before: MockStore | undefined;
  /**
   * What is asked of it, if it is a mock store of the element's, of its forks, and of mock stores that the code opens: each request as it ends.
   * Those to a mock store that the element was given are there at the end, whoever asked meanwhile.
   */
  readonly requests: readonly LoggedRequest[];
}

interface StartedRun extends PlaygroundStart, StoreListener {
  readonly store: Store;
  /** See `hasUncountedRequests`. */
  hasUnobservedStores(): boolean;
  /** At its end: what was asked by then. */
  all(): readonly LoggedRequest[];
}

/** The result of a run. */
export interface PlaygroundRun extends PlaygroundStart {
  /** Undefined if the run didn't begin, or if what the code runs against is no mock store. */
  readonly cost: Cost | undefined;
  /**
   * The code used stores that openStore opened, its own or the element's. Requests to them are not
   * in the cost.
   */
  readonly hasUncountedRequests: boolean;
  readonly ms: number;
  /** The values that were passed to show(). */
  readonly shown: readonly unknown[];
  /** The error of the code, its setup, or of opening the store. */
  readonly error?: unknown;
}

/** The event that begins a run: "playground-start". It bubbles. */
export type PlaygroundStartEvent = CustomEvent<PlaygroundStart>;

/** The event that ends a run: "playground-run". It bubbles. */
export type PlaygroundRunEvent = CustomEvent<PlaygroundRun>;

/**
 * Attributes: `store`, the name of a store; without it, each run has a mock store of its own (entitable/testing), so runs repeat exactly; it reads as the
 * service does (`scans`), and what that cost is shown. `seed`, of that mock store; `throttle="azure"`: it refuses what is beyond the service's targets. `setup`, the id of an element whose text is code that is run once before, on what every run then begins with. `run`: runs as soon as it is in the
 * page. `label`: what it is called where there are several, for those who hear the page. The code is the element's text. Variables that it finds: `store`; `table(name)`; `show(value, caption?)`, which awaits what it is given and
 * shows lists as tables; `show.counts(value, caption?)`, the same for numbers that were counted: 12,000. Parts: frame, code, bar, run, reset, output, shown, cost, error.
 */
export class TablePlayground extends StoreElement {
  /** The modules that code may import. A page may add to them. */
  static modules: Modules = {
    entitable: () => import("../index.ts"),
    "entitable/testing": () => import("../testing/index.ts"),
  };
  /**
   * Another editor than the element's own text area; called when somebody turns to the code, so that it may be fetched then. If it rejects, the text area stays.
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
  #listener: StoreListener | undefined; // while code runs
  readonly #modules = new InstrumentedModules(() => this.#listener);
  #lastStores: MockStore[] = []; // of the last run

  constructor() {
    super(baseStyles, playgroundStyles);
    this.#runButton.textContent = "Run";
    this.#resetButton.textContent = "Back to the original";
  }

  connectedCallback(): void {
    if (this.#editor !== undefined) return;
    this.#original = textOf(this);
    this.#frame.setAttribute("aria-label", this.getAttribute("label") ?? "Code to run");
    const options = this.#editorOptions(this.#original);
    this.#editor = new CodeView(options);
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
    if (this.hasAttribute("run")) void this.run();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    queueMicrotask(() => {
      if (!this.isConnected) void this.#closeLastStores(); // unless it was only moved
    });
  }

  get code(): string {
    return this.#editor?.value ?? textOf(this);
  }
  set code(code: string) {
    if (this.#editor === undefined) this.textContent = code;
    else this.#editor.value = code;
    this.#changed();
  }

  /** Resets the code to the original. */
  reset(): void {
    this.code = this.#original;
    this.#runButton.focus();
  }

  /** Runs the code. If it is already running, returns that run. Never rejects: see `error`. */
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
      done.catch(() => {}); // whoever doesn't await it hears of it below
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
      const modules = this.#modules.of(TablePlayground.modules);
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
    const all = () => [...requests]; // what is still under way then is not of this run
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
      const prepared = await preparedStore(this.#mockOptions(), this.#setup());
      const store = this.#keepUntilNextRun(forkWithListener(prepared, onRequest));
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

  // Stays until the next run.
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

  // While the other one is fetched, the text area is there; whoever is in it stays where they are, and whoever left it is not brought back.
  async #upgradeEditor(): Promise<void> {
    const make = TablePlayground.editor;
    const before = this.#editor;
    if (make === undefined || !(before instanceof CodeView)) return;
    try {
      const editor = await make(this.#editorOptions(this.#original));
      await before.composed();
      this.#replaceEditor(before, editor);
    } catch (error) {
      // Without a network, say: the text area does as well, and the next time it may be there.
      this.#upgradeOnFocus(before);
      reportError(error);
    }
  }

  #replaceEditor(before: CodeView, editor: CodeEditor): void {
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

function isMock(store: Store): store is MockStore {
  return "fork" in store;
}

// Stores that a setup was run on, for all playgrounds of the page that begin alike: each run has a fork.
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

async function prepare(options: MockOptions, setup: string): Promise<MockStore> {
  const store = await openMock(options, new RequestRecorder()); // no run's
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

// Without the lines and the indent that HTML around it brings.
function textOf(element: Element): string {
  const text = (element.textContent ?? "").replace(/^[ \t]*\n|\s+$/g, "");
  const indents = [...text.matchAll(/^[ \t]*(?=\S)/gm)].map(([indent]) => indent.length);
  const least = Math.min(...indents);
  return Number.isFinite(least) ? text.replace(new RegExp(`^[ \\t]{${least}}`, "gm"), "") : text;
}
