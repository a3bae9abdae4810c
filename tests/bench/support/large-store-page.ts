// Runs the steps of larger-than-memory.ts in a page of Chromium.

import { newProfile } from "../../browser/support/browser.ts";
import { memoryOf } from "../../browser/support/process-memory.ts";
import { launch } from "../../browser/support/puppeteer.ts";
import type { bench as Bench } from "../larger-than-memory-page.ts";
import type { Place } from "../larger-than-memory-steps.ts";
import { newPage, serveBench } from "./serve-bench.ts";

declare const bench: typeof Bench; // inside the page

export async function inChromium(entities: number, memoryLimit: number): Promise<Place> {
  const site = await serveBench(new URL("../larger-than-memory-page.ts", import.meta.url));
  const profile = await newProfile();
  const browser = await launch(profile);
  const page = await newPage(browser, site);
  await page.evaluate((...given) => bench.start(...given), entities, memoryLimit);
  return {
    run: (step) => page.evaluate((name) => bench.run(name), step),
    megabytes: () => memoryOf(browser),
    async remove() {
      await browser.close();
      await site.close();
      await profile.remove();
    },
  };
}
