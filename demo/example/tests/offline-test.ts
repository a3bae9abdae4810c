// Extends Playwright's test by the shop: the app on a server of its own, because a Service Worker
// needs one, and a backend that the pages reach over the network.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname } from "node:path";
import {
  type Browser,
  type BrowserContext,
  expect,
  type Page,
  test as plain,
} from "@playwright/test";
import { type Backend, newServedBackend } from "./backend.ts";

const hour = 3_600_000;
const built = new URL("../../../build/example/", import.meta.url);
const types: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

export interface Shop {
  backend: Backend;
  /** Opens the offline page in a browser profile of its own, as another user would. */
  open(): Promise<Phone>;
  server: AppServer;
}

/** What the app's server answers. */
interface AppServer {
  /** Whether the connection for a session fails. */
  failsSessions: boolean;
  /** Changes the text of a file, as the next version of the app does. */
  edit(path: string, text: string): string;
}

/** A user's page, in the words of the user. */
export type Phone = ReturnType<typeof phoneOf> & { context: BrowserContext };

export const test = plain.extend<{ shop: Shop }>({
  shop: async ({ browser }, use) => {
    const backend = await newServedBackend();
    const server: AppServer = { failsSessions: false, edit: (_, text) => text };
    const site = await serveApp(server, () => backend.session(hour));
    const phones: Phone[] = [];
    const open = async () => {
      const phone = await openPhone(browser, site.url);
      phones.push(phone);
      return phone;
    };
    await use({ backend, open, server });
    for (const { context } of phones) await context.close();
    site.close();
    await backend.close();
  },
});

async function serveApp(app: AppServer, session: () => unknown) {
  const server = createServer(async ({ url = "" }, response) => {
    const path = url.slice(1);
    response.setHeader("content-type", types[extname(path)] ?? "text/plain");
    // As a server without the header does: browsers then choose a time.
    if (path === "offline.html") response.setHeader("cache-control", "max-age=3600");
    try {
      if (path !== "session.json") {
        const file = await readFile(new URL(path, built));
        response.end(/\.(html|js)$/.test(path) ? app.edit(path, file.toString()) : file);
      } else if (app.failsSessions) response.destroy();
      else response.end(JSON.stringify(session()));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close };
}

async function openPhone(browser: Browser, site: string): Promise<Phone> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${site}offline.html`);
  const phone = phoneOf(page);
  await expect(phone.status).toHaveText("All changes are saved.");
  await page.evaluate(async () => void (await navigator.serviceWorker.ready));
  return { ...phone, context };
}

function phoneOf(page: Page) {
  const sync = page.getByRole("complementary", { name: "Sync" });
  const item = (name: string) => page.getByRole("listitem", { name, exact: true });
  return {
    page,
    item,
    status: sync.getByRole("status"),
    conflict: (name: string) => sync.getByRole("listitem", { name: `Conflict: ${name}` }),
    syncNow: () => sync.getByRole("button", { name: "Sync now" }).click(),
    another: (name: string) => page.getByRole("button", { name: `Another ${name}` }).click(),
    tick: (name: string) => item(name).getByRole("checkbox").click(),
    add: async (name: string) => {
      await page.getByLabel("Name").fill(name);
      await page.getByRole("button", { name: "Add", exact: true }).click();
    },
  };
}
