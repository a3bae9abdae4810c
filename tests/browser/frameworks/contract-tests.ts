// The tests of the contract that contract.ts describes. They run in a page.

import {
  Contract,
  type Environment,
  equal,
  type Framework,
  note,
  notesFrom,
  notesOf,
  serverInputs,
} from "./contract.ts";

type ContractTest = (contract: Contract) => Promise<void>;

const list = (contract: Contract, id = "l", filter?: string) =>
  ({ id, kind: "list", open: contract.open, filter }) as const;

export const contractTests: Record<string, ContractTest> = {
  async "a list shows the rows, and renders only what has changed"(contract) {
    const store = await contract.store(50);
    const parts = [
      list(contract),
      { id: "e", kind: "entity", table: contract.table(store), rowKey: "7" },
    ];
    contract.mount({ store, parts });
    await contract.shows("#l li:last-child", "n9");
    await contract.shows("#e", "n7");
    const { l, e, ...rows } = await contract.rendered();
    equal([l, e, Object.keys(rows).length], [2, 2, 50]); // loading, then the result

    await notesOf(store).upsertEntity(note(7, "changed"));
    await contract.shows("#e", "changed");
    equal(await contract.rendered(), { e: 1, l: 1, "l row 7": 1 });

    await notesOf(store).submitTransaction(notesFrom(51, 53));
    await contract.shows("#l li:last-child", "n9");
    equal(await contract.rendered(), { l: 1, "l row 51": 1, "l row 52": 1, "l row 53": 1 });

    await notesOf(store).deleteEntity("p", "51");
    equal(await contract.rendered(), { l: 1 });
    await store.table("others").createTable();
    await store.table("others").createEntity(note(1));
    equal(await contract.rendered(), {});
  },

  async "a list shows what an observed query returns"(contract) {
    const store = await contract.store();
    const parts = [{ ...list(contract, "l", "RowKey ge '2'"), open: contract.observe }];
    const application = contract.mount({ store, parts });
    await contract.shows("#l li", "n2,n3");
    await contract.rendered();
    await notesOf(store).upsertEntity(note(1, "changed"));
    equal(await contract.rendered(), {});
    await notesOf(store).upsertEntity(note(3, "changed"));
    await contract.shows("#l li", "n2,changed");
    equal(await contract.rendered(), { l: 1, "l row 3": 1 });
    application.update({ store, parts: [] });
    await contract.hasOpen(0);
  },

  async "a component that does not match a change is not rendered"(contract) {
    const store = await contract.store();
    const parts = [list(contract, "a", "RowKey eq '1'"), list(contract, "b", "RowKey eq '2'")];
    contract.mount({ store, parts });
    await contract.shows("li", "n1,n2");
    await contract.rendered();
    await notesOf(store).upsertEntity(note(2, "changed"));
    await contract.shows("li", "n1,changed");
    equal(await contract.rendered(), { b: 1, "b row 2": 1 });
  },

  async "a changed input opens another query, and closes the first"(contract) {
    const store = await contract.store();
    const entity = (rowKey: string) => ({ id: "e", kind: "entity", table, rowKey }) as const;
    const table = contract.table(store);
    const application = contract.mount({
      store,
      parts: [list(contract, "l", "RowKey eq '1'"), entity("1")],
    });
    await contract.shows("#l li", "n1");
    await contract.shows("#e", "n1");
    await contract.hasOpen(2);
    application.update({ store, parts: [list(contract, "l", "RowKey ge '2'"), entity("3")] });
    await contract.shows("#l li", "n2,n3");
    await contract.shows("#e", "n3");
    await contract.hasOpen(2);
    equal(contract.opened, 4);
  },

  async "a component may ask the store for its table in each render"(contract) {
    const store = await contract.store();
    const other = await contract.store();
    await notesOf(other).upsertEntity(note(2, "other"));
    const parts = [{ id: "e", kind: "entity", rowKey: "2" }];
    const application = contract.mount({ store, parts });
    await contract.shows("#e", "n2");
    equal((await contract.rendered())["e"], 2);
    await notesOf(store).upsertEntity(note(2, "changed"));
    await contract.shows("#e", "changed");
    equal(await contract.rendered(), { e: 1 });
    application.update({ store: other, parts });
    await contract.shows("#e", "other");
  },

  async "another store replaces the first, whose queries are closed"(contract) {
    const first = await contract.store(1);
    const second = await contract.store(2);
    const parts = [list(contract)];
    const application = contract.mount({ store: first, parts });
    await contract.shows("li", "n1");
    application.update({ store: second, parts });
    await contract.shows("li", "n1,n2");
    await contract.hasOpen(1);
    await notesOf(first).upsertEntity(note(9));
    await contract.rendered();
    equal(contract.text("li"), "n1,n2");
    await notesOf(second).upsertEntity(note(3));
    await contract.shows("li", "n1,n2,n3");
  },

  async "a provider without a store shows loading, until it gets one"(contract) {
    const parts = [list(contract)];
    const application = contract.mount({ parts });
    await contract.rendered();
    equal(contract.text(".status"), "loading");
    application.update({ store: await contract.store(1), parts });
    await contract.shows("li", "n1");
  },

  async "a query that was passed and is closed before its first result shows an error"(contract) {
    const store = await contract.store(1);
    const query = contract.open(store);
    contract.mount({ store, parts: [{ id: "a", kind: "query", query }] });
    query?.close();
    await contract.shows("#a .error", "AbortError");
  },

  async "a query is closed when its component is unmounted, one that was passed stays open"(
    contract,
  ) {
    const store = await contract.store();
    const query = contract.open(store);
    const parts = [
      { id: "a", kind: "query", query },
      { id: "b", kind: "query", query },
      list(contract),
    ];
    const application = contract.mount({ store, parts });
    await contract.shows("#a li", "n1,n2,n3");
    await contract.shows("#b li", "n1,n2,n3");
    await contract.shows("#l li", "n1,n2,n3");
    application.update({ store, parts: [parts[0] as (typeof parts)[0]] });
    await contract.hasOpen(1);
    await notesOf(store).upsertEntity(note(4));
    await contract.shows("li", "n1,n2,n3,n4");
    application.update({ store, parts: [] });
    await contract.rendered();
    await contract.hasOpen(1);
    equal(query?.getSnapshot().status, "ready");
    query?.close();
  },

  async "a component may be unmounted by a change that it would be told of"(contract) {
    const store = await contract.store(2);
    const child = list(contract, "child");
    const parent = { id: "parent", kind: "parent", open: contract.open, child };
    contract.mount({ store, parts: [parent, list(contract)] });
    await contract.shows("#child li", "n1,n2");
    await contract.rendered();
    const actions = ["1", "2"].map((rowKey) => ["delete", { partitionKey: "p", rowKey }] as const);
    await notesOf(store).submitTransaction(actions);
    await contract.shows("#child", "");
    await contract.hasOpen(2);
    await notesOf(store).upsertEntity(note(3));
    await contract.shows("#child li", "n3");
    await contract.hasOpen(3);
  },

  async "errors are shown, and go when their cause goes"(contract) {
    const store = await contract.store(1);
    const fails = () => {
      throw new RangeError("no query");
    };
    const parts = [
      list(contract),
      list(contract, "f", "wrong eq"),
      { ...list(contract, "x"), open: fails },
    ];
    contract.mount({ store, parts });
    await contract.shows("#f .error", "InvalidInput");
    await contract.shows("#x .error", "RangeError");
    await contract.shows("#l li", "n1");
    await notesOf(store).deleteTable();
    await contract.shows("#l .error", "TableNotFound");
    equal(contract.text("#l .status"), "error");
    await notesOf(store).createTable();
    await contract.shows("#l .status", "ready");
    await notesOf(store).upsertEntity(note(2));
    await contract.shows("#l li", "n2");
    await store.close();
    await contract.shows("#l .error", "StoreClosed");
    equal(contract.text("#l li"), "n2"); // the last result
  },

  async "components that name a store share it, and the last one closes it"(contract) {
    const named = (id: string, name = "shared") => ({ id, kind: "named", name }) as const;
    const application = contract.mount({
      name: "shared",
      parts: [named("a"), named("b"), named("wrong", "no/name"), list(contract)],
    });
    await contract.shows("#a", "shared");
    await contract.shows("#b", "shared");
    await contract.shows("#wrong", "ValidationFailed");
    await contract.shows("#l .error", "TableNotFound"); // the store is empty
    equal(await isLocked("shared"), true);
    application.update({ parts: [named("b")] });
    await contract.rendered();
    equal(contract.text("#b"), "shared");
    equal(await isLocked("shared"), true);
    application.update({ parts: [] });
    await contract.rendered();
    await contract.entitable.deleteStore("shared"); // rejects if the store is open
  },

  async "what the server has rendered is hydrated"(contract) {
    contract.target.innerHTML = contract.framework.html;
    const nodes = contract.target.querySelectorAll("p, ul");
    equal(contract.text(".status"), "loading");
    const application = contract.mount(serverInputs, { isHydrated: true });
    await contract.shows("#n", "hydrated");
    equal(
      [...nodes].map((node) => node.isConnected),
      [...nodes].map(() => true),
    );
    application.update({ ...serverInputs, store: await contract.store(1) });
  },

  async "a query that has a result already is hydrated from what the server has rendered"(
    contract,
  ) {
    const store = await contract.store(1);
    const query = contract.open(store);
    await query?.ready;
    contract.target.innerHTML = contract.framework.html;
    const [, ...others] = serverInputs.parts;
    const parts = [{ id: "l", kind: "query", query }, ...others];
    contract.mount({ parts }, { isHydrated: true });
    await contract.shows("#l li", "n1");
    equal(contract.takeShown(), ["l loading", "l ready"]);
    query?.close();
  },
};

async function isLocked(store: string): Promise<boolean> {
  const { held = [] } = await navigator.locks.query();
  return held.some(({ name = "" }) => name.split(/\W/).includes(store));
}

const strictTests: Record<string, ContractTest> = {
  async "in StrictMode, each component has one query"(contract) {
    const store = await contract.store();
    const table = contract.table(store);
    const parts = [list(contract), { id: "e", kind: "entity", table, rowKey: "1" }];
    const named = { id: "n", kind: "named", name: "strict", options: { persistence: "memory" } };
    const application = contract.mount({ store, parts: [...parts, named] }, { isStrict: true });
    await contract.shows("#l li", "n1,n2,n3");
    await contract.shows("#e", "n1");
    await contract.shows("#n", "strict");
    equal(contract.opened, 2);
    await contract.hasOpen(2);
    application.update({ store, parts: [] });
    await contract.hasOpen(0);
  },
};

const suspenseTests: Record<string, ContractTest> = {
  async "a component suspends until there is a result"(contract) {
    const store = await contract.store(2);
    const part = { kind: "suspended", open: contract.open, queryKey: ["all", 1, undefined] };
    const parts = [
      { ...part, id: "a" },
      { ...part, id: "b" },
    ];
    const application = contract.mount({ store, parts });
    await contract.shows("#a", "n1,n2");
    await contract.shows("#b", "n1,n2");
    equal(contract.opened, 1); // they share it
    await contract.rendered();
    await notesOf(store).upsertEntity(note(3));
    await contract.shows("#a", "n1,n2,n3");
    equal(await contract.rendered(), { a: 1, b: 1 });
    application.update({ store, parts: [parts[1] as Part] });
    await contract.rendered();
    await contract.hasOpen(1);
    application.update({ store, parts: [] });
    await contract.hasOpen(0);
  },

  async "an error of a suspended component goes to the error boundary"(contract) {
    const store = await contract.store(1);
    const open = () => contract.open(store, "wrong eq");
    const parts = [{ id: "a", kind: "suspended", open, queryKey: ["wrong"] }];
    const application = contract.mount({ store, parts });
    await contract.shows("#a", "InvalidInput");
    application.update({ store, parts: [] });
    await contract.hasOpen(0); // after the time in which a component could have been mounted
  },

  async "a query that is closed before its first result is an error, too"(contract) {
    const store = await contract.store(1);
    const query = contract.open(store);
    contract.mount({ store, parts: [{ id: "a", kind: "suspended", query }] });
    query?.close();
    await contract.shows("#a", "AbortError");
  },

  async "in StrictMode, suspended components share one query"(contract) {
    const store = await contract.store(1);
    const parts = [{ id: "a", kind: "suspended", open: contract.open, queryKey: [] }];
    contract.mount({ store, parts }, { isStrict: true });
    await contract.shows("#a", "n1");
    equal(contract.opened, 1);
  },
};

type Part = { id: string; kind: string };

/**
 * Mounts and unmounts this many components. Resolves to how many of their queries are still in
 * memory, and how much memory the page uses.
 */
export async function mountMany(
  framework: Framework,
  environment: Environment,
  count: number,
): Promise<{ queries: number; bytes: number }> {
  const contract = new Contract(framework, environment);
  const store = await contract.store(100);
  const table = contract.table(store);
  const application = contract.mount({ store, parts: [] });
  for (let mounted = 0; mounted < count; mounted += 100) {
    const parts = Array.from({ length: 100 }, (_, index) => {
      return { id: `e${index}`, kind: "entity", table, rowKey: String(index + 1) };
    });
    application.update({ store, parts });
    await contract.shows("#e99", "n100");
    application.update({ store, parts: [] });
    await contract.hasOpen(0);
  }
  equal(contract.opened, count);
  await contract.end();
  environment.takeRendered();
  return await memory(contract.queries);
}

// Removes the references.
async function memory(queries: WeakRef<object>[]): Promise<{ queries: number; bytes: number }> {
  await collectGarbage();
  const left = queries.filter((query) => query.deref() !== undefined);
  queries.length = 0;
  await collectGarbage();
  const { memory } = performance as unknown as { memory: { usedJSHeapSize: number } };
  return { queries: left.length, bytes: memory.usedJSHeapSize };
}

async function collectGarbage(): Promise<void> {
  for (let round = 0; round < 3; ++round) {
    await new Promise((resolve) => setTimeout(resolve, 100)); // a WeakRef lasts for a task
    (globalThis as unknown as { gc(): void }).gc();
  }
}

/** Runs the tests. Resolves to the error of each, or "". */
export async function runContract(
  framework: Framework,
  environment: Environment,
): Promise<Record<string, string>> {
  const tests = {
    ...contractTests,
    ...(framework.hasStrictMode && strictTests),
    ...(framework.hasSuspense && suspenseTests),
  };
  const outcomes: Record<string, string> = {};
  for (const [name, run] of Object.entries(tests)) {
    const contract = new Contract(framework, environment);
    try {
      await run(contract);
      await contract.end();
      outcomes[name] = "";
    } catch (error) {
      outcomes[name] = String((error as Error).stack);
    }
  }
  return outcomes;
}
