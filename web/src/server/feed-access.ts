// Who may read the change feed. The store's REST entry point decides, by the rules for reading
// entities: a request for the feed is authorized like one that reads all entities of the store, and
// with a shared access signature for a table, like those that read the tables that it names.

import type { RestEntryPoint, RestRequest } from "../rest/entry-point.ts";
import type { HttpResponse } from "../rest/http-message.ts";
import { InvalidFeedRequest, queryOf, tablesOf, tableUrl } from "./feed-request.ts";

export type RequestHead = Omit<RestRequest, "body">;

const statusContinue = 100;

export interface FeedAccess {
  isAllowed: boolean;
  // The response without a body that says so, with the headers of every response, such as those of
  // CORS. If the feed is not allowed, the whole error.
  response: HttpResponse;
}

// Returns the access of a GET request. Of one with another method, only the headers are of use.
// Throws InvalidFeedRequest. Rejects with StoreError if the store cannot respond.
export async function feedAccess(
  entryPoint: RestEntryPoint,
  head: RequestHead,
): Promise<FeedAccess> {
  const query = queryOf(head.url);
  const named = head.method === "GET" && query.has("tn") ? tablesOf(query) : [];
  const tables = new Set(named.map((table) => table.toLowerCase())); // each is authorized once
  const urls = tables.size === 0 ? [head.url] : [...tables].map((name) => tableUrl(head.url, name));
  let access: FeedAccess | undefined;
  for (const url of urls) {
    const quiet = head.quiet === true || head.method !== "GET";
    const request = { ...head, url, quiet, body: new Uint8Array(), bodyPending: true };
    const response = await entryPoint.send(request);
    access = { isAllowed: response.status === statusContinue, response };
    if (!access.isAllowed) break;
  }
  return access as FeedAccess;
}

// Returns whether what the request was authorized by can end, so that it must be authorized again
// while the feed is open. A signature by an account's key cannot, but the store would reject its
// date some minutes later.
export function canExpire({ headers }: RequestHead): boolean {
  return !headers.some(
    ([name, value]) => /^authorization$/i.test(name) && /^SharedKey/i.test(value),
  );
}

export type IncludesKey = (partitionKey: string, rowKey: string) => boolean;

// Returns a function that returns whether a key is in the range of the request's signature, as
// SasKeyRange::contains() of core/rest/sas.h does; undefined if it has no range. The signature
// covers these parameters, and the store has verified it. Throws InvalidFeedRequest.
export function signedRange(url: string): IncludesKey | undefined {
  const query = queryOf(url);
  const names = ["spk", "srk", "epk", "erk"];
  const [spk = "", srk = "", epk = "", erk = ""] = names.map((name) => query.get(name) ?? "");
  if (spk === "" && epk === "") return undefined;
  // Clients disagree on what an unencoded plus sign means, and the store accepts both meanings.
  const literal = queryOf(url.replaceAll("+", "%2B"));
  if (names.some((name) => query.get(name) !== literal.get(name)))
    throw new InvalidFeedRequest(
      "The keys of the shared access signature have a plus sign.",
      "Encode a plus sign as %2B, and a space as %20.",
      "InvalidQueryParameterValue",
    );
  return (partitionKey, rowKey) => {
    if (spk !== "" && (partitionKey < spk || (partitionKey === spk && rowKey < srk))) return false;
    if (epk === "" || partitionKey < epk) return true;
    return partitionKey === epk && (erk === "" || rowKey <= erk);
  };
}
