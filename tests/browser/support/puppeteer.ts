// Chromium driven by Puppeteer, where Playwright hides what is wanted of it.
import puppeteer, { type Browser, type LaunchOptions } from "puppeteer-core";
import { executable, flags, type Profile } from "./browser.ts";

// On this profile. An evaluate() may take as long as it likes.
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
