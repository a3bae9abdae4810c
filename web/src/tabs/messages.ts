// The messages between the tabs of a store. A store has one owner, whose engine responds to all
// calls. The other tabs are the owner's clients.
//
//   on the store's channel, read by every tab          announcements: hello, owner, yield
//   on a client's own channel, or its worker's port    calls to the owner; responses and events to
//                                                      the client
//
// A call without a response when the owner changes is sent to the next owner, with the same client
// id and call number, so that it is applied once (core/store/call_window.h). The same holds for a
// deferred write that was acknowledged: the client keeps it until the owner reports that it is
// stored. The store remembers a limited number of calls, so a client begins with "recover".

import { AbortError, RestError, StoreError, type StoreErrorCode, serviceError } from "../errors.ts";
import type { LifecycleEvent } from "../host/page-lifecycle.ts";
import type { RestoreCallMode } from "../transport.ts";
import type { Durability, StoreEvents, StoreStatus, StoreWarning } from "../types.ts";
import { isError } from "../util/platform-objects.ts";

// The version of these messages and of the request and response messages in them
// (core/rpc/LAYOUT.md, core/rest/http_codec.h). Raise it when either changes.
export const protocolVersion = 5;

// How many writes of a client may be in flight: the store remembers the responses of that many
// calls per client. Equal to CallWindow::calls_per_client.
export const writesInFlightMax = 64;

// The name of a tab in messages, from the id in its writes (core/dispatch/call_header.h), and back.
export function tabIdOf(client: Uint8Array): string {
  return Array.from(client, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
export function clientOfTab(tabId: string): Uint8Array {
  return Uint8Array.from(tabId.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}

export function storeChannelName(store: string): string {
  return `entitable/${store}`;
}
export function clientChannelName(store: string, client: string): string {
  return `entitable/${store}/client/${client}`;
}

// ---- Announcements ------------------------------------------------------------------------------
// Tabs with different versions of the package exchange announcements. Therefore the fields
// `entitable`, `type` and `from` never change their meaning.

export interface Announcement {
  entitable: number; // the sender's protocol version
  // hello  a client looks for the owner
  // owner  the sender is the owner: sent when its ownership begins, and in response to "hello"
  // yield  a newer version requests an older owner to release the store
  type: "hello" | "owner" | "yield";
  from: string;
  // Of "owner": the owner accepts no clients. Of "hello": the sender would accept none.
  exclusive?: boolean;
  generation?: number | undefined; // of "owner": its status.generation; undefined until it is open
  account?: string; // of all types: the account option as comparable text, for the REST entry point
  // Of "owner": each tab that the sender does not serve yet must send "hello".
  asksForHello?: boolean | undefined;
  // Of "hello": when the sender last was the owner, it could not open the store or load a
  // deferred module. An owner that cannot load one does not hand the store over to the sender.
  hasFailed?: boolean | undefined;
}

export function isAnnouncement(message: unknown): message is Announcement {
  const { entitable, type, from } = (message ?? {}) as Partial<Announcement>;
  return typeof entitable === "number" && typeof type === "string" && typeof from === "string";
}

// ---- Calls and responses ------------------------------------------------------------------------

// Calls with a message, and calls without content, whose response is a plain value.
export type ContentCallKind = "read" | "readHttp" | "write";
export type PlainCallKind = "flush" | "stats" | "verify" | "compact";
// "snapshot" begins a snapshot. Its response, and that of each "snapshotChunk", is the next chunk,
// null after the last one, or undefined if the owner does not have the snapshot. "endSnapshot" ends
// it early.
export type SnapshotCallKind = "snapshot" | "snapshotChunk" | "endSnapshot";

// A deferred write that was acknowledged and may not be stored.
export interface UnstoredCall {
  readonly number: number;
  readonly request: Uint8Array; // a call (util/call-message.ts)
  // If the call was applied, then by a later commit than this one.
  readonly appliedAfter: number;
}

// "recover" is the first call of a session. It applies those of the client's unstored writes again
// that the store does not know. Its value is a `Recovered`. It may be repeated.
export interface RemoteCall {
  number: number;
  // "listen" sends a request about watches and feeds (ListenerConnection). One of the kind
  // closeListeners consists of that kind only, and has no response.
  kind: ContentCallKind | PlainCallKind | SnapshotCallKind | "listen" | "restore" | "recover";
  // For "recover": the client id. For "restore": a call without a message, if the client has an id;
  // the owner requests the file chunk by chunk, with "pull".
  request?: Uint8Array | undefined;
  // Of "listen": how many `reset` the client has received in this session. The owner ignores the
  // call if it has sent more: the client repeats it, if necessary.
  resets?: number | undefined;
  snapshot?: number | undefined; // of "snapshotChunk" and "endSnapshot": the number of "snapshot"
  unstored?: readonly UnstoredCall[] | undefined; // of "recover", in the order of their numbers
  // Of "recover": a write that the owner cannot apply is left out; otherwise "recover" stops there.
  leavesOut?: boolean | undefined;
  mode?: RestoreCallMode | undefined; // of "restore"
  durability?: Durability | undefined; // of "write"
}

export interface Recovered {
  // The client's newest calls that the store knew before. Its other writes up to the greatest of
  // them had no effect, unless the store has forgotten them (lost-writes.ts).
  readonly known: readonly number[];
  readonly droppedThrough: number; // OwnerHost.knownCalls
  readonly isFinal: boolean; // OwnerHost.knownCalls
  readonly failed: readonly FailedWrite[]; // the unstored writes that had no effect now
  // Set: not all of the writes were tried, because of this error.
  readonly error?: WireError | undefined;
}
// Has either the error response or the reason for leaving the write out.
export interface FailedWrite {
  readonly number: number;
  readonly response?: Uint8Array | undefined;
  readonly error?: WireError | undefined;
}

export type CallResponse = CallValue | { number: number; error: WireError } | ListenerNews;
// What a listening client learns (ChangeListener), in order with the responses to "listen".
export type ListenerNews = { changes: Uint8Array } | { reset: true } | { closed: WireError };
export interface CallValue {
  number: number;
  value: unknown; // bytes for "read", "readHttp" and "write"
  mayBeLost?: true | undefined; // the write is deferred and not stored yet
  appliedAfter?: number | undefined; // of such a write: see UnstoredCall
}

// Each message names the owner that it is sent to or comes from, so that clients ignore an owner
// that was replaced and has not noticed yet. An owner begins a *session* with "ready". It ignores
// calls of earlier sessions, because some may have been lost: the client sends all calls without a
// response again, in order. A tab that becomes the owner again continues the numbers of its earlier
// sessions, so that it ignores those calls too.
export type ToOwner =
  | ClientCalls
  | { to: string; type: "cancel"; session: number; number: number }
  | FileChunk
  | { to: string; type: "ping" }
  | { to: string; type: "bye" };

export interface ClientCalls {
  to: string;
  type: "calls";
  session: number;
  calls: RemoteCall[];
  // The client has read the last message with changes. Until then, the owner sends no other message
  // with changes.
  hasReadChanges?: true | undefined;
}

// The next chunk of the file of the "restore" with this number. Neither bytes nor an error: the
// file has ended.
export interface FileChunk {
  to: string;
  type: "chunk";
  session: number;
  number: number;
  bytes?: Uint8Array | undefined;
  error?: WireError | undefined;
}

export type ToClient =
  | { from: string; type: "alive" }
  | { from: string; type: "pull"; session: number; number: number } // requests a FileChunk
  // `lastCommit`: OwnerHost.lastCommit. Not set by workers.
  | {
      from: string;
      type: "ready";
      session: number;
      status: StoreStatus;
      lastCommit: number | undefined;
    }
  // `stored`: all calls of the session up to this number that had the response `mayBeLost` are
  // stored now. `lastCommit`: as in "ready".
  | {
      from: string;
      type: "responses";
      responses: CallResponse[];
      stored: number;
      lastCommit: number | undefined;
      progress: PersistenceProgress;
    }
  | { from: string; type: "event"; name: keyof StoreEvents; event: unknown; status: StoreStatus };

// The status fields that change with nearly every write; sent with each response.
export type PersistenceProgress = Pick<StoreStatus, "pendingBytes" | "lastPersistedAt">;

// Events that an owner forwards to its clients; each tab emits the others itself. A worker forwards
// all events to its page.
export const forwardedEvents = ["status", "persist-error", "reopened", "quota", "evicted"] as const;
export const allEvents = [...forwardedEvents, "persisted", "owner", "version-conflict"] as const;

// ---- A page and its worker ----------------------------------------------------------------------
// Sent over their own MessagePort. The worker is always the owner; its name in messages is
// `workerName`. In the order of time:
//
//   worker    started
//   page      open
//   worker    warning, persist, get-last-seen …, then ready or failed
//   page      calls, cancel, lifecycle …
//   worker    responses, event, lock-held …
//   page      close
//   worker    closed

export const workerName = "worker";

export type ToWorker<Settings> =
  | ToOwner
  | { type: "open"; settings: Settings; hidden: boolean; lock: string }
  | { type: "lifecycle"; event: LifecycleEvent; hidden: boolean }
  | { type: "persisted"; granted: boolean } // the response to "persist"
  | { type: "last-seen"; lastSeen: Date | undefined } // the response to "get-last-seen"
  | { type: "sync"; url: string; port: MessagePort } // WorkerSync.connect()
  | { type: "close" };

export type FromWorker =
  | ToClient
  | { type: "started"; entitable: number; build: string }
  | { type: "failed"; error: WireError }
  | { type: "warning"; warning: StoreWarning }
  | { type: "persist" } // navigator.storage.persist(), which only pages have
  | { type: "get-last-seen" | "clear-last-seen" } // the marker is in the page's localStorage
  | { type: "set-last-seen"; at: Date; resumeCount: number }
  // The worker holds its lock. `resumeCount`: the number of resumes of the page that the worker had
  // received when it sent this message.
  | { type: "lock-held"; resumeCount: number }
  | { type: "closed"; error: WireError | undefined };

// ---- Errors -------------------------------------------------------------------------------------
// Structured cloning keeps only the message of an error.

export interface WireError {
  name: string;
  message: string;
  code?: string | undefined;
  statusCode?: number | undefined;
  hint?: string | undefined;
  uncertain?: true | undefined;
}

export function errorToWire(error: unknown): WireError {
  if (!isError(error)) return { name: "Error", message: String(error) };
  const { name, message } = error;
  const { code, statusCode, hint, uncertain } = error as Partial<WireError>;
  return { name, message, code, statusCode, hint, uncertain };
}

export function errorFromWire(wire: WireError): Error {
  const { name, message, code, statusCode, hint, uncertain = false } = wire;
  const options = hint === undefined ? {} : { hint };
  if (name === "AbortError") return new AbortError(message);
  if (name === "StoreError")
    return new StoreError(code as StoreErrorCode, message, { ...options, uncertain });
  if (name === "RestError") {
    if (statusCode !== undefined && code !== undefined)
      return serviceError(statusCode, code, message, hint);
    return new RestError(message, options);
  }
  return new Error(message);
}
