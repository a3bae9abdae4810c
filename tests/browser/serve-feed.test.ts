// Tests the change feed of a server in real Chromium: EventSource on a page of another origin.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openStore, packageFolder } from "../web/support/package.ts";
import { newProfile } from "./support/browser.ts";
import { blankPage, serve as serveFolder } from "./support/server.ts";

const { serve }: typeof import("../../web/src/server/serve.ts") = await import(
  new URL("dist/server/serve.js", packageFolder).href
);

interface FeedPage {
  rows: { rowKey: string; ms: number }[];
  opens: number;
}

test("EventSource follows a server, also across its restart", async (t) => {
  const path = mkdtempSync(join(tmpdir(), "entitable-"));
  const account = { name: "acct", permissiveCors: true };
  const store = await openStore({ name: "acct", persistence: "file", path, account });
  const lamps = store.table("lamps");
  await lamps.createTable();
  let server = await serve(store, { port: 0, feed: true });
  const site = await serveFolder(path, { override: blankPage });
  const profile = await newProfile();
  const context = await profile.open();
  t.after(async () => {
    await context.close();
    await profile.remove();
    await site.close();
    await server.close();
    await store.close();
    rmSync(path, { recursive: true });
  });
  const page = await context.newPage();
  await page.goto(site.url);
  await page.evaluate((url) => {
    const seen: FeedPage = { rows: [], opens: 0 };
    const source = new EventSource(url);
    source.onopen = () => {
      seen.opens += 1;
    };
    source.onmessage = ({ data }) => {
      for (const { rowKey, after } of JSON.parse(data).changes)
        seen.rows.push({ rowKey, ms: Date.now() - Number(after.at) });
    };
    Object.assign(globalThis, { seen });
  }, `${server.url}/acct/_changes?table=lamps`);
  const seen = () => page.evaluate(() => (globalThis as unknown as { seen: FeedPage }).seen);
  const opened = (opens: number) =>
    page.waitForFunction(
      (n) => (globalThis as unknown as { seen: FeedPage }).seen.opens >= n,
      opens,
    );
  const hasRows = (count: number) =>
    page.waitForFunction(
      (n) => (globalThis as unknown as { seen: FeedPage }).seen.rows.length >= n,
      count,
    );
  let written = 0;
  const write = async (count: number) => {
    for (let i = 0; i < count; ++i)
      await lamps.createEntity({ partitionKey: "p", rowKey: `${++written}`, at: `${Date.now()}` });
  };

  await opened(1);
  await write(50);
  await hasRows(50);
  const times = (await seen()).rows.map(({ ms }) => ms).sort((a, b) => a - b);
  t.diagnostic(
    `from a write to its event in Chromium: median ${times[25]} ms, p95 ${times[47]} ms`,
  );

  const { port } = server;
  await server.close();
  await write(10); // while nothing listens
  server = await serve(store, { port, feed: true });
  await opened(2);
  await write(10);
  await hasRows(70);
  const keys = (await seen()).rows.map(({ rowKey }) => Number(rowKey));
  assert.deepEqual(
    keys,
    Array.from({ length: 70 }, (_, i) => i + 1),
  );
});
