// Tests the offline page in two browser profiles, with a remote that both reach over the network.

import { expect } from "@playwright/test";
import { type Phone, test } from "./offline-test.ts";

/** Returns what the page shows of each item: its amount, and whether it is ticked. */
async function listOf({ page }: Phone): Promise<string[]> {
  const items = await page.getByRole("main").getByRole("listitem").all();
  return await Promise.all(
    items.map(async (item) => {
      const isTicked = await item.getByRole("checkbox").isChecked();
      return `${await item.textContent()}${isTicked ? ", ticked" : ""}`;
    }),
  );
}

test("edits made offline survive a reload, and the user resolves a conflict", async ({ shop }) => {
  await shop.backend.put([
    { name: "Bread", amount: 1 },
    { name: "Milk", amount: 1 },
  ]);
  const [ann, bob] = await Promise.all([shop.open(), shop.open()]);
  for (const { context, status } of [ann, bob]) {
    await context.setOffline(true);
    await expect(status).toHaveText("You are offline.");
  }

  // Both change the milk. The rest is no conflict.
  await ann.another("Milk");
  await expect(ann.item("Milk")).toContainText("2");
  await ann.page.reload();
  await expect(ann.item("Milk")).toContainText("2");
  await ann.add("Tea");
  await expect(ann.status).toHaveText("You are offline. 2 changes are waiting.");
  for (const amount of ["2", "3"]) {
    await bob.another("Milk");
    await expect(bob.item("Milk")).toContainText(amount);
  }
  await bob.tick("Bread");
  await expect(bob.status).toHaveText("You are offline. 3 changes are waiting.");

  await ann.context.setOffline(false);
  await expect(ann.status).toHaveText("All changes are saved.");
  await bob.context.setOffline(false);
  await expect(bob.conflict("Milk")).toContainText("Milk: yours 3, theirs 2");
  await expect(bob.item("Milk")).toContainText("2");
  await bob.conflict("Milk").getByRole("button", { name: "Use mine" }).click();

  await expect(bob.conflict("Milk")).toBeHidden();
  await expect(bob.status).toHaveText("All changes are saved.");
  await ann.syncNow();
  await expect(ann.item("Milk")).toContainText("3");
  for (const phone of [ann, bob])
    expect(await listOf(phone)).toEqual(["Bread 1 +, ticked", "Milk 3 +", "Tea 1 +"]);
});

test("without the app's server, the list is in step as long as its signature is valid", async ({
  shop,
}) => {
  await shop.backend.put([{ name: "Milk", amount: 1 }]);
  const ann = await shop.open();
  shop.server.failsSessions = true;
  await ann.page.reload();
  await expect(ann.status).toHaveText("All changes are saved.");
  await ann.another("Milk");
  await expect(ann.item("Milk")).toContainText("2");
  await expect(ann.status).toHaveText("All changes are saved.");

  // The browser believes that it is online, but nothing is reached.
  const { endpoint } = shop.backend.session(0);
  await ann.context.route(`${endpoint}/**`, (route) => route.abort());
  await ann.page.reload();
  await expect(ann.status).toHaveText("You are offline.");
  await ann.another("Milk");
  await expect(ann.status).toHaveText("You are offline. 1 change is waiting.");
});

test("two users who add the same item both see it, and so does a lost transaction", async ({
  shop,
}) => {
  const [ann, bob] = await Promise.all([shop.open(), shop.open()]);
  await bob.context.setOffline(true);
  await bob.page.getByRole("button", { name: "Add all for pancakes" }).click();
  await expect(bob.item("Milk")).toContainText("2");
  await ann.add("Milk");
  await expect(ann.item("Milk")).toContainText("1");
  await expect(ann.status).toHaveText("All changes are saved.");
  await bob.context.setOffline(false);
  await expect(bob.conflict("Milk")).toContainText("Milk: yours 2, theirs 1");
  await expect(bob.conflict("Eggs")).toContainText("Eggs: yours 4, theirs none");
  await expect(bob.item("Eggs")).toBeHidden();
  for (const name of ["Milk", "Eggs", "Flour"])
    await bob.conflict(name).getByRole("button", { name: "Use mine" }).click();
  await expect(bob.status).toHaveText("All changes are saved.");
  await ann.syncNow();
  await expect(ann.item("Milk")).toContainText("2");
  await expect(ann.item("Eggs")).toContainText("4");
});

test("a new version replaces all files of the old one, and nothing of other pages", async ({
  shop,
}) => {
  const { context, page } = await shop.open();
  await page.evaluate(() => caches.open("another app"));
  shop.server.edit = (path, text) =>
    path === "offline.html"
      ? text.replace(/<title>.*?<\/title>/, "<title>The next version</title>")
      : path === "service-worker.js"
        ? text.replace(/const version = "\w+"/, 'const version = "next"')
        : text;
  await page.evaluate(async () => {
    const registration = await navigator.serviceWorker.ready;
    await registration.update();
    while (registration.installing) await new Promise((resolve) => setTimeout(resolve, 50));
  });
  const url = page.url();
  await page.close();
  // The new version begins when no page of the old one is open.
  let next = page;
  const open = async () => {
    await next.close();
    next = await context.newPage();
    await next.goto(url);
    return await next.title();
  };
  await expect.poll(open).toBe("The next version");
  const names = () => next.evaluate(() => caches.keys());
  await expect.poll(names).toEqual(["another app", "shopping next"]);
  await context.setOffline(true);
  await next.reload();
  await expect(next).toHaveTitle("The next version");
});

test("the user keeps the change of another user", async ({ shop }) => {
  await shop.backend.put([{ name: "Milk", amount: 1 }]);
  const [ann, bob] = await Promise.all([shop.open(), shop.open()]);
  await bob.context.setOffline(true);
  for (const amount of ["2", "3"]) {
    await bob.another("Milk");
    await expect(bob.item("Milk")).toContainText(amount);
  }
  await ann.another("Milk");
  await expect(ann.item("Milk")).toContainText("2");
  await expect(ann.status).toHaveText("All changes are saved.");
  await bob.context.setOffline(false);
  const conflict = bob.conflict("Milk");
  await expect(conflict).toContainText("Milk: yours 3, theirs 2");
  await conflict.getByRole("button", { name: "Keep theirs" }).click();

  await expect(conflict).toBeHidden();
  await expect(bob.status).toHaveText("All changes are saved.");
  await expect(bob.item("Milk")).toContainText("2");
});
