// Steps of a React list that shows a live query while rows are updated.

import { keyOf } from "../peers/workload.ts";
import { load } from "./list-steps.ts";
import type { LiveDatabase } from "./live-adapter.ts";
import { firstRows, idOf, type LiveRow, leastCount, randomBelow, rowAt } from "./workload.ts";

// The part of the packages that is used.
type ReactNode = object;
type FunctionComponent<P = object> = (props: P) => ReactNode;
interface Library {
  createElement(type: unknown, props?: object | null, ...children: unknown[]): ReactNode;
  createRoot(container: Element): { render(node: ReactNode): void; unmount(): void };
  memo<P extends object>(component: FunctionComponent<P>): FunctionComponent<P>;
  useLive(open: () => unknown): { data?: readonly LiveRow[] };
  useSyncExternalStore<T>(subscribe: (notify: () => void) => () => void, get: () => T): T;
}

export interface ReactRun {
  updates: number;
  frames: number;
  ms: number;
}

// live: the rows of a live query. array: an array that is copied for each update, without a
// database. none: an empty list, while the database is updated.
export type ListSource = "live" | "array" | "none";
type UseRows = () => readonly LiveRow[];

export class ReactList {
  readonly #db: LiveDatabase;
  readonly #rows: number;
  #library: Library | undefined;
  #root: ReturnType<Library["createRoot"]> | undefined;
  #update: (i: number, count: number) => unknown = () => {};
  #writing = 0; // updates that are not acknowledged
  #updates = 0;

  constructor(db: LiveDatabase, rows: number) {
    this.#db = db;
    this.#rows = rows;
  }

  async load(): Promise<void> {
    this.#library = (await import("/library/react.js" as string)) as Library;
    await load(this.#db, this.#rows);
  }

  // Shows a list, in which all rows are in the document, or only the first 40 of them if
  // `isWindowed`, as in a list that scrolls virtually.
  async show(source: ListSource, isWindowed: boolean): Promise<void> {
    const library = this.#library as Library;
    this.#update = (i, count) => this.#db.update(keyOf(i), count);
    const useRows = await this.#useRows(library, source);
    const container = document.body.appendChild(document.createElement("ul"));
    container.style.cssText = "height: 600px; overflow: auto; margin: 0";
    this.#root = library.createRoot(container);
    const List = listOf(library, useRows, isWindowed);
    this.#root.render(library.createElement(List));
    const wanted = source === "none" ? 0 : isWindowed ? windowRows : this.#rows;
    while (container.childElementCount < wanted) await nextFrame();
    await new Promise((resolve) => setTimeout(resolve, 500));
  }

  hide(): void {
    this.#root?.unmount();
    document.querySelector("ul")?.remove();
  }

  // Updates rows at this rate, until all updates are acknowledged. Counts frames.
  async run(perSecond: number, ms: number): Promise<ReactRun> {
    const began = performance.now();
    let frames = 0;
    let isOver = false;
    const onFrame = () => {
      frames += 1;
      if (!isOver) requestAnimationFrame(onFrame);
    };
    requestAnimationFrame(onFrame);
    let updates = 0;
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        const elapsed = performance.now() - began;
        // A timer may be late; the rate stays the same.
        const due = (Math.min(elapsed, ms) * perSecond) / 1000;
        for (; updates < due; ++updates) void this.#updateNext();
        if (elapsed < ms || this.#writing > 0) return;
        clearInterval(timer);
        resolve();
      }, 1000 / perSecond);
    });
    isOver = true;
    return { updates, frames, ms: performance.now() - began };
  }

  // Throws unless the list shows an update of its first row.
  async check(): Promise<void> {
    const count = leastCount - 1;
    await this.#update(0, count);
    const text = () => document.querySelector("ul")?.firstElementChild?.textContent ?? "";
    for (const began = performance.now(); !text().endsWith(` ${count}`); await nextFrame())
      if (performance.now() - began > 5000)
        throw new Error(`wrong result: the list shows "${text()}" and not ${count}`);
  }

  async #updateNext(): Promise<void> {
    const update = ++this.#updates;
    this.#writing += 1;
    await this.#update(randomBelow(update, 6, this.#rows), leastCount + update);
    this.#writing -= 1;
  }

  async #useRows(library: Library, source: ListSource): Promise<UseRows> {
    if (source === "none") return () => [];
    if (source === "array") return this.#useArray(library);
    if ("table" in this.#db) {
      const { table } = this.#db as { table: { live(options: object): unknown } };
      const open = () => table.live({ queryOptions: { filter: "PartitionKey lt 'q'" } });
      return () => library.useLive(open).data ?? [];
    }
    let notify = () => {};
    const live = await this.#db.live(firstRows(this.#rows), () => {
      rows = live.read();
      notify();
    });
    let rows = live.read();
    const subscribe = (listener: () => void) => {
      notify = listener;
      return () => {};
    };
    return () => library.useSyncExternalStore(subscribe, () => rows);
  }

  #useArray(library: Library): UseRows {
    let notify = () => {};
    let rows: readonly LiveRow[] = Array.from({ length: this.#rows }, (_, i) => rowAt(i));
    this.#update = (i, count) => {
      rows = rows.with(i, { ...(rows[i] as LiveRow), count });
      notify();
    };
    const subscribe = (listener: () => void) => {
      notify = listener;
      return () => {};
    };
    return () => library.useSyncExternalStore(subscribe, () => rows);
  }
}

const windowRows = 40;
const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));

// A component that shows each row as a memoized component.
function listOf(library: Library, useRows: UseRows, isWindowed: boolean): FunctionComponent {
  const { createElement, memo } = library;
  const Item = memo(({ row }: { row: LiveRow }) =>
    createElement("li", null, `${row.name}, ${row.city}: `, String(row.count)),
  );
  return () => {
    const rows = useRows();
    const shown = isWindowed ? rows.slice(0, windowRows) : rows;
    return shown.map((row) => createElement(Item, { key: idOf(row), row }));
  };
}
