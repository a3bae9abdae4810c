// One round of a peer: a new remote, and a page of a new profile of Chromium.

import { setTimeout as delay } from "node:timers/promises";
import type { Page } from "puppeteer-core";
import { newProfile } from "../../../browser/support/browser.ts";
import { launch } from "../../../browser/support/puppeteer.ts";
import { newPage, serveBench } from "../../support/serve-bench.ts";
import { bundled } from "./libraries.ts";
import type { bench as Bench, PeerId } from "./page.ts";
import { type RemoteName, RemoteProcess } from "./remote-process.ts";
import { editedVersion, requireEdits, type Times, type Workload } from "./workload.ts";

declare const bench: typeof Bench; // inside the page

const remotes: Readonly<Record<PeerId, RemoteName>> = {
  rxdb: "json",
  pouchdb: "pouchdb",
  tanstack: "json",
};

export async function measurePeer(id: PeerId, workload: Workload): Promise<Times> {
  const remote = await RemoteProcess.start(remotes[id]);
  const site = await serveBench(new URL("page.ts", import.meta.url), {
    [`/library/${id}.js`]: await bundled(id),
  });
  const profile = await newProfile();
  const browser = await launch(profile);
  try {
    await remote.call("load", workload.entities);
    return await run(await newPage(browser, site), remote, id, workload);
  } finally {
    await browser.close();
    await site.close();
    await profile.remove();
    await remote.stop();
  }
}

async function run(
  page: Page,
  remote: RemoteProcess,
  id: PeerId,
  { entities, edits, budgetMs }: Workload,
): Promise<Times> {
  const stopped = (step: string) => ({ stopped: `${step} took more than ${budgetMs / 1000} s` });
  await page.evaluate((...call) => bench.open(...call), id, await remote.call("url"));
  const download = page.evaluate((rows) => bench.download(rows), entities);
  const downloadMs = await within(budgetMs, download);
  if (downloadMs === undefined) return stopped("the first download");
  // The outbox does not read: its page fills the collection by itself.
  const times = id === "tanstack" ? {} : { downloadMs };
  const edit = page.evaluate((...call) => bench.editOffline(...call), edits, editedVersion);
  const isEdited = await within(
    budgetMs,
    edit.then(() => true),
  );
  if (!isEdited) return { ...times, ...stopped("making the offline edits") };
  requireEdits(await remote.call("count", editedVersion), 0);
  const push = page.evaluate((rows) => bench.push(rows), edits);
  const began = await within(budgetMs, push);
  const pushed = await remote.call("count", editedVersion);
  if (began === undefined)
    return { ...times, ...stopped(`the push (${pushed} edits were pushed)`) };
  requireEdits(pushed, edits);
  const pushMs = (await remote.call("lastPushAt")) - began;
  await page.evaluate(() => bench.close());
  return { ...times, pushMs };
}

/** Resolves to undefined if the time is over before the work is done. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const timer = new AbortController();
  const over = delay(ms, undefined, { signal: timer.signal }).catch(() => undefined);
  work.catch(() => {}); // it fails when its page is closed
  try {
    return await Promise.race([work, over]);
  } finally {
    timer.abort();
  }
}
