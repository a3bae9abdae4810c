// Requests that read the log or concern durable readers. One file has the code for both, so that it
// is loaded before a later release of the site may remove it: with the first feed.

import { answerFeedReader, type FeedReaderRequestOptions } from "./feed-reader-requests.ts";
import { type PastChangesOptions, readPastChanges } from "./past-changes.ts";

export async function answerFeedRequest(
  request: Uint8Array,
  options: PastChangesOptions & FeedReaderRequestOptions,
  respond: (response: Uint8Array) => void,
): Promise<void> {
  const isPast = request[0] === options.environment.requestKind.readPast;
  await (isPast ? readPastChanges : answerFeedReader)(request, options, respond);
}
