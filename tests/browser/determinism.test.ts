// The same seed gives the same bytes in Chromium as in Node: in a page, in its worker, and in a
// Service Worker that answers the page's own fetch.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { BrowserContext, Page } from "playwright-core";
import { mockStore } from "../../web/src/testing/index.ts";
import { newProject } from "../web/support/project.ts";
import { digest, options, transcriptOf } from "../web/support/transcript.ts";
import { newProfile, type Profile } from "./support/browser.ts";
import { staging } from "./support/package-site.ts";
import { type Site, serve } from "./support/server.ts";

const support = fileURLToPath(new URL("../web/support/transcript.ts", import.meta.url));

// Each script with all that it needs, bundled as a bundler would.
const scripts = {
  page: `
    globalThis.ofStore = async () => digest(await transcriptOf(await open()));
    globalThis.ofFetch = async () => digest(await transcript((url, init) => fetch(url, init)));`,
  worker: "open().then(transcriptOf).then(digest).then(postMessage);",
  "service-worker": `
    import "entitable/service-worker";
    entitable.serve({ account: "mock", store: open() });
    addEventListener("install", () => skipWaiting());
    addEventListener("activate", (event) => event.waitUntil(clients.claim()));`,
};

let profile: Profile;
let context: BrowserContext;
let site: Site;
let folder: string; // the site's folder
let page: Page;
let expected: string;

before(async () => {
  const project = newProject();
  folder = mkdtempSync(join(tmpdir(), "entitable-places-"));
  symlinkSync(join(staging, "dist"), join(folder, "dist"));
  for (const [name, script] of Object.entries(scripts)) {
    const entry = join(project, `${name}.js`);
    const common = `
      import { mockStore } from "entitable/testing";
      import { digest, options, transcript, transcriptOf } from ${JSON.stringify(support)};
      const open = () => mockStore({ ...options, wasm: "/dist/wasm/entitable.wasm" });`;
    writeFileSync(entry, common + script);
    const outfile = join(folder, `${name}.js`);
    await build({ entryPoints: [entry], outfile, bundle: true, format: "iife", logLevel: "error" });
  }
  rmSync(project, { recursive: true });
  const body = '<!doctype html><script src="/page.js"></script>';
  site = await serve(folder, { override: (path) => (path === "/" ? { body } : undefined) });
  profile = await newProfile();
  context = await profile.open();
  page = await context.newPage();
  await page.goto(site.url);
  await using store = await mockStore(options);
  expected = await digest(await transcriptOf(store));
});

after(async () => {
  await context.close();
  await site.close();
  await profile.remove();
  rmSync(folder, { recursive: true });
});

// Functions of the page.
declare const ofStore: () => Promise<string>;
declare const ofFetch: () => Promise<string>;

test("a store in a page has the same responses as one in Node", async () => {
  assert.equal(await page.evaluate(() => ofStore()), expected);
});

test("so does a store in a worker", async () => {
  const said = await page.evaluate(async () => {
    const worker = new Worker("/worker.js");
    return await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
    });
  });
  assert.equal(said, expected);
});

test("so does a store in a Service Worker", async () => {
  await page.evaluate(async () => {
    const { serviceWorker } = navigator;
    const controlled = new Promise((resolve) => {
      serviceWorker.oncontrollerchange = resolve;
    });
    await serviceWorker.register("/service-worker.js");
    await controlled;
  });
  assert.equal(await page.evaluate(() => ofFetch()), expected);
});
