// Adds a credential to requests. A shared access signature goes into the URL, so that a GET of a
// page needs no preflight.

import {
  isNamedKeyCredential,
  isSASCredential,
  isTokenCredential,
} from "../data-tables/credentials.ts";
import { serviceVersion } from "../data-tables/service-responses.ts";
import type { Credential, NamedKeyCredential, TokenCredential } from "../data-tables/types.ts";
import { base64, fromBase64 } from "../edm/edm.ts";
import { loadHmac } from "../rest/account.ts";

/** A function is called for the first request, and again when the remote rejects a credential. */
export type CredentialSource = Credential | (() => Promise<Credential>);

export interface Authorization {
  readonly query: string; // of the URL, without "?"
  readonly headers: Readonly<Record<string, string>>;
  /** What it was made with: a credential or a token. */
  readonly madeWith: object | undefined;
}

type Token = NonNullable<Awaited<ReturnType<TokenCredential["getToken"]>>>;

const tokenAheadMs = 120_000; // a token is replaced so long before it expires

export class Authorizer {
  readonly #source: CredentialSource | undefined;
  #credential: Promise<Credential> | undefined;
  #known: Credential | undefined; // that of #credential, once it is known
  #token: Token | undefined;
  #nextToken: Promise<Token> | undefined;
  /** What the service has rejected last. */
  #rejected: object | undefined;
  /** How far the service's clock is ahead of this machine's, if that made it reject a request. */
  aheadMs = 0;

  constructor(source: CredentialSource | undefined) {
    this.#source = source;
  }

  /** Rejects if there is no credential now. */
  async authorize(url: URL, wallMs: number): Promise<Authorization> {
    if (this.#source === undefined) return { query: "", headers: {}, madeWith: undefined };
    this.#credential ??= this.#current();
    const credential = await this.#credential;
    this.#known = credential;
    if (isSASCredential(credential)) {
      const query = credential.signature.replace(/^\?/, "");
      return { query, headers: {}, madeWith: credential };
    }
    if (isNamedKeyCredential(credential)) {
      const date = new Date(wallMs + this.aheadMs).toUTCString();
      return authorization(await signed(credential, url, date), credential);
    }
    const token = await this.#bearer(credential, url, wallMs);
    return authorization({ Authorization: `Bearer ${token.token}` }, token);
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
    if (this.#rejected === undefined) return; // perhaps one is awaited
    if (this.#rejected === this.#token) this.#token = undefined;
    if (this.#rejected !== this.#known) return;
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

  /** Requests that begin at once wait for the same token. */
  async #bearer(credential: TokenCredential, url: URL, wallMs: number): Promise<Token> {
    const known = this.#token;
    if (known && known.expiresOnTimestamp >= wallMs + tokenAheadMs) return known;
    this.#nextToken ??= tokenOf(credential, url).finally(() => {
      this.#nextToken = undefined;
    });
    this.#token = await this.#nextToken;
    return this.#token;
  }
}

const authorization = (headers: Record<string, string>, madeWith: object): Authorization => ({
  query: "",
  headers: { ...headers, "x-ms-version": serviceVersion },
  madeWith,
});

async function tokenOf(credential: TokenCredential, url: URL): Promise<Token> {
  const service = /\.cosmos(?:db)?\./.test(url.host) ? "cosmos" : "storage";
  const token = await credential.getToken(`https://${service}.azure.com/.default`);
  if (token === null) throw new Error("The credential has no token.");
  return token;
}

/** Shared Key Lite. */
async function signed({ name, key }: NamedKeyCredential, url: URL, date: string) {
  const hmac = await loadHmac();
  const text = new TextEncoder().encode(`${date}\n/${name}${url.pathname}`);
  const signature = base64(hmac(fromBase64(key), text));
  return { "x-ms-date": date, Authorization: `SharedKeyLite ${name}:${signature}` };
}
