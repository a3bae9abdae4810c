// Screenshots of the states that tests produce, for people to look at: in build/screenshots, with
// --all. No test reads them.
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

const folder = new URL("../../../build/screenshots/", import.meta.url);

export async function screenshot(page: Page, name: string, fullPage = false): Promise<void> {
  if (process.env["ENTITABLE_ALL"] === undefined) return;
  await page.screenshot({ path: fileURLToPath(new URL(`${name}.png`, folder)), fullPage });
}
