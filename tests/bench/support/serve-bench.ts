// Serves a site with the package as users get it, and a page that runs one script of a benchmark.

import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Browser, Page } from "puppeteer-core";
import { type Site, serve } from "../../browser/support/server.ts";

const staging = fileURLToPath(new URL("../../../build/package/staging", import.meta.url));

// `entry`: a script that sets globalThis.bench. The package and `scripts` (by path) are served
// separately and not bundled into it.
export async function serveBench(
  entry: URL,
  scripts: Readonly<Record<string, string>> = {},
): Promise<Site> {
  const built = await build({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
    format: "esm",
    write: false,
    external: ["/dist/*", "/library/*"],
  });
  const script = built.outputFiles[0]?.text ?? "";
  return await serve(staging, {
    override: (path) => {
      const body = path === "/bench.js" ? script : scripts[path];
      if (body !== undefined) return { type: "text/javascript", body };
      if (path === "/")
        return { body: '<!doctype html><script type="module" src="/bench.js"></script>' };
      return path === "/favicon.ico" ? { status: 204, body: "" } : undefined;
    },
  });
}

// Opens a page and waits until its script has run.
export async function newPage(browser: Browser, site: Site): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(site.url);
  await page.waitForFunction(() => "bench" in globalThis);
  return page;
}
