// The processes of pages, and the memory of processes in megabytes.

import { readFileSync } from "node:fs";
import type { Browser } from "puppeteer-core";

// Returns the processes that run pages, with the processor's time so far, in seconds. Waits until
// the browser can be asked: shortly after it was started, browser.target() may not find it.
export async function pageProcesses(browser: Browser) {
  const target = await browser.waitForTarget((one) => one.type() === "browser");
  const session = await target.createCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return processInfo.filter(({ type }) => type === "renderer");
}

// Returns the memory of the largest page's process.
export async function memoryOf(browser: Browser): Promise<number> {
  const pages = await pageProcesses(browser);
  return Math.max(...pages.map(({ id }) => anonymousMegabytes(id)));
}

// Returns the memory that a process does not share with others.
export function anonymousMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}
