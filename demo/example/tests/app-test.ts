// Extends Playwright's test by the tables and the app's page, without a server: this process
// answers all requests of the browser.

import { fileURLToPath } from "node:url";
import {
  type PlaywrightTestArgs,
  type PlaywrightWorkerArgs,
  test as plain,
  type TestType,
} from "@playwright/test";
import { test as withTables } from "entitable/playwright";
import type { Session } from "../src/list.ts";
import { azurite, type Backend, mock, mockOptions, onAzurite } from "./backend.ts";

interface Fixtures {
  backend: Backend;
  /**
   * Opens the app in the test's page. The app's session requests get these sessions in order; after
   * the last session, every request gets the last one.
   */
  open: (...sessions: Session[]) => Promise<void>;
}

const built = fileURLToPath(new URL("../../../build/example/", import.meta.url));
const site = "https://shopping.test/"; // https, because the client needs a secure context

const onTables = onAzurite
  ? plain.extend<Pick<Fixtures, "backend">>({
      backend: async ({ context }, use) => {
        await context.grantPermissions(["local-network-access"]);
        const backend = await azurite();
        await use(backend);
        await backend.close();
      },
    })
  : withTables.extend<Pick<Fixtures, "backend">>({
      tablesOptions: mockOptions,
      backend: ({ tables }, use) => use(mock(tables)),
    });

export const test = (
  onTables as TestType<PlaywrightTestArgs & Pick<Fixtures, "backend">, PlaywrightWorkerArgs>
).extend<Fixtures>({
  open: ({ page }, use) =>
    use(async (...sessions) => {
      await page.route(`${site}**`, (route, request) => {
        const path = new URL(request.url()).pathname.slice(1) || "index.html";
        if (path !== "session.json") return route.fulfill({ path: built + path });
        const json = sessions.length > 1 ? sessions.shift() : sessions[0];
        return route.fulfill({ json });
      });
      await page.goto(site);
    }),
});
