// What a session of one table needs.

import type { SyncRules } from "../sync/context.ts";
import type { FreezeLimits } from "../sync/freeze.ts";
import type { Partition } from "../sync/keys.ts";
import type { Failure, Remote } from "../sync/remote.ts";
import type { SyncStore } from "../sync/store.ts";
import type { AccountBudget } from "./account-budget.ts";
import type { Activity } from "./activity.ts";
import type { Beacon } from "./beacon-work.ts";
import type { Clock } from "./clock.ts";
import type { PollTimes } from "./poll-schedule.ts";
import type { Split } from "./ranges.ts";

/** A remote of which the session knows what it can do. */
export interface Connection {
  readonly kind: "connected";
  readonly remote: Remote;
  readonly limits: FreezeLimits;
  /** As in SyncRules. */
  readonly settleMs: number;
  readonly split: Split;
  /** Where clients name the partitions that they push. */
  readonly beacon?: Beacon | undefined;
}

/** Sends a request as soon as the session may. */
export type Pass = <T>(send: () => Promise<T>) => Promise<T>;

export interface SessionSettings
  extends Pick<SyncRules, "policy" | "hasReceipts" | "keeps" | "sendsFilter" | "consistent"> {
  readonly direction: "both" | "pull" | "push";
  readonly partitions: readonly Partition[] | undefined;
  readonly poll: PollTimes;
  /** Each version is compared with the remote's at least so often. */
  readonly maxAgeMs: number;
  /** Pauses when the remote rejects the credential, until the session is resumed. */
  readonly pausesIfUnauthorized: boolean;
}

export interface SessionOptions {
  readonly store: SyncStore;
  /**
   * Calls the listener after commits of any kind, perhaps once for several. Returns a function that
   * ends this.
   */
  readonly watchCommits: (listener: () => void) => () => void;
  /**
   * Asks what the remote can do. Sends each request by `pass`, which waits while the session may
   * not send. Rejects if the store fails.
   */
  readonly connect: (pass: Pass) => Promise<Connection | Failure>;
  /** That of all tables of the account. */
  readonly budget: AccountBudget;
  readonly clock: Clock;
  readonly activity: Activity;
  readonly settings: SessionSettings;
  /** About how many rows the table has. */
  readonly rowCount: () => Promise<number>;
  /** Called when `status` may have changed. Must not throw. */
  readonly onChange: () => void;
}
