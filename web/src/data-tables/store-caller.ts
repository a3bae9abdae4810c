// Connection: the part that TableClient and TableServiceClient share. It sends calls to the store
// and converts the results to the official client's form.

import { checkOperationOptions } from "../client/operation-checks.ts";
import { RestError, StoreError, serviceError } from "../errors.ts";
import type { StoreHandle } from "../store.ts";
import type { OperationOptions, Store } from "../types.ts";
import { isolatedListener } from "../util/isolated-listener.ts";
import { type AccountUrl, parseAccountUrl } from "./account-url.ts";
import { isCredential, isNamedKeyCredential, isTokenCredential } from "./credentials.ts";
import {
  type ResponseHeaders,
  responseHeaders,
  serviceVersion,
  toServiceError,
} from "./service-responses.ts";
import { findLazyStore, LazyStore } from "./store-lookup.ts";
import type { ClientOptions, Credential } from "./types.ts";

declare const process: { env: { NODE_ENV?: string } };

let checks: Promise<typeof import("./ignored-options.ts")> | undefined;

export class StoreCaller {
  readonly #url: string;
  readonly #address: AccountUrl;
  readonly #givenStore: LazyStore | undefined;
  readonly #hasToken: boolean;
  readonly #version: string;
  readonly #hasReadableErrors: boolean;
  readonly #onWarning: ClientOptions["onWarning"];
  readonly portable: boolean;

  // Throws NotSupported for options that concern HTTP requests, and TypeError if the URL is
  // invalid.
  constructor(
    url: string,
    credentialOrOptions: Credential | ClientOptions | undefined,
    optionsAfterCredential: ClientOptions | undefined,
  ) {
    const credential = isCredential(credentialOrOptions) ? credentialOrOptions : undefined;
    const options =
      (credential === undefined
        ? (credentialOrOptions as ClientOptions | undefined)
        : optionsAfterCredential) ?? {};
    rejectTransportOptions(options);
    const { store } = options;
    this.#url = options.endpoint || url;
    this.#address = parseAccountUrl(this.#url);
    this.#givenStore = store === undefined ? undefined : new LazyStore(() => store);
    this.#hasToken = isTokenCredential(credential);
    this.#version = options.version || serviceVersion;
    this.#hasReadableErrors = options.errorMessages === "readable";
    this.#onWarning = options.onWarning;
    this.portable = options.portable ?? false;
    if (isNamedKeyCredential(credential)) this.#warnAboutKeyInPage();
  }

  async read<T>(options: OperationOptions, call: (store: Store) => T | Promise<T>): Promise<T> {
    return await this.#call(options, call, false);
  }

  async write<T>(
    options: OperationOptions,
    call: (store: Store) => Promise<T>,
    isTransaction = false,
  ): Promise<T> {
    const checked = this.#address.secondary ? rejectWrite : call;
    return await this.#call(options, checked, isTransaction);
  }

  createResponseHeaders(store: Store): ResponseHeaders {
    return responseHeaders(this.#version, (store as StoreHandle).restEntryPoint);
  }

  // In development, warns of an option that is not in `known`.
  checkOptions(store: Store, method: string, options: object, known: readonly string[]): void {
    try {
      // exactly this expression in this place, so that bundlers remove the import
      if (process.env.NODE_ENV !== "production") {
        const onWarning = this.#onWarning ?? (store as StoreHandle).onWarning;
        if (onWarning === undefined) return;
        checks ??= import("./ignored-options.ts");
        checks
          .then(({ warnOfIgnoredOption }) => warnOfIgnoredOption(method, options, known, onWarning))
          .catch(() => {});
      }
    } catch {
      // A page without a bundler has no `process`, so it counts as production.
    }
  }

  // The store is looked up at every call, because tests change the default store between calls.
  async #call<T>(
    options: OperationOptions,
    call: (store: Store) => T | Promise<T>,
    isTransaction: boolean,
  ): Promise<T> {
    checkOperationOptions(options);
    const { account } = this.#address;
    const source = this.#givenStore ?? findLazyStore(account, this.#url, this.#hasToken);
    const store = await source.get();
    try {
      return await call(store);
    } catch (error) {
      if (this.#hasReadableErrors || !(error instanceof RestError)) throw error;
      throw toServiceError(error, isTransaction, (store as StoreHandle).restEntryPoint);
    }
  }

  #warnAboutKeyInPage(): void {
    if (this.#address.local || !("document" in globalThis)) return;
    const message =
      `The key of account "${this.#address.account}" is in a page, where every visitor can read ` +
      "it. A store does not need the key.";
    if (this.#onWarning !== undefined)
      isolatedListener(this.#onWarning)({ code: "AccountKeyInPage", message });
  }
}

// Returns the error for an option or property (`what`) that concerns HTTP requests.
export function httpNotSupportedError(what: string): StoreError {
  return new StoreError(
    "NotSupported",
    `${what} is not supported, because no HTTP request is sent.`,
    {
      hint:
        "Use the client of @azure/data-tables with its option httpClient: store.httpClient. " +
        "It runs over a store and has an HTTP pipeline.",
    },
  );
}

function rejectTransportOptions(options: object): void {
  for (const name of ["httpClient", "additionalPolicies", "pipeline"]) {
    if ((options as Record<string, unknown>)[name] !== undefined) throw httpNotSupportedError(name);
  }
}

function rejectWrite(): never {
  throw serviceError(
    403,
    "InsufficientAccountPermissions",
    "Write operations are not allowed.",
    "The URL is that of the secondary endpoint, which is read-only. Use the primary one.",
  );
}
