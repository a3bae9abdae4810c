// Chromium controlled by Puppeteer, for what Playwright does not offer.
import puppeteer, { type Browser, type LaunchOptions } from "puppeteer-core";
import { executable, flags, menuFeatures, type Profile } from "./browser.ts";

// Starts Chromium with this profile. evaluate() has no timeout.
export function launch(
  { folder }: Pick<Profile, "folder">,
  more?: LaunchOptions,
): Promise<Browser> {
  return puppeteer.launch({
    executablePath: executable(),
    headless: true,
    userDataDir: folder,
    protocolTimeout: 3_600_000,
    ...more,
    // Puppeteer adds these features to its own.
    args: [...(more?.args ?? flags), `--disable-features=${menuFeatures.join()}`],
  });
}
