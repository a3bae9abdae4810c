// Adds a credential to requests. A shared access signature goes into the URL, so that a GET of a
// page needs no preflight.

import { isSASCredential, isTokenCredential } from "../data-tables/credentials.ts";
import type { Credential, SASCredential } from "../data-tables/types.ts";
import type { HeaderAuthorizer } from "./header-authorization.ts";

/** A function is called for the first request, and again when the remote rejects a credential. */
export type CredentialSource = Credential | (() => Promise<Credential>);

export interface Authorization {
  readonly query: string; // of the URL, without "?"
  readonly headers: Readonly<Record<string, string>>;
  /** What it was made with: a credential or a token. */
  readonly madeWith: object | undefined;
}

export class Authorizer {
  readonly #source: CredentialSource | undefined;
  #credential: Promise<Credential> | undefined;
  #known: Credential | undefined; // that of #credential, once it is known
  #headers: Promise<HeaderAuthorizer> | undefined;
  /** What the service has rejected last. */
  #rejected: object | undefined;
  /** How far the service's clock is ahead of this machine's, if that made it reject a request. */
  aheadMs = 0;

  constructor(source: CredentialSource | undefined) {
    this.#source = source;
  }

  /** What it adds to URLs if the credential is a signature, which the application can update. */
  get query(): string | undefined {
    const source = this.#source;
    return isSASCredential(source) ? queryOf(source) : undefined;
  }

  /** Rejects if there is no credential now. */
  async authorize(url: URL, wallMs: number): Promise<Authorization> {
    if (this.#source === undefined) return { query: "", headers: {}, madeWith: undefined };
    this.#credential ??= this.#current();
    const credential = await this.#credential;
    this.#known = credential;
    if (isSASCredential(credential))
      return { query: queryOf(credential), headers: {}, madeWith: credential };
    this.#headers ??= loadHeaderAuthorizer().catch((error) => {
      this.#headers = undefined; // the next request loads it again
      throw error;
    });
    const headers = await this.#headers;
    return headers.authorize(credential, url, wallMs, wallMs + this.aheadMs);
  }

  /** The service has rejected a request that was made with this. */
  reject(madeWith: object | undefined): void {
    this.#rejected = madeWith;
  }

  /**
   * The next request asks for another credential, unless that which was rejected has been replaced
   * already: many requests are rejected at once.
   */
  refresh(): void {
    const rejected = this.#rejected;
    if (rejected === undefined) return; // perhaps a credential is awaited
    this.#headers?.then(
      (headers) => headers.reject(rejected),
      () => {},
    );
    if (rejected !== this.#known) return;
    this.#credential = undefined;
    this.#known = undefined;
  }

  async #current(): Promise<Credential> {
    const source = this.#source as CredentialSource;
    if (isTokenCredential(source) || typeof source !== "function") return source;
    try {
      return await source();
    } catch (error) {
      this.#credential = undefined; // the next request asks again
      throw error;
    }
  }
}

const queryOf = ({ signature }: SASCredential): string => signature.replace(/^\?/, "");

async function loadHeaderAuthorizer(): Promise<HeaderAuthorizer> {
  const { HeaderAuthorizer } = await import("./header-authorization.ts");
  return new HeaderAuthorizer();
}
