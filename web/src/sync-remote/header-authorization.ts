// Authorization by a header, for programs in Node: account keys and tokens. Loaded when needed.

import { isNamedKeyCredential } from "../data-tables/credentials.ts";
import { serviceVersion } from "../data-tables/service-responses.ts";
import type { NamedKeyCredential, TokenCredential } from "../data-tables/types.ts";
import { base64, fromBase64 } from "../edm/edm.ts";
import { loadHmac } from "../rest/account.ts";
import type { Authorization } from "./authorization.ts";

type Token = NonNullable<Awaited<ReturnType<TokenCredential["getToken"]>>>;

const tokenAheadMs = 120_000; // a token is replaced so long before it expires

export class HeaderAuthorizer {
  #token: Token | undefined;
  #nextToken: Promise<Token> | undefined;

  /** `serviceMs`: the service's time. Rejects if there is no token now. */
  async authorize(
    credential: NamedKeyCredential | TokenCredential,
    url: URL,
    wallMs: number,
    serviceMs: number,
  ): Promise<Authorization> {
    if (isNamedKeyCredential(credential)) {
      const date = new Date(serviceMs).toUTCString();
      return authorization(await signed(credential, url, date), credential);
    }
    const token = await this.#bearer(credential, url, wallMs);
    return authorization({ Authorization: `Bearer ${token.token}` }, token);
  }

  /** The service has rejected a request that was made with this. */
  reject(madeWith: object): void {
    if (madeWith === this.#token) this.#token = undefined;
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
