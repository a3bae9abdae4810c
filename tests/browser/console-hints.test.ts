// Tests what the console of Chromium shows of an error that was not caught: in development also its
// hint.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { BrowserContext } from "playwright-core";
import { newProfile, type Profile, waitMs } from "./support/browser.ts";
import { blankPage, type Site, serve } from "./support/server.ts";

const staging = fileURLToPath(new URL("../../build/package/staging", import.meta.url));

let profile: Profile;
let site: Site;
let context: BrowserContext;

before(async () => {
  profile = await newProfile();
  context = await profile.open();
  site = await serve(staging, { override: blankPage });
});

after(async () => {
  await context.close();
  await site.close();
  await profile.remove();
});

// Returns the texts that the console shows of a missing table and of a closed store.
async function shownErrors(mode: "development" | "production"): Promise<string[]> {
  const page = await context.newPage();
  const devTools = await context.newCDPSession(page);
  const nextShown = () =>
    new Promise<string>((resolve) => {
      devTools.once("Runtime.exceptionThrown", ({ exceptionDetails: { text, exception } }) => {
        resolve(`${text} ${exception?.description}`);
      });
    });
  await devTools.send("Runtime.enable");
  await page.goto(site.url);
  const missing = nextShown();
  const store = await page.evaluateHandle(async (NODE_ENV) => {
    Object.assign(globalThis, { process: { env: { NODE_ENV } } }); // as bundlers define it
    const { openStore } = (await import(
      "/dist/index.js" as string
    )) as typeof import("../../web/src/index.ts");
    const opened = await openStore({ persistence: "memory" });
    void opened.table("people").getEntity("p", "r"); // nothing catches its error
    return { opened };
  }, mode);
  const shown = [await missing];
  const closed = nextShown();
  await store.evaluate(async ({ opened }) => {
    await opened.close();
    void opened.table("people").getEntity("p", "r");
  });
  shown.push(await closed);
  await page.close();
  return shown;
}

test("in development, an error that was not caught has its hint", { timeout: waitMs }, async () => {
  const [missing = "", closed = ""] = await shownErrors("development");
  assert.match(
    missing,
    /^Uncaught \(in promise\) RestError: The table specified does not exist\.\n {4}at [\s\S]*\nhint: The table "people" does not exist in this store\. Create it with createTable\(\)\.$/,
  );
  assert.match(
    closed,
    /^Uncaught \(in promise\) StoreError: The store "default" is closed\.\n {4}at [\s\S]*\nhint: Open the store again\.$/,
  );
});

test("in production, it has only its stack", { timeout: waitMs }, async () => {
  for (const shown of await shownErrors("production"))
    assert.match(shown, /^Uncaught \(in promise\) (?:Rest|Store)Error: [^\n]*(?:\n {4}at .*)+$/);
});
