// One round of a peer: a new remote, and a page of a new profile of Chromium.

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
  { entities, edits }: Workload,
): Promise<Times> {
  page.on("console", (message) => console.error(`${id}: ${message.text()}`));
  await page.evaluate((...call) => bench.open(...call), id, await remote.call("url"));
  const downloadMs = await page.evaluate((rows) => bench.download(rows), entities);
  await page.evaluate((...call) => bench.editOffline(...call), edits, editedVersion);
  requireEdits(await remote.call("count", editedVersion), 0);
  const began = await page.evaluate((rows) => bench.push(rows), edits);
  requireEdits(await remote.call("count", editedVersion), edits);
  const pushMs = (await remote.call("lastPushAt")) - began;
  await page.evaluate(() => bench.close());
  // The outbox does not read: its page fills the collection by itself.
  return id === "tanstack" ? { pushMs } : { downloadMs, pushMs };
}
