// What both clients are made of: where their calls go, and what comes back to their callers.

import { checkOptions } from "../client/write-rules.ts";
import { RestError, StoreError, serviceError } from "../errors.ts";
import type { StoreHandle } from "../store.ts";
import type { OperationOptions, Store } from "../types.ts";
import { type Address, addressOf } from "./address.ts";
import { isCredential, isNamedKeyCredential, isTokenCredential } from "./credentials.ts";
import { findSource, Source } from "./stores.ts";
import type { ClientOptions, Credential } from "./types.ts";
import { type ResponseHeaders, responseHeaders, serviceVersion, wireError } from "./wire.ts";

export class Connection {
  readonly #url: string;
  readonly #address: Address;
  readonly #own: Source | undefined;
  readonly #hasToken: boolean;
  readonly #version: string;
  readonly #readable: boolean;
  readonly portable: boolean;

  // Throws NotSupported for options that are about requests, and TypeError if the URL is none.
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
    refuseTransport(options);
    const { store } = options;
    this.#url = options.endpoint || url;
    this.#address = addressOf(this.#url);
    this.#own = store === undefined ? undefined : new Source(() => store);
    this.#hasToken = isTokenCredential(credential);
    this.#version = options.version || serviceVersion;
    this.#readable = options.errorMessages === "readable";
    this.portable = options.portable ?? false;
    if (isNamedKeyCredential(credential)) this.#warnOfKey(options);
  }

  // A read.
  async run<T>(options: OperationOptions, call: (store: Store) => T | Promise<T>): Promise<T> {
    return await this.#call(options, call, false);
  }

  async write<T>(
    options: OperationOptions,
    call: (store: Store) => Promise<T>,
    isTransaction = false,
  ): Promise<T> {
    const checked = this.#address.secondary ? refuseWrite : call;
    return await this.#call(options, checked, isTransaction);
  }

  headers(store: Store): ResponseHeaders {
    return responseHeaders(this.#version, (store as StoreHandle).door);
  }

  // The account is looked up anew for every call: tests change the default between them.
  async #call<T>(
    options: OperationOptions,
    call: (store: Store) => T | Promise<T>,
    isTransaction: boolean,
  ): Promise<T> {
    checkOptions(options);
    const { account } = this.#address;
    const source = this.#own ?? findSource(account, this.#url, this.#hasToken);
    const store = await source.get();
    try {
      return await call(store);
    } catch (error) {
      if (this.#readable || !(error instanceof RestError)) throw error;
      throw wireError(error, isTransaction, (store as StoreHandle).door);
    }
  }

  #warnOfKey({ onWarning }: ClientOptions): void {
    if (this.#address.local || !("document" in globalThis)) return;
    const message =
      `The key of account "${this.#address.account}" is in a page, where every visitor can read it. ` +
      "It is not needed to talk to a store.";
    onWarning?.({ code: "AccountKeyInPage", message });
  }
}

// The pipeline, as options and as property of a client.
export function noTransport(what: string): StoreError {
  return new StoreError("NotSupported", `There is no ${what} here: no request is sent.`, {
    hint: "Who needs it keeps the client of @azure/data-tables, with its option httpClient: store.httpClient.",
  });
}

function refuseTransport(options: object): void {
  for (const name of ["httpClient", "additionalPolicies", "pipeline"]) {
    if ((options as Record<string, unknown>)[name] !== undefined) throw noTransport(name);
  }
}

function refuseWrite(): never {
  throw serviceError(403, "InsufficientAccountPermissions", "Write operations are not allowed.");
}
