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
}

const tokenAheadMs = 120_000; // a token is replaced so long before it expires

export class Authorizer {
  readonly #source: CredentialSource | undefined;
  #credential: Promise<Credential> | undefined;
  #token: { token: string; expiresOnTimestamp: number } | undefined;
  /** How far the service's clock is ahead of this machine's, if that made it reject a request. */
  aheadMs = 0;

  constructor(source: CredentialSource | undefined) {
    this.#source = source;
  }

  /** Rejects if there is no credential now. */
  async authorize(url: URL, wallMs: number): Promise<Authorization> {
    if (this.#source === undefined) return { query: "", headers: {} };
    this.#credential ??= this.#current();
    const credential = await this.#credential;
    if (isSASCredential(credential)) {
      return { query: credential.signature.replace(/^\?/, ""), headers: {} };
    }
    const headers = isNamedKeyCredential(credential)
      ? await signed(credential, url, new Date(wallMs + this.aheadMs).toUTCString())
      : { Authorization: `Bearer ${await this.#bearer(credential, url, wallMs)}` };
    return { query: "", headers: { ...headers, "x-ms-version": serviceVersion } };
  }

  /** The next request asks for another credential. */
  refresh(): void {
    this.#credential = undefined;
    this.#token = undefined;
  }

  async #current(): Promise<Credential> {
    try {
      const source = this.#source as CredentialSource;
      return isTokenCredential(source) || typeof source !== "function" ? source : await source();
    } catch (error) {
      this.#credential = undefined; // the next request asks again
      throw error;
    }
  }

  async #bearer(credential: TokenCredential, url: URL, wallMs: number): Promise<string> {
    if (this.#token === undefined || this.#token.expiresOnTimestamp < wallMs + tokenAheadMs) {
      const service = /\.cosmos(?:db)?\./.test(url.host) ? "cosmos" : "storage";
      const token = await credential.getToken(`https://${service}.azure.com/.default`);
      if (token === null) throw new Error("The credential has no token.");
      this.#token = token;
    }
    return this.#token.token;
  }
}

/** Shared Key Lite. */
async function signed({ name, key }: NamedKeyCredential, url: URL, date: string) {
  const hmac = await loadHmac();
  const text = new TextEncoder().encode(`${date}\n/${name}${url.pathname}`);
  const signature = base64(hmac(fromBase64(key), text));
  return { "x-ms-date": date, Authorization: `SharedKeyLite ${name}:${signature}` };
}
