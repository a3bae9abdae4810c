// The messages between the tabs of a store that is synced. The tab that owns the store syncs it;
// the others show its status, and send it their calls.

import type { WireError } from "../tabs/messages.ts";
import { foldedName } from "./options.ts";
import type { StatusChanges } from "./status.ts";
import type { EndTableOptions } from "./types.ts";

/** Tabs with other versions of these messages have channels of their own. */
const version = 2;

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
  | "confirmDeletes"
  | "endTable";

export interface MethodCall {
  readonly method: CallMethod;
  /** Its argument. Of endTable: the table. */
  readonly id?: string | undefined;
  /** Of a list: SyncListOptions. */
  readonly top?: number | undefined;
  /** The option of endTable. */
  readonly pending?: EndTableOptions["pending"] | undefined;
}

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
  readonly changes: StatusChanges; // since the last one
  /** Whether the changes are all of the status: a tab may begin with this message. */
  readonly isWhole: boolean;
  readonly isPaused: boolean;
}

/** May be sent again, to the next owner: each call has the same effect if it is made twice. */
export interface TabCall extends MethodCall {
  readonly type: "call";
  readonly number: number;
}

export interface TabResult {
  readonly type: "result";
  readonly to: string;
  readonly number: number;
  readonly value?: unknown;
  readonly error?: WireError | undefined;
}
