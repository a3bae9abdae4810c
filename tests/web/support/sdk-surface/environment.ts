// The environment in which the official client's checks run, and helpers for the checks. Depends on
// neither Node nor a page, so that it can be bundled for both.

import {
  type AzureNamedKeyCredential,
  type AzureSASCredential,
  type generateAccountSas,
  type generateTableSas,
  type NamedKeyCredential,
  RestError,
  type SignedIdentifier,
  TableClient,
  TableServiceClient,
  type TableServiceClientOptions,
} from "@azure/data-tables";
import { equal } from "../equal.ts";

export type EnvironmentKind =
  | "node" // store.httpClient in Node
  | "page" // store.httpClient in a browser
  | "worker" // the browser's own transport, with responses of a Service Worker
  | "http" // the HTTP of a server
  | "https";

export type Credential = AzureNamedKeyCredential | AzureSASCredential;

export interface Account {
  endpoint: string;
  credential?: Credential; // undefined: requests need no authorization
  options: TableServiceClientOptions;
}

export interface Environment {
  kind: EnvironmentKind;
  account: Account; // with all rights
  hostStyle: Account; // the same account at a URL that names it in the host
  // An account that only accepts signed requests. The client has all permissions. May be the same
  // as `account`.
  locked: Account;
  key: NamedKeyCredential; // of the locked account
  // The signing functions: the client's own, or this package's if the client's build has none.
  signer: { tableSas: typeof generateTableSas; accountSas: typeof generateAccountSas };
  // Sets access policies with the permissions of the locked account's owner.
  setPolicies(table: string, policies: SignedIdentifier[]): Promise<unknown>;
}

export interface Check {
  name: string;
  run(context: CheckContext): Promise<void>;
}

/** The tables of one check. */
export class CheckContext {
  readonly environment: Environment;
  readonly #prefix: string;
  #tables = 0;

  // REQUIRES: no other check has this prefix, which is letters and digits.
  constructor(environment: Environment, prefix: string) {
    this.environment = environment;
    this.#prefix = prefix;
  }

  /** Returns a table name that no other check uses. */
  name(): string {
    return `${this.#prefix}n${++this.#tables}`;
  }

  service(account = this.environment.account): TableServiceClient {
    const { endpoint, credential, options } = account;
    return credential === undefined
      ? new TableServiceClient(endpoint, options)
      : new TableServiceClient(endpoint, credential as AzureSASCredential, options);
  }

  table(name: string, account = this.environment.account): TableClient {
    const { endpoint, credential, options } = account;
    return credential === undefined
      ? new TableClient(endpoint, name, options)
      : new TableClient(endpoint, name, credential as AzureSASCredential, options);
  }

  async newTable(account?: Account): Promise<TableClient> {
    const table = this.table(this.name(), account);
    await table.createTable();
    return table;
  }
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = [];
  for await (const item of items) out.push(item);
  return out;
}

/** Returns the error with which the call rejects. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  const nothing = {};
  const error = await promise.then(
    () => nothing,
    (reason: unknown) => reason,
  );
  if (error === nothing) throw new Error("it was not rejected");
  return error;
}

/** Checks that the service rejects the call in this way. */
export async function assertRejected(promise: Promise<unknown>, status: number, code: string) {
  const error = await rejectionOf(promise);
  if (!(error instanceof RestError)) throw error;
  const { odataError, errorCode } = error.details as {
    odataError?: { code: string };
    errorCode?: string; // from the header, since the client does not parse XML bodies
  };
  const { name, statusCode } = error;
  equal([name, statusCode, odataError?.code ?? errorCode], ["RestError", status, code]);
}
