import { defineConfig } from "@playwright/test";

// Playwright's own Chromium (npx playwright install chromium), or the one that ENTITABLE_CHROMIUM
// names.
const executablePath = process.env["ENTITABLE_CHROMIUM"];

export default defineConfig({
  testDir: "tests",
  testMatch: "*.spec.ts",
  outputDir: "../../build/example-results",
  fullyParallel: true,
  timeout: 90_000, // for slow machines
  expect: { timeout: 20_000 },
  use: { launchOptions: executablePath === undefined ? {} : { executablePath } },
});
