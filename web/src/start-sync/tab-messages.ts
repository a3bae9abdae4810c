// The messages between the tabs of a store that is synced. The tab that owns the store syncs it;
// the others show its status, and send it their calls.

import type { WireError } from "../tabs/messages.ts";
import { foldedName } from "./options.ts";
import type { SyncStatus } from "./types.ts";

/** Tabs with other versions of these messages have channels of their own. */
const version = 1;

/** Each set of tables has a channel of its own: a store can be synced by several calls. */
export function syncChannelName(store: string, tables: Iterable<string>): string {
  const names = [...tables].map(foldedName).sort();
  return `entitable/${store}/sync${version}/${names.join()}`;
}

/** The methods that other tabs can call. */
export type CallMethod =
  | "now"
  | "coverage"
  | "pending"
  | "parked"
  | "lost"
  | "retry"
  | "discard"
  | "restore"
  | "confirmDeletes";

export type TabMessage = { readonly from: string } & (
  | { readonly type: "hello" } // asks for a "status"
  | TabStatus
  | { readonly type: "stopped"; readonly session: string }
  | { readonly type: "pause"; readonly isPaused: boolean }
  | TabCall
  | TabResult
);

export interface TabStatus {
  readonly type: "status";
  /** Of the tab since it has begun to sync. Calls that it got before are lost. */
  readonly session: string;
  readonly status: SyncStatus;
  readonly isPaused: boolean;
}

/** May be sent again, to the next owner: each call has the same effect if it is made twice. */
export interface TabCall {
  readonly type: "call";
  readonly number: number;
  readonly method: CallMethod;
  readonly id: string | undefined; // its argument
}

export interface TabResult {
  readonly type: "result";
  readonly to: string;
  readonly number: number;
  readonly value?: unknown;
  readonly error?: WireError | undefined;
}
