// The entries for frameworks in real Chromium: one contract (frameworks/contract-tests.ts) for
// React 18 and 19, Preact, Vue, Svelte and Solid, each in its development form, which must print
// nothing.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "puppeteer-core";
import { flags, newProfile, type Profile, waitMs } from "./support/browser.ts";
import { FrameworkProject, variants } from "./support/frameworks.ts";
import { launch } from "./support/puppeteer.ts";
import { type Site, serve } from "./support/server.ts";

declare const contract: {
  run(html: string): Promise<Record<string, string>>;
  mountMany(count: number): Promise<{ queries: number; bytes: number }>;
};

const mounts = 10_000;

// A component that leaves anything behind leaves at least a function with its closure.
const leakBytes = 100;

// The heap also grows by what V8 learns about code, now and then by more than a round's leak would
// be. It does not do so in each round, and a leak does.
const rounds = 3;

// What React's development form prints for an error that goes to an error boundary.
const boundaryError =
  /'wrong eq'|The live query was closed|The above error occurred in the <Ready> component/;

let profile: Profile;
let browser: Browser;
let project: FrameworkProject;
const sites: Site[] = [];

before(async () => {
  profile = await newProfile();
  const memory = ["--js-flags=--expose-gc", "--enable-precise-memory-info"];
  browser = await launch(profile, { args: [...flags, ...memory] });
  project = new FrameworkProject();
});

after(async () => {
  await browser.close();
  for (const site of sites) await site.close();
  await profile.remove();
  project.remove();
});

const all = process.env["ENTITABLE_ALL"] !== undefined;

for (const variant of variants) {
  if (variant.reactVersion === 18 && !all) continue; // takes as long as React 19
  describe(variant.name, () => {
    let page: Page;
    let html: string;
    const printed: string[] = [];

    before(async () => {
      const server = await project.serverHtml(variant);
      html = server.html;
      const script = await project.pageScript(variant);
      const body = `<!doctype html><link rel="icon" href="data:,">${server.head}`;
      const site = await serve(join(project.path, "node_modules/entitable/dist/wasm"), {
        override: (path) => {
          if (path === "/") return { body };
          return path === "/main.js" ? { type: "text/javascript", body: script } : undefined;
        },
      });
      sites.push(site);
      page = await browser.newPage();
      page.setDefaultTimeout(waitMs);
      const onPrinted = (text: string) => !boundaryError.test(text) && printed.push(text);
      page.on("pageerror", (error) => onPrinted(String(error)));
      page.on("console", (message) => message.type() !== "info" && onPrinted(message.text()));
      await page.goto(site.url);
      await page.addScriptTag({ type: "module", url: "/main.js" });
      await page.waitForFunction(() => "contract" in globalThis);
    });

    test("the contract", async (t) => {
      const outcomes = await page.evaluate((given) => contract.run(given), html);
      for (const [name, error] of Object.entries(outcomes))
        await t.test(name, () => assert.equal(error, ""));
    });

    test(`${mounts} mounted components leave nothing behind`, async (t) => {
      const mount = (count: number) => contract.mountMany(count);
      await page.evaluate(mount, 1000); // what the contract has left is freed
      let before = (await page.evaluate(mount, 1000)).bytes;
      const growth: number[] = [];
      do {
        const { queries, bytes } = await page.evaluate(mount, mounts);
        assert.equal(queries, 0);
        growth.push(bytes - before);
        before = bytes;
      } while (growth.length < rounds && Number(growth.at(-1)) >= mounts * leakBytes);
      t.diagnostic(`bytes more: ${growth}`);
      assert(Number(growth.at(-1)) < mounts * leakBytes, `bytes more in each round: ${growth}`);
    });

    test("nothing is printed", () => assert.deepEqual(printed, []));
  });
}
