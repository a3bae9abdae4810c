// The messages between the tabs of a store that is synced. The tab that owns the store syncs it;
// the others show its status, and send it their calls.

import type { WireError } from "../tabs/messages.ts";
import type { SyncStatus } from "./types.ts";

/** Tabs with other versions of these messages have channels of their own. */
const version = 1;

export const syncChannelName = (store: string): string => `entitable/${store}/sync${version}`;

/** The methods that other tabs can call. */
export type CallMethod =
  | "now"
  | "pending"
  | "parked"
  | "lost"
  | "retry"
  | "discard"
  | "restore"
  | "confirmDeletes";

export type TabMessage = { readonly from: string } & (
  | { readonly type: "hello" } // asks for a "status"
  | { readonly type: "status"; readonly status: SyncStatus; readonly isPaused: boolean }
  | { readonly type: "pause"; readonly isPaused: boolean }
  | TabCall
  | TabResult
);

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
