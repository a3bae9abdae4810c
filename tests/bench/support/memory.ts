// What a page's process holds.

import { readFileSync } from "node:fs";
import type { Browser } from "puppeteer-core";

// Of the largest page's process, in megabytes: what is its own, and not shared with other processes.
export async function memoryOf(browser: Browser): Promise<number> {
  const session = await browser.target().createCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const anonymous = processInfo
    .filter(({ type }) => type === "renderer")
    .map(({ id }) => /RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1]);
  return Math.max(...anonymous.map(Number)) / 1024;
}
