// Reports error responses to HTTP requests, because the clients that get them, such as the official
// one, show no hints. Loaded in development only.

import { shortened, visibleCharacter } from "./text.ts";

export type OnRejectedRequest = (warning: { code: "RequestRejected"; message: string }) => void;

interface RejectedRequest {
  method: string;
  url: string;
  table?: string | undefined;
}

// Programs get these errors in normal operation: they look whether something exists, create it
// without looking, use ETags, or retry. Browsers, and tools that wait for a server, request URLs
// that no client of the service requests (InvalidUri, MethodNotAllowed).
const ordinaryCodes: ReadonlySet<string> = new Set([
  "EntityAlreadyExists",
  "EntityNotFound",
  "InvalidUri",
  "MethodNotAllowed",
  "OperationTimedOut",
  "ResourceNotFound",
  "ServerBusy",
  "TableAlreadyExists",
  "TableBeingDeleted",
  "UpdateConditionNotSatisfied",
]);

const kindsMax = 100; // reported per listener, because clients choose the names of tables

// The kinds of errors that were reported, by listener: forks of a mock store share theirs.
const reported = new WeakMap<OnRejectedRequest, Set<string>>();

/** Reports an error once for each code and table, unless programs expect such errors. */
export function reportRejectedRequest(
  { method, url, table = "" }: RejectedRequest,
  code: string,
  hint: string,
  onWarning: OnRejectedRequest,
): void {
  const isFile = /^(?:GET|HEAD)$/.test(method) && table.includes("."); // such as favicon.ico
  if (ordinaryCodes.has(code) || isFile) return;
  const kinds = reported.get(onWarning) ?? new Set();
  reported.set(onWarning, kinds);
  const kind = `${code} ${table.toLowerCase()}`;
  if (kinds.has(kind) || kinds.size >= kindsMax) return;
  kinds.add(kind);
  const what = `${method} ${shortened(new URL(url).pathname)}`; // the query may have a signature
  const message = `The request ${what} got the error ${code}. ${hint}`;
  onWarning({ code: "RequestRejected", message: message.replace(/\p{Cc}/gu, visibleCharacter) });
}
