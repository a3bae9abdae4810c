// Chromium controlled by Puppeteer, for what Playwright does not offer.
import puppeteer, { type Browser, type LaunchOptions } from "puppeteer-core";
import { executable, flags, type Profile } from "./browser.ts";

// Starts Chromium with this profile. evaluate() has no timeout.
export function launch(
  { folder }: Pick<Profile, "folder">,
  more?: LaunchOptions,
): Promise<Browser> {
  return puppeteer.launch({
    executablePath: executable(),
    headless: true,
    userDataDir: folder,
    args: flags,
    protocolTimeout: 3_600_000,
    ...more,
  });
}
