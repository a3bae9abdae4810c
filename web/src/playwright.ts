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
import type { RestEntryPoint } from "./rest/entry-point.ts";
import { isSimulatedNetworkError, responseFromError } from "./rest/error-response.ts";
import { serviceUrlPattern } from "./rest/service-url.ts";
import type { StoreHandle } from "./store.ts";
import { mockStore } from "./testing/mock-store.ts";
import type { MockOptions, MockStore } from "./testing/types.ts";
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
  const { restEntryPoint } = store as StoreHandle;
  await context.route(serviceUrlPattern(options.baseUrl), (route, request) =>
    handleRequest(restEntryPoint, route, request),
  );
}

export interface TablesFixtures {
  /**
   * A store in memory for this test alone, which answers its pages whether the test asks for it or not: a fork of one that each
   * worker process opens once.
   */
  tables: MockStore;
  /**
   * Seed, clock, fixtures and so on of that store. The account is the emulator's, `devstoreaccount1`, open to pages of every
   * origin, unless another one is given.
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

const emulator: AccountOptions = { name: "devstoreaccount1", permissiveCors: true };

// The store that a worker's tests fork. Tests that share options follow each other, so it is enough to keep that of the last ones.
class StoreCache {
  #options: MockOptions | undefined;
  #store: Promise<MockStore> | undefined;

  // The caller forks it at once: the next call may close it. Rejects as mockStore does.
  async storeWith(options: MockOptions): Promise<MockStore> {
    if (this.#store === undefined || options !== this.#options) {
      await this[Symbol.asyncDispose]();
      this.#options = options;
      this.#store = mockStore({ account: emulator, ...options });
    }
    return this.#store;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const store = this.#store;
    this.#store = undefined;
    await (await store?.catch(() => undefined))?.close();
  }
}

// How a browser says what the network did.
const abortReasons: Readonly<Record<string, string>> = {
  ENOTFOUND: "internetdisconnected",
  ECONNRESET: "connectionreset",
  ETIMEDOUT: "timedout",
  PARSE_ERROR: "connectionclosed", // half an answer can't be given
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
      isSimulatedNetworkError(cause) ? cause : responseFromError(cause, restEntryPoint.random),
    );
  if (isSimulatedNetworkError(response)) {
    await route.abort(abortReasons[response.code ?? ""] ?? "failed");
    return;
  }
  const { status, headers, body } = response;
  await route.fulfill({ status, headers: Object.fromEntries(headers), body: Buffer.from(body) });
}
