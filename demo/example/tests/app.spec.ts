// Tests the app in Chromium: each failure, and what the user sees.

import { expect } from "@playwright/test";
import { ShoppingList } from "../src/list.ts";
import { test } from "./app-test.ts";

const hour = 3_600_000;
const second = 1000;

test("a conflict is merged, and the user is notified", async ({ page, backend, open }) => {
  await backend.put([{ name: "Milk", amount: 1 }]);
  await open(backend.session(hour));
  const milk = page.getByRole("listitem", { name: "Milk" });
  await expect(milk).toContainText("1");

  const session = backend.session(hour);
  const ann = new ShoppingList(session, async () => session, backend.options);
  for (const item of (await ann.page(1)).items) await ann.change(item, { amount: 3 });
  await milk.getByRole("checkbox").click();

  await expect(page.getByRole("status")).toHaveText(
    "Milk: another user changed the amount to 3 in the meantime. Both changes were saved.",
  );
  await expect(milk.getByRole("checkbox")).toBeChecked();
  await expect(milk).toContainText("3");
  expect((await ann.page(1)).items).toMatchObject([{ amount: 3, done: true }]);
});

test("a long list is shown page by page", async ({ page, backend, open }) => {
  const items = Array.from({ length: 45 }, (_, i) => ({ name: `Item ${i + 10}`, amount: 1 }));
  await backend.put(items);
  await open(backend.session(hour));
  const lines = page.getByRole("listitem");
  const more = page.getByRole("button", { name: "More" });

  for (const shown of [20, 40]) {
    await expect(lines).toHaveCount(shown);
    await more.click();
  }
  await expect(lines).toHaveText(items.map(({ name }) => new RegExp(name)));
  await expect(more).toBeHidden();
});

test("an expired signature is renewed without a message", async ({ page, backend, open }) => {
  await backend.put([{ name: "Milk", amount: 1 }]);
  await open(backend.session(3 * second), backend.session(hour));
  const milk = page.getByRole("listitem", { name: "Milk" });
  await expect(milk).toBeVisible();

  await backend.advanceTime(5 * second);
  await milk.getByRole("button", { name: "Another Milk" }).click();
  await expect(milk).toContainText("2");
  await expect(page.getByRole("status")).toBeEmpty();
});

test("a signature that cannot be renewed shows a message", async ({ page, backend, open }) => {
  await open(backend.session(-hour));

  await expect(page.getByRole("status")).toHaveText(
    "Your access to the list has expired. Ask for a new link.",
  );
});

test("a failed transaction adds nothing", async ({ page, backend, open }) => {
  await backend.put([{ name: "Milk", amount: 1 }]);
  await open(backend.session(hour));
  const lines = page.getByRole("listitem");
  await expect(lines).toHaveCount(1);
  await page.getByRole("button", { name: "Add all for pancakes" }).click();

  await expect(page.getByRole("status")).toHaveText(
    "This item is already on the list. Nothing was added.",
  );
  await page.getByLabel("Name").fill("Tea");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await expect(lines).toHaveText([/Milk/, /Tea/]);
});

test("a request to a busy service is retried without a message", async ({
  page,
  backend,
  open,
}) => {
  test.skip(backend.faults === undefined, "Azurite cannot inject faults");
  await backend.put([{ name: "Milk", amount: 1 }]);
  const fault = backend.faults?.add({
    on: "query",
    times: 1,
    respond: { code: "ServerBusy", retryAfter: 1 },
  });
  await open(backend.session(hour));

  await expect(page.getByRole("listitem")).toHaveText([/Milk/]);
  await expect(page.getByRole("status")).toBeEmpty();
  expect(fault?.hits).toBe(1);
});

test("being offline shows a message, and the app recovers", async ({ page, backend, open }) => {
  test.skip(backend.faults === undefined, "Azurite cannot inject faults");
  await open(backend.session(hour));
  const offline = backend.faults?.add({ on: "*", network: "offline" });
  const add = async () => {
    await page.getByLabel("Name").fill("Tea");
    await page.getByRole("button", { name: "Add", exact: true }).click();
  };
  await add();
  await expect(page.getByRole("status")).toHaveText(
    "There is no connection. Your change was probably not saved.",
  );

  offline?.remove();
  await add();
  await expect(page.getByRole("listitem")).toHaveText([/Tea/]);
});
