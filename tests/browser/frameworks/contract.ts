// What the entries for frameworks must do, whatever the framework. Runs in a page, on an
// application that each framework has its own form of (react.jsx, …): a StoreProvider around parts,
// which are shown in elements with their ids.
//
//   list       the rows of useLive(() => open(store, filter)), with the status and the error
//   query      the rows of useLive(query)
//   entity     the text of useEntity(table, "p", rowKey); default: the store's table "notes"
//   parent     the part `child`, while useLive(() => open(store)) has rows
//   named      the name of the store of useStore(name, options), or its status, or its error
//   suspended  the texts of useSuspenseLive(query), or else of useSuspenseLive(() => open(store),
//              [store, ...queryKey]) (React)
//
// A row is rendered again only when it has changed. rendered.js counts how often each component
// renders, by its id, and rows by "<id> row <row key>".

import type { LiveQuery, Store, Table } from "entitable";

// The entry of the built package.
type Package = typeof import("../../../web/src/index.ts");

interface Note {
  text: string;
}

type Notes = LiveQuery<readonly unknown[]>;

interface Part {
  readonly id: string;
  readonly kind: string;
  readonly [input: string]: unknown;
}

interface Inputs {
  readonly store?: Store | undefined;
  readonly name?: string;
  readonly options?: object;
  readonly parts: readonly Part[];
}

interface Application {
  update(inputs: Inputs): void;
  unmount(): void;
}

export interface Framework {
  mount(
    target: Element,
    inputs: Inputs,
    options?: { isStrict?: boolean; isHydrated?: boolean },
  ): Application;
  readonly hasStrictMode?: boolean;
  readonly hasSuspense?: boolean;
  /** What the server has rendered for serverInputs. */
  readonly html: string;
}

export interface Environment {
  readonly entitable: Package;
  readonly takeRendered: () => Record<string, number>;
  readonly takeShown: () => string[];
}

/** What the server renders, and what is hydrated. Neither has a store. */
export const serverInputs: Inputs = {
  parts: [
    { id: "l", kind: "list", open: () => undefined },
    { id: "e", kind: "entity", table: undefined, rowKey: "1" },
    { id: "n", kind: "named", name: "hydrated", options: { persistence: "memory" } },
  ],
};

export class Contract {
  readonly framework: Framework;
  readonly entitable: Package;
  readonly takeRendered: () => Record<string, number>;
  readonly takeShown: () => string[];
  readonly target: HTMLElement;
  opened = 0;
  closed = 0;
  readonly queries: WeakRef<object>[] = [];
  readonly #applications: Application[] = [];
  readonly #stores: Store[] = [];

  constructor(framework: Framework, { entitable, takeRendered, takeShown }: Environment) {
    this.framework = framework;
    this.entitable = entitable;
    this.takeRendered = takeRendered;
    this.takeShown = takeShown;
    this.target = document.body.appendChild(document.createElement("main"));
    takeRendered();
    takeShown();
  }

  // ---- The application --------------------------------------------------------------------------

  mount(inputs: Inputs, options?: Parameters<Framework["mount"]>[2]): Application {
    const application = this.framework.mount(this.target, inputs, options);
    this.#applications.push(application);
    return application;
  }

  text(selector: string): string {
    const found = [...this.target.querySelectorAll(selector)];
    return found.map(({ textContent }) => textContent).join();
  }

  async shows(selector: string, text: string): Promise<void> {
    await until(
      () => this.text(selector) === text,
      () => `${selector}: ${this.text(selector)}`,
    );
  }

  /** Resolves when what has happened is rendered, to how often components have rendered. */
  async rendered(): Promise<Record<string, number>> {
    await nextFrames();
    return this.takeRendered();
  }

  // ---- Stores and queries -----------------------------------------------------------------------

  /** Opens a store with `count` notes "n1", … in the table "notes". */
  async store(count = 3): Promise<Store> {
    const store = await this.entitable.openStore({ persistence: "memory" });
    this.#stores.push(store);
    const notes = notesOf(store);
    await notes.createTable();
    await notes.bulk(notesFrom(1, count));
    return store;
  }

  /** Opens a live query of all notes that match the filter, or none without a store. */
  readonly open = (store?: Store, filter?: string): Notes | undefined =>
    store && this.#counted(notesOf(store).live({ queryOptions: { filter } }));

  /** Observes all notes that match the filter. */
  readonly observe = (store?: Store, filter?: string): Notes | undefined => {
    const options = { queryOptions: { filter } };
    return store && this.#counted(store.observe((read) => read.entities(notesOf(store), options)));
  };

  table(store: Store): object {
    const notes = notesOf(store);
    return {
      liveEntity: (partitionKey: string, rowKey: string) =>
        this.#counted(notes.liveEntity(partitionKey, rowKey)),
    };
  }

  #counted<Q extends LiveQuery<unknown>>(query: Q): Q {
    const close = query.close.bind(query);
    this.opened += 1;
    this.queries.push(new WeakRef(query));
    query.close = () => {
      this.closed += 1;
      query.close = close;
      close();
    };
    return query;
  }

  async hasOpen(count: number): Promise<void> {
    await until(
      () => this.opened - this.closed === count,
      () => `${this.opened} opened, ${this.closed} closed`,
    );
  }

  async end(): Promise<void> {
    for (const application of this.#applications) application.unmount();
    this.target.remove();
    await this.hasOpen(0);
    for (const store of this.#stores) await store.close();
  }
}

export function notesOf(store: Store): Table<Note> {
  return store.table<Note>("notes");
}

export function notesFrom(first: number, last: number) {
  const keys = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return keys.map((key) => ["upsert", note(key)] as const);
}

export function note(key: number, text = `n${key}`) {
  return { partitionKey: "p", rowKey: String(key), text };
}

async function until(condition: () => boolean, otherwise: () => string): Promise<void> {
  const started = performance.now();
  while (!condition()) {
    if (performance.now() - started > 20_000) throw new Error(otherwise());
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function nextFrames(): Promise<void> {
  for (let frame = 0; frame < 3; ++frame) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Throws unless the values are equal as JSON. */
export function equal(actual: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`expected ${b}, not ${a}`);
}
