// The messages between the tabs of a store. A store has one owner, whose engine responds to all
// calls. The other tabs are the owner's clients.
//
//   on the store's channel, heard by every tab         hello, owner, yield: who is there
//   on a client's own channel, or its worker's port    calls one way, responses and events the
//                                                      other
//
// A call that has no answer when the owner changes is sent again to the next one, under the same
// client and number, so that it is applied once (core/store/call_window.h).

import { AbortError, RestError, StoreError, type StoreErrorCode, serviceError } from "../errors.ts";
import type { LifecycleEvent } from "../host/page-lifecycle.ts";
import type { Durability, RestoreMode, StoreEvents, StoreStatus, StoreWarning } from "../types.ts";

// Of these messages, and of the blocks in them (core/rpc/LAYOUT.md, core/rest/http_codec.h). To be
// raised when either changes.
export const protocolVersion = 1;

// As many writes of a client are on their way at a time: the owner's store remembers the answers of
// so many.
export const writesInFlightMax = 64; // CallWindow::calls_per_client

export function storeChannelName(store: string): string {
  return `entitable/${store}`;
}
export function clientChannelName(store: string, client: string): string {
  return `entitable/${store}/client/${client}`;
}

// ---- Who is there -------------------------------------------------------------------------------
// Tabs of different versions of the package hear each other here, so these three fields never
// change their meaning.

export interface Announcement {
  entitable: number; // the protocol version of who says it
  // hello  a client looks for the owner
  // owner  so answers the owner, and so it begins
  // yield  a newer version wants an older owner to let go of the store
  type: "hello" | "owner" | "yield";
  from: string;
  exclusive?: boolean; // of "owner": it has no clients
  generation?: number | undefined; // of "owner": its status's; none before it has read the log
  account?: string; // of "hello" and "owner": whom the REST door answers for, as text to compare
}

export function isAnnouncement(message: unknown): message is Announcement {
  const { entitable, type, from } = (message ?? {}) as Partial<Announcement>;
  return typeof entitable === "number" && typeof type === "string" && typeof from === "string";
}

// ---- Calls and responses ------------------------------------------------------------------------

// The calls that carry a block, and those that carry nothing and are answered by a value.
export type MessageCall = "read" | "handle" | "write" | "restore";
export type PlainCall = "flush" | "stats" | "verify" | "compact" | "snapshot";

export interface RemoteCall {
  number: number;
  kind: MessageCall | PlainCall;
  request?: Uint8Array | undefined;
  mode?: RestoreMode | undefined; // of "restore"
  durability?: Durability | undefined; // of "write"
}

export type CallResponse =
  | { number: number; value: unknown } // a block for those that carry one
  | { number: number; error: WireError };

// Each names the owner it is meant for or comes from: one that was replaced and doesn't know it yet
// is not listened to. An owner who says "ready" begins a *session*. Calls of the one before are not
// listened to any more: some were lost on the way, and the client sends all that have no answer
// again, in order.
export type ToOwner =
  | { to: string; type: "calls"; session: number; calls: RemoteCall[] }
  | { to: string; type: "cancel"; session: number; number: number }
  | { to: string; type: "ping" }
  | { to: string; type: "bye" };

export type ToClient =
  | { from: string; type: "alive" }
  | { from: string; type: "ready"; session: number; status: StoreStatus }
  | { from: string; type: "responses"; responses: CallResponse[]; progress: Progress }
  | { from: string; type: "event"; name: keyof StoreEvents; event: unknown; status: StoreStatus };

// What changes with nearly every write.
export type Progress = Pick<StoreStatus, "pendingBytes" | "lastPersistedAt">;

// What clients hear of; the other events each tab has of itself. A page hears all events of its
// worker.
export const forwardedEvents = ["status", "persist-error", "reopened", "quota", "evicted"] as const;
export const allEvents = [...forwardedEvents, "persisted", "owner", "version-conflict"] as const;

// ---- A page and its worker ----------------------------------------------------------------------
// Over a port of their own. The worker is the owner for good, and called so.
//
//   page      open                                            … calls, cancel, life …   close
//   worker    started     warning, persist, trace …   ready     responses, event, holds     closed
//                                                  or failed

export const workerName = "worker";

export type ToWorker<Settings> =
  | ToOwner
  | { type: "open"; settings: Settings; hidden: boolean; lock: string }
  | { type: "lifecycle"; event: LifecycleEvent; hidden: boolean }
  | { type: "persisted"; granted: boolean } // the answer to "persist"
  | { type: "last-seen"; lastSeen: Date | undefined } // the answer to "get-last-seen"
  | { type: "close" };

export type FromWorker =
  | ToClient
  | { type: "started"; entitable: number; build: string }
  | { type: "failed"; error: WireError }
  | { type: "warning"; warning: StoreWarning }
  | { type: "persist" } // only the page can ask the browser for that
  | { type: "get-last-seen" | "clear-last-seen" } // only the page has one (host/eviction.ts)
  | { type: "set-last-seen"; at: Date; resumeCount: number }
  // the lock of its life, after the page was suspended so many times
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
}

export function errorToWire(error: unknown): WireError {
  if (!(error instanceof Error)) return { name: "Error", message: String(error) };
  const { name, message } = error;
  const { code, statusCode, hint } = error as { code?: string; statusCode?: number; hint?: string };
  return { name, message, code, statusCode, hint };
}

export function errorFromWire({ name, message, code, statusCode, hint }: WireError): Error {
  const options = hint === undefined ? {} : { hint };
  if (name === "AbortError") return new AbortError(message);
  if (name === "StoreError") return new StoreError(code as StoreErrorCode, message, options);
  if (name === "RestError") {
    if (statusCode !== undefined && code !== undefined)
      return serviceError(statusCode, code, message, hint);
    return new RestError(message, options);
  }
  return new Error(message);
}
