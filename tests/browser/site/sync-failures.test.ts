// Tests the page with two stores whose network the reader breaks.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { type Guide, openGuide } from "../support/guide.ts";
import { checkedPages, checkPage, pagesWithOwnTest } from "../support/guide-check.ts";
import { screenshot } from "../support/screenshot.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

/** The parts of the demonstration. */
interface Demo {
  readonly page: Page;
  readonly phone: Locator;
  readonly laptop: Locator;
  readonly remote: Locator;
}

async function start(page: Page, receipts = false): Promise<Demo> {
  await page.getByLabel("Receipts").setChecked(receipts);
  await page.getByRole("button", { name: /^Start / }).click();
  await page.getByText("Both stores are open.").waitFor();
  const [phone, laptop, remote] = ["Phone", "Laptop", "Remote"].map((name) =>
    page.getByRole("region", { name, exact: true }),
  ) as [Locator, Locator, Locator];
  return { page, phone, laptop, remote };
}

/** Waits until a side shows this stock; undefined: it does not have the lamp. */
async function shows(side: Locator, lamp: string, stock: number | undefined): Promise<void> {
  const item = side.getByRole("listitem", { name: lamp, exact: true });
  if (stock === undefined) await item.waitFor({ state: "detached" });
  else await item.getByText(`${lamp} ${stock}`, { exact: true }).waitFor();
}

const press = (side: Locator, name: string) =>
  side.getByRole("button", { name, exact: true }).click();

const switchTo = (side: Locator, fault: string, on: boolean) =>
  side.getByLabel(fault).setChecked(on);

const waits = (side: Locator, count: string) =>
  side.getByRole("status").filter({ hasText: count }).waitFor();

/** Returns after the phone's insert was executed and the laptop has deleted the lamp. */
async function insertIsAmbiguous({ laptop, phone, remote }: Demo): Promise<void> {
  await switchTo(phone, "Lose responses", true);
  await press(phone, "Add a lamp");
  await shows(remote, "Dot", 1);
  await switchTo(phone, "Offline", true);
  await shows(laptop, "Dot", 1);
  await press(laptop, "Delete Dot");
  await shows(remote, "Dot", undefined);
  await waits(phone, "1 write waits.");
  await switchTo(phone, "Lose responses", false);
  await switchTo(phone, "Offline", false);
  await waits(phone, "0 writes wait.");
}

describe("two stores whose network fails", () => {
  test("nothing is loaded until the reader starts", async () => {
    const page = await guide.context.newPage();
    const files: string[] = [];
    page.on("request", (request) => files.push(request.url()));
    await page.goto(`${guide.url}sync-failures/`);
    await page.locator("button:enabled", { hasText: "Start two stores" }).waitFor();
    assert.deepEqual(
      files.filter((url) => url.endsWith(".wasm")),
      [],
    );
    await page.close();
  });

  test("offline edits wait, and a conflict is shown and restored", async () => {
    const page = await guide.open("sync-failures");
    const { laptop, phone, remote } = await start(page);
    await switchTo(phone, "Offline", true);
    await press(phone, "+1 Bow");
    await press(phone, "Delete Ray");
    await waits(phone, "2 writes wait.");
    await phone.getByText("Waits: change Bow").waitFor();
    await shows(remote, "Bow", 3);
    await switchTo(phone, "Offline", false);
    await shows(laptop, "Bow", 4);
    await shows(laptop, "Ray", undefined);

    await switchTo(phone, "Offline", true);
    await page.getByRole("button", { name: "Change Arc in both stores" }).click();
    await shows(remote, "Arc", 17);
    await screenshot(page, "sync-failures-offline", true);
    await switchTo(phone, "Offline", false);
    await phone.getByText("Lost: Arc 8 here, 17 at the remote.", { exact: true }).waitFor();
    await shows(phone, "Arc", 17);
    await press(phone, "Restore the change of Arc");
    await shows(laptop, "Arc", 8);
    await phone.getByText("Lost: Arc").waitFor({ state: "detached" });
    await guide.leave(page);
  });

  test("the outcome of a lost request is unknown if another store has changed the entity", async () => {
    const page = await guide.open("sync-failures");
    const { phone, remote } = await start(page);
    await switchTo(phone, "Lose requests", true);
    await page.getByRole("button", { name: "Change Arc in both stores" }).click();
    await shows(remote, "Arc", 17);
    await remote.getByText("Phone: did not arrive").first().waitFor();
    await switchTo(phone, "Lose requests", false);
    const lost =
      "Lost: Arc 8 here, 17 at the remote. It is unknown whether the write was executed.";
    await phone.getByText(lost, { exact: true }).waitFor();
    await press(phone, "Discard the change of Arc");
    await phone.getByText("Lost: Arc").waitFor({ state: "detached" });
    await shows(phone, "Arc", 17);
    await guide.leave(page);
  });

  test("a write whose response is lost is executed once", async () => {
    const page = await guide.open("sync-failures");
    const { phone, remote } = await start(page);
    await switchTo(phone, "Lose responses", true);
    await press(phone, "+1 Arc");
    await shows(remote, "Arc", 8);
    await remote.getByText("Phone: executed, and the response was lost").first().waitFor();
    await phone.getByText("Waits: change Arc").waitFor();
    // It is sent again, and its condition does not hold any more.
    const refused = "Phone: refused as a whole: 412, and the response was lost";
    await remote.getByText(refused).first().waitFor();
    assert.equal(await remote.getByText("Phone: executed").count(), 1);
    await switchTo(phone, "Lose responses", false);
    await waits(phone, "0 writes wait.");
    await shows(phone, "Arc", 8);
    await shows(remote, "Arc", 8);
    await guide.leave(page);
  });

  test("an ambiguous insert is repeated without receipts, and not with them", async () => {
    const page = await guide.open("sync-failures");
    const without = await start(page);
    await insertIsAmbiguous(without);
    for (const side of [without.phone, without.laptop, without.remote]) await shows(side, "Dot", 1);

    const withReceipts = await start(page, true);
    await press(withReceipts.phone, "+1 Arc"); // creates the receipt
    await shows(withReceipts.remote, "Arc", 8);
    await insertIsAmbiguous(withReceipts);
    for (const side of [withReceipts.phone, withReceipts.laptop, withReceipts.remote])
      await shows(side, "Dot", undefined);
    await guide.leave(page);
  });

  test("a remote that answers 429 gets the write later", async () => {
    const page = await guide.open("sync-failures");
    const { phone, remote } = await start(page);
    await switchTo(phone, "Answer 429", true);
    await press(phone, "+1 Arc");
    await remote.getByText("Phone: not executed: 429").first().waitFor();
    await switchTo(phone, "Answer 429", false);
    await shows(remote, "Arc", 8);
    await checkPage(guide, page);
    assert.deepEqual(checkedPages(), [...pagesWithOwnTest.syncFailures]);
    await guide.leave(page);
  });
});

test("no page printed or threw anything", () => {
  assert.deepEqual(guide.problems, []);
});
