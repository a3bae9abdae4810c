// `entitable/playwright`: pages under test talk to a store in the test's own process instead of the Table service.

import {
  type BrowserContext,
  test as base,
  type Page,
  type PlaywrightTestArgs,
  type PlaywrightTestOptions,
  type PlaywrightWorkerArgs,
  type PlaywrightWorkerOptions,
  type Request,
  type Route,
  type TestType,
} from "@playwright/test";
import { openStore } from "./open.ts";
import { urlPattern } from "./rest/address.ts";
import type { RestDoor } from "./rest/door.ts";
import { failure, isNetworkFailure } from "./rest/failure.ts";
import type { StoreHandle } from "./store.ts";
import type { AccountOptions, Store } from "./types.ts";

export interface RouteOptions {
  /** What URLs begin with, or match. Default: `*.table.core.windows.net` and port 10002 of any host, the emulator's. */
  baseUrl?: string | RegExp;
}

/**
 * Requests of the context, or page, to the Table service are answered by the store. Playwright lets pages of every origin read
 * the answers; which of the headers (continuation tokens, ETags) is a matter of the account's CORS rules, as with the service.
 * `account: { permissiveCors: true }` is as if they allowed everything.
 */
export async function routeTables(
  context: BrowserContext | Page,
  store: Store,
  options: RouteOptions = {},
): Promise<void> {
  const { door } = store as StoreHandle;
  await context.route(urlPattern(options.baseUrl), (route, request) =>
    answer(door, route, request),
  );
}

export interface TablesFixtures {
  /** A fresh store in memory, which answers the test's pages whether the test asks for it or not. */
  tables: Store;
  /** Its account; default: the emulator's, `devstoreaccount1`, open to pages of every origin. */
  tablesAccount: AccountOptions;
}

/** Playwright's `test` with the fixture `tables`. */
export const test: TestType<
  PlaywrightTestArgs & PlaywrightTestOptions & TablesFixtures,
  PlaywrightWorkerArgs & PlaywrightWorkerOptions
> = base.extend<TablesFixtures>({
  tablesAccount: [{ name: "devstoreaccount1", permissiveCors: true }, { option: true }],
  tables: [
    async ({ context, tablesAccount: account }, use) => {
      await using store = await openStore({ persistence: "memory", account });
      await routeTables(context, store);
      await use(store);
    },
    { auto: true },
  ],
});

// How a browser says what the network did.
const networkErrors: Readonly<Record<string, string>> = {
  ENOTFOUND: "internetdisconnected",
  ECONNRESET: "connectionreset",
  ETIMEDOUT: "timedout",
};

async function answer(door: RestDoor, route: Route, request: Request): Promise<void> {
  const answered = await door
    .send({
      method: request.method(),
      url: request.url(),
      headers: Object.entries(request.headers()),
      body: request.postDataBuffer() ?? new Uint8Array(),
    })
    .catch((cause: unknown) => (isNetworkFailure(cause) ? cause : failure(cause, door.random)));
  if (isNetworkFailure(answered)) {
    await route.abort(networkErrors[answered.code ?? ""] ?? "failed");
    return;
  }
  const { status, headers, body } = answered;
  await route.fulfill({ status, headers: Object.fromEntries(headers), body: Buffer.from(body) });
}
