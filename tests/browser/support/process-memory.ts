// Memory of processes, in megabytes.

import { readFileSync } from "node:fs";
import type { Browser } from "puppeteer-core";

// Returns the memory of the largest page's process.
export async function memoryOf(browser: Browser): Promise<number> {
  const session = await browser.target().createCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const pages = processInfo.filter(({ type }) => type === "renderer");
  return Math.max(...pages.map(({ id }) => anonymousMegabytes(id)));
}

// Returns the memory that a process does not share with others.
export function anonymousMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}
