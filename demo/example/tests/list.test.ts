// Tests the list without a page, in Vitest: each failure, and its outcome.

import { afterEach, beforeEach, expect, test } from "vitest";
import { type Item, ShoppingList } from "../src/list.ts";
import { type Backend, newBackend } from "./backend.ts";

const hour = 3_600_000;
const second = 1000;
let backend: Backend;

beforeEach(async () => {
  backend = await newBackend();
});
afterEach(() => backend.close());

// Opens the list, as another user would.
function open(session = backend.session(hour), renew = async () => session): ShoppingList {
  return new ShoppingList(session, renew, backend.options);
}

async function names(list: ShoppingList): Promise<string[]> {
  return (await list.page(100)).items.map(({ name }) => name);
}

async function only(list: ShoppingList): Promise<Item> {
  const [item] = (await list.page(1)).items;
  if (item === undefined) throw new Error("The list is empty.");
  return item;
}

test("a conflict: both changes are saved, and the second writer learns of the first change", async () => {
  await backend.put([{ name: "Milk", amount: 1 }]);
  const [ann, bob] = [open(), open()];
  const [annsMilk, bobsMilk] = [await only(ann), await only(bob)];

  const first = await ann.change(annsMilk, { amount: 3 });
  const second = await bob.change(bobsMilk, { done: true });

  expect(first.theirs).toBeUndefined();
  expect(second.theirs).toEqual({ amount: 3 });
  expect(await only(ann)).toEqual({ ...second.item, name: "Milk", amount: 3, done: true });
});

test("paging returns every item once, in order", async () => {
  const all = Array.from({ length: 45 }, (_, i) => `Item ${String(i).padStart(2, "0")}`);
  await backend.put(all.map((name) => ({ name, amount: 1 })));
  const list = open();
  const sizes: number[] = [];
  const seen: string[] = [];
  let from: string | undefined;
  while (seen.length < all.length) {
    const { items, next } = await list.page(20, from);
    sizes.push(items.length);
    seen.push(...items.map(({ name }) => name));
    from = next;
  }

  expect(from).toBeUndefined();
  expect(sizes).toEqual([20, 20, 5]);
  expect(seen).toEqual(all);
});

test("an expired signature is renewed once", async () => {
  await backend.put([{ name: "Milk", amount: 1 }]);
  let renewed = 0;
  const list = open(backend.session(2 * second), async () => {
    renewed += 1;
    return backend.session(hour);
  });

  expect(await names(list)).toEqual(["Milk"]);
  await backend.advanceTime(4 * second);
  expect(await names(list)).toEqual(["Milk"]);
  await list.add({ name: "Tea", amount: 1 });
  expect(renewed).toBe(1);
});

test("the service rejects a signature that cannot be renewed", async () => {
  await backend.put([{ name: "Milk", amount: 1 }]);
  const list = open(backend.session(-hour));

  await expect(names(list)).rejects.toMatchObject({ statusCode: 403 });
});

test("a failed transaction adds nothing", async () => {
  await backend.put([{ name: "Milk", amount: 1 }]);
  const list = open();
  const added = list.add(
    { name: "Eggs", amount: 4 },
    { name: "Flour", amount: 1 },
    { name: "Milk", amount: 2 },
  );

  await expect(added).rejects.toMatchObject({ statusCode: 409, code: "EntityAlreadyExists" });
  expect(await names(list)).toEqual(["Milk"]);
});

test("a request to a busy service is retried until the retries are exhausted", async ({ skip }) => {
  skip(backend.faults === undefined, "Azurite cannot inject faults");
  await backend.put([{ name: "Milk", amount: 1 }]);
  const busy = { code: "ServerBusy", retryAfter: 0 };
  const fault = backend.faults?.add({ on: "query", times: 2, respond: busy });
  expect(await names(open())).toEqual(["Milk"]);
  expect(fault?.hits).toBe(2);

  backend.faults?.add({ on: "query", respond: busy });
  await expect(names(open())).rejects.toMatchObject({ statusCode: 503 });
});

test("nothing changes while offline", async ({ skip }) => {
  skip(backend.faults === undefined, "Azurite cannot inject faults");
  const offline = backend.faults?.add({ on: "*", network: "offline" });
  const list = open();
  await expect(list.add({ name: "Tea", amount: 1 })).rejects.toThrow("offline");

  offline?.remove();
  expect(await names(list)).toEqual([]);
});

test("a transaction whose response is lost is applied once", async ({ skip }) => {
  skip(backend.faults === undefined, "Azurite cannot inject faults");
  await backend.put([{ name: "Milk", amount: 1 }]);
  const fault = backend.faults?.add({ on: "batch", times: 1, network: "timeout-after-commit" });
  const list = open();
  await list.add({ name: "Eggs", amount: 4 }, { name: "Flour", amount: 1 });
  expect(fault?.hits).toBe(1);
  expect(await names(list)).toEqual(["Eggs", "Flour", "Milk"]);

  // But an item that another call added is a conflict.
  await expect(list.add({ name: "Eggs", amount: 4 })).rejects.toMatchObject({ statusCode: 409 });
});
