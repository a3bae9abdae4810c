// `entitable/playwright`: serves requests that tested pages send to the Table service from a store
// in the test's process.

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
import type { RestEntryPoint } from "./rest/entry-point.ts";
import { httpResponseFromError, isSimulatedNetworkError } from "./rest/error-response.ts";
import { serviceUrlPattern } from "./rest/service-url.ts";
import type { StoreHandle } from "./store.ts";
import { mockStore } from "./testing/mock-store.ts";
import type { MockOptions, MockStore } from "./testing/types.ts";
import type { Store } from "./types.ts";

export interface RouteOptions {
  /**
   * A prefix or pattern of the URLs to serve. Default: `*.table.core.windows.net`, and port 10002
   * (the emulator's) of any host.
   */
  baseUrl?: string | RegExp;
}

/**
 * Serves requests of a context or page to the Table service from the store. Playwright lets pages
 * of every origin read the responses. Which response headers they can read (continuation tokens,
 * ETags) depends on the account's CORS rules, as with the service. `account: { permissiveCors: true
 * }` allows all of them.
 */
export async function routeTables(
  context: BrowserContext | Page,
  store: Store,
  options: RouteOptions = {},
): Promise<void> {
  const { restEntryPoint } = store as StoreHandle;
  await context.route(serviceUrlPattern(options.baseUrl), (route, request) =>
    handleRequest(restEntryPoint, route, request),
  );
}

export interface TablesFixtures {
  /**
   * A store in memory for this test. It serves the test's pages even if the test does not use this
   * fixture. It is a fork of a store that each worker process opens once.
   */
  tables: MockStore;
  /**
   * The options of the fixture `tables`, such as seed, clock and fixtures. As in every mock store,
   * the default account is the emulator's, `devstoreaccount1`, which pages of every origin may use.
   */
  tablesOptions: MockOptions;
}

/** Playwright's `test` with the fixture `tables`. */
export const test: TestType<
  PlaywrightTestArgs & PlaywrightTestOptions & TablesFixtures,
  PlaywrightWorkerArgs & PlaywrightWorkerOptions
> = base.extend<TablesFixtures, { tablesOrigin: StoreCache }>({
  tablesOptions: [{}, { option: true }],
  tablesOrigin: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads from the pattern what a fixture uses
    async ({}, use) => {
      await using origin = new StoreCache();
      await use(origin);
    },
    { scope: "worker" },
  ],
  tables: [
    async ({ context, tablesOptions, tablesOrigin }, use) => {
      await using store = (await tablesOrigin.storeWith(tablesOptions)).fork();
      await routeTables(context, store);
      await use(store);
    },
    { auto: true },
  ],
});

// The store that the tests of a worker process fork. Playwright runs tests with the same options
// one after the other, so only the last store is kept.
class StoreCache {
  #options: MockOptions | undefined;
  #store: Promise<MockStore> | undefined;

  // Returns a store with these options. Fork it immediately: the next call with other options
  // closes it. Rejects for the same reasons as mockStore().
  async storeWith(options: MockOptions): Promise<MockStore> {
    if (this.#store === undefined || options !== this.#options) {
      await this[Symbol.asyncDispose]();
      this.#options = options;
      this.#store = mockStore(options);
    }
    return this.#store;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const store = this.#store;
    this.#store = undefined;
    await (await store?.catch(() => undefined))?.close();
  }
}

// Playwright's names for the simulated network failures.
const abortReasons: Readonly<Record<string, string>> = {
  ENOTFOUND: "internetdisconnected",
  ECONNRESET: "connectionreset",
  ETIMEDOUT: "timedout",
  PARSE_ERROR: "connectionclosed", // Playwright cannot truncate a response
};

async function handleRequest(
  restEntryPoint: RestEntryPoint,
  route: Route,
  request: Request,
): Promise<void> {
  const response = await restEntryPoint
    .send({
      method: request.method(),
      url: request.url(),
      headers: Object.entries(request.headers()),
      body: request.postDataBuffer() ?? new Uint8Array(),
    })
    .catch((cause: unknown) =>
      isSimulatedNetworkError(cause) ? cause : httpResponseFromError(cause, restEntryPoint.random),
    );
  if (isSimulatedNetworkError(response)) {
    await route.abort(abortReasons[response.code ?? ""] ?? "failed");
    return;
  }
  const { status, headers, body } = response;
  await route.fulfill({ status, headers: Object.fromEntries(headers), body: Buffer.from(body) });
}
