// Tests how the explorer keeps its rows up to date, with a view that has no elements.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import type { GridRow, RowUpdate } from "../../../web/src/explorer/explorer-grid.ts";
import { queryOptions, type RowPages } from "../../../web/src/explorer/explorer-query.ts";
import { RowUpdater, type UpdatedView } from "../../../web/src/explorer/row-updater.ts";
import { mockStore } from "../../../web/src/testing/index.ts";
import type { Store } from "../../../web/src/types.ts";
import { openStore } from "../support/package.ts";
import { until } from "../support/until.ts";

// Shows the rows of the table "lamps", as the explorer does.
class View implements UpdatedView {
  readonly #store: Store;
  readonly #pages: RowPages;
  query: UpdatedView["query"] = { filter: "", select: [] };
  isReading = false;
  readNumber = 0;
  rows: readonly GridRow[] = [];
  nextToken: string | undefined;
  runs = 0;
  commits = 0;
  readonly problems: string[] = [];
  /** How many reads with pages of 1000 rows are to fail. */
  failures = 0;
  /** Called before a page of 1000 rows is read. */
  beforePage: () => Promise<void> = async () => {};

  constructor(store: Store, pageSize: number) {
    this.#store = store;
    this.#pages = this.#list(pageSize);
  }

  async nextPage(): Promise<void> {
    this.isReading = true;
    this.readNumber += 1;
    const { value } = await this.#pages.next();
    this.rows = [...this.rows, ...(value as GridRow[])];
    this.nextToken = value?.continuationToken;
    this.isReading = false;
  }

  pages(maxPageSize: number, filter?: string): RowPages {
    const pages = this.#list(maxPageSize, filter);
    if (maxPageSize === 1) return pages;
    const next = pages.next.bind(pages);
    pages.next = async () => {
      await this.beforePage();
      if (this.failures > 0) {
        this.failures -= 1;
        throw Object.assign(new Error("no memory"), { code: "StorageFailed" });
      }
      return await next();
    };
    return pages;
  }

  #list(maxPageSize: number, filter = ""): RowPages {
    const query = { queryOptions: queryOptions({ filter, select: [] }) };
    const table = this.#store.table("lamps");
    return table.listEntities({ ...query, disableTypeConversion: true }).byPage({ maxPageSize });
  }

  update({ rows }: RowUpdate): readonly HTMLElement[] {
    this.rows = rows;
    return [];
  }
  onCommit(): void {
    this.commits += 1;
  }
  runAgain(): void {
    this.runs += 1;
  }
  showProblem(error: unknown): void {
    this.problems.push(error === undefined ? "" : (error as Error).message);
  }

  get problem(): string {
    return this.problems.at(-1) ?? "";
  }
  get keys(): string[] {
    return this.rows.map(({ rowKey }) => rowKey as string);
  }
  stockOf(rowKey: string): string | undefined {
    const row = this.rows.find((row) => row.rowKey === rowKey);
    return (row?.["stock"] as { value: string } | undefined)?.value;
  }
}

const key = (number: number) => ({
  partitionKey: "desk",
  rowKey: String(number).padStart(5, "0"),
});

async function fill(store: Store, count: number): Promise<void> {
  await store.table("lamps").createTable();
  for (let i = 0; i < count; i += 100) {
    const numbers = Array.from({ length: Math.min(100, count - i) }, (_, n) => 2 * (i + n));
    await store
      .table("lamps")
      .submitTransaction(numbers.map((n) => ["create", { ...key(n), stock: 0 }]));
  }
}

before(() => {
  globalThis.requestAnimationFrame = (callback) => setTimeout(() => callback(0), 0) as never;
});
after(() => {
  delete (globalThis as Partial<typeof globalThis>).requestAnimationFrame;
});

describe("following the rows of a table", () => {
  let store: Store;
  let view: View;
  let updater: RowUpdater;
  const put = (number: number, stock: number) =>
    store.table("lamps").upsertEntity({ ...key(number), stock }, "Replace");
  const remove = (number: number) => {
    const { partitionKey, rowKey } = key(number);
    return store.table("lamps").deleteEntity(partitionKey, rowKey);
  };
  const putMany = (count: number, stock: number) => {
    const numbers = Array.from({ length: count }, (_, i) => 2 * i);
    return store
      .table("lamps")
      .submitTransaction(numbers.map((n) => ["update", { ...key(n), stock }, "Replace"]));
  };

  // Shows the first page of a table with `count` rows: all even numbers.
  async function show(count: number, pageSize: number): Promise<void> {
    await fill(store, count);
    view = new View(store, pageSize);
    await view.nextPage();
    updater = new RowUpdater(view);
    updater.follow(store, "lamps");
    const isOpen = view.problems.length;
    await until(() => view.problems.length > isOpen); // "" when the feed is open
    await put(0, 1);
    await until(() => view.stockOf("00000") === "1");
  }

  beforeEach(async () => {
    store = await openStore({ persistence: "memory", durability: "deferred", onWarning() {} });
  });
  afterEach(async () => {
    updater.close();
    await store.close();
  });

  test("notices what was changed before the feed was open", async () => {
    await fill(store, 2);
    view = new View(store, 10);
    await view.nextPage();
    await put(1, 1);
    updater = new RowUpdater(view);
    updater.follow(store, "lamps");
    await until(() => view.stockOf("00001") === "1");
    assert.equal(view.commits, 1);
  });

  test("runs the query again if the table was deleted before the feed was open", async () => {
    await fill(store, 2);
    view = new View(store, 10);
    await view.nextPage();
    await store.serviceClient().deleteTable("lamps");
    updater = new RowUpdater(view);
    updater.follow(store, "lamps");
    await until(() => view.runs === 1);
    assert.equal(view.problem, "");
  });

  test("reads all rows again after a failure", async () => {
    await show(100, 100);
    view.failures = 1;
    await putMany(60, 7);
    await until(() => view.stockOf("00118") === "7");
    assert.equal(view.failures, 0);
    assert(!view.problems.includes("no memory"));
  });

  test("says why changes are not shown, until they are", async () => {
    await show(100, 100);
    view.failures = 2;
    updater.readAgain();
    await put(4, 8);
    await until(() => view.problem === "no memory");
    await until(() => view.stockOf("00004") === "8");
    await until(() => view.problem === "");
  });

  test("says that the feed was interrupted, and that the store is closed", async () => {
    await show(2, 100);
    await store.restore(await store.snapshot());
    await until(() => view.problems.some((text) => text.includes("gap")) && view.problem === "");
    await store.close();
    await until(() => view.problem === "The store was closed.");
  });

  test("shows rows up to the next page", async () => {
    await show(10, 3); // 0, 2, 4
    await remove(4);
    await until(() => view.keys.length === 2);
    await put(4, 2);
    await until(() => view.stockOf("00004") === "2"); // the last one, again
    await put(5, 3);
    await until(() => view.stockOf("00005") === "3"); // behind the last one, before the next page
    await put(7, 3);
    for (const number of [0, 2, 4, 5]) await remove(number);
    await until(() => view.keys.length === 0);
    await put(1, 4);
    await until(() => view.stockOf("00001") === "4");
    await view.nextPage();
    assert.deepEqual(view.keys, ["00001", "00006", "00007", "00008"]);
  });

  test("keeps a page that was appended while all rows were read", async () => {
    await show(1500, 1000);
    let calls = 0;
    view.beforePage = async () => {
      if (++calls === 2) await view.nextPage();
    };
    await putMany(60, 5);
    await until(() => view.stockOf("00002") === "5" && view.rows.length === 1500);
    assert(calls > 2);
    assert.equal(view.rows.length, 1500);
  });

  test("follows single changes of many rows, and says when it cannot follow them", async () => {
    await fill(store, 10_200);
    view = new View(store, 1000);
    for (let page = 0; page < 11; ++page) await view.nextPage();
    updater = new RowUpdater(view);
    updater.follow(store, "lamps");
    await until(() => view.problem.includes("too many rows"));
    const pages = new View(store, 1000);
    Object.assign(view, { rows: pages.rows, nextToken: undefined, readNumber: 100 });
    for (let page = 0; page < 11; ++page) await pages.nextPage();
    view.rows = pages.rows;
    updater.onRead();
    assert.equal(view.problem, "");
    await put(20_000, 9);
    await until(() => view.stockOf("20000") === "9");
    updater.readAgain(); // after a write of the user
    await put(20_002, 9);
    await until(() => view.stockOf("20002") === "9");
    await putMany(60, 5);
    await until(() => view.problem.includes("too many rows"));
    assert.equal(view.runs, 0);
    assert.equal(view.rows.length, 10_200);
  });
});

test("a row with the same ETag but other values is shown", async () => {
  await using store = await mockStore({ fixtures: { lamps: [] } });
  const savepoint = store.savepoint();
  const put = (stock: number) => store.table("lamps").upsertEntity({ ...key(0), stock }, "Replace");
  const { etag } = await put(1);
  const view = new View(store, 10);
  await view.nextPage();
  const updater = new RowUpdater(view);
  updater.follow(store, "lamps");
  await until(() => view.problems.length > 1);
  store.rollback(savepoint);
  const second = await put(2);
  await until(() => view.stockOf("00000") === "2");
  updater.close();
  assert.notEqual(etag, undefined);
  assert.equal(second.etag, etag);
});
