// Real Chromium, controlled by Playwright. ENTITABLE_CHROMIUM can name another executable.
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium } from "playwright-core";

// Debian's Chromium cannot use its sandbox as root. By default, it also contacts services of its
// vendor.
export const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
];

// The pages that Chromium loads for the menu of its address bar. They need about as much time as
// everything else that Chromium does when it starts.
export const menuFeatures = ["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"];

// Chromium uses only the last --disable-features, so ours repeats what Playwright disables. A test
// in package.test.ts compares them.
const disabledFeatures = [
  ...menuFeatures,
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "TcpPortRandomizationWin",
  "ThirdPartyStoragePartitioning",
  "msEdgeUpdateLaunchServicesPreferredVersion",
  "msForceBrowserSignIn",
];

// The size of tabs.
export const desktop = { width: 1280, height: 900 };

// How long tests wait for a condition: so long that it does not matter how busy the machine is.
export const waitMs = 60_000;

export function executable(): string {
  const named = process.env["ENTITABLE_CHROMIUM"];
  return named ?? execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
}

export interface Profile {
  readonly folder: string;
  // Opens a browser with this profile, which has what was stored before.
  open(): Promise<BrowserContext>;
  remove(): Promise<void>;
}

export async function newProfile(): Promise<Profile> {
  const folder = await mkdtemp(join(tmpdir(), "entitable-profile-"));
  return {
    folder,
    open: async () => {
      const context = await chromium.launchPersistentContext(folder, {
        executablePath: executable(),
        headless: true,
        args: [...flags, `--disable-features=${disabledFeatures.join()}`],
        viewport: desktop,
      });
      context.setDefaultTimeout(waitMs);
      return context;
    },
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}
