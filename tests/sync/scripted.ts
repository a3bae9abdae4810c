// A store, a platform and a remote of which each test scripts the answers, for rules that need one
// exact order of events.

import type { SyncContext, SyncRules } from "../../web/src/sync/context.ts";
import type { RemoteRow } from "../../web/src/sync/hidden-tables.ts";
import { type Key, keyOf } from "../../web/src/sync/keys.ts";
import type { Properties } from "../../web/src/sync/properties.ts";
import type { Remote, ScannedRow } from "../../web/src/sync/remote.ts";
import { Requests } from "../../web/src/sync/requests.ts";
import { Disk, type FakeStore } from "./fake-store.ts";
import { Scheduler } from "./scheduler.ts";

export const key = (row: string, partition = "p"): Key => keyOf(partition, row);

export const properties = (value: number): Properties => new Map([["a", { type: "Int32", value }]]);

export const remoteRow = (value: number, etag: string): RemoteRow => ({
  properties: properties(value),
  etag,
  timestamp: 1n,
});

const rulesOfTests: SyncRules = {
  policy: "remote",
  hasReceipts: false,
  limits: { operations: 3, bytes: 1 << 20 },
  keeps: () => true,
  sendsFilter: false,
  sendWithinMs: 10,
  settleMs: 1000,
  overlapMs: 10,
  retry: { firstMs: 10, mostMs: 100 },
  deleteLimits: { few: 1, share: 0.3 },
  ranges: [{ from: "" }],
  pushesAtOnce: 4,
};

/** A remote that has `rows`. A test replaces what it scripts. */
export class ScriptedRemote implements Remote {
  traits = { hasTimestampFilter: true, isSorted: true, staleReadMs: 0 };
  readonly rows = new Map<Key, RemoteRow>();
  isForbidden = (_: Key): boolean => false;

  push: Remote["push"] = () => Promise.reject(new Error("push is not scripted"));
  fence: Remote["fence"] = () => Promise.reject(new Error("fence is not scripted"));
  readReceipt: Remote["readReceipt"] = () => Promise.resolve({ kind: "absent" });

  read: Remote["read"] = (of) => {
    const row = this.rows.get(of);
    if (this.isForbidden(of)) return Promise.resolve({ kind: "forbidden" });
    return Promise.resolve(row ? { kind: "found", row } : { kind: "absent" });
  };

  scan: Remote["scan"] = ({ range }) => {
    const rows = [...this.rows].map(([of, row]): ScannedRow => ({ key: of, row }));
    const isVisible = ({ key: of }: ScannedRow) =>
      of >= range.from && (range.to === undefined || of < range.to) && !this.isForbidden(of);
    rows.sort((a, b) => (a.key < b.key ? -1 : 1));
    return Promise.resolve({ kind: "page", rows: rows.filter(isVisible), token: undefined });
  };

  refresh: Remote["refresh"] = () => Promise.resolve();
}

export interface Scripted {
  readonly scheduler: Scheduler;
  readonly disk: Disk;
  readonly store: FakeStore;
  readonly remote: ScriptedRemote;
  readonly context: SyncContext;
  readonly requests: Requests;
}

export async function scripted(rules: Partial<SyncRules> = {}): Promise<Scripted> {
  const scheduler = new Scheduler(1);
  const disk = new Disk(scheduler, () => {});
  const store = disk.open();
  const remote = new ScriptedRemote();
  let tokens = 0;
  const platform = {
    now: () => ({ monotonicMs: scheduler.now, wallMs: scheduler.now }),
    sleep: (ms: number) => new Promise<void>((resolve) => scheduler.after(ms, resolve)),
    random: () => 0.5,
    token: () => `token ${++tokens}`,
  };
  const status = { suspects: [], missesRepaired: 0, resent: 0, unknownOutcomes: 0 };
  const context = { store, remote, platform, rules: { ...rulesOfTests, ...rules }, status };
  return { scheduler, disk, store, remote, context, requests: await Requests.open(context) };
}

/** The store has what the remote has. */
export function fill({ store, remote }: Scripted, names: readonly string[]): void {
  for (const name of names) remote.rows.set(key(name), remoteRow(0, name));
  store.transact((draft) => {
    for (const name of names) {
      const version = { etag: name, timestamp: 1n };
      draft.put("rows", key(name), { properties: properties(0), version });
    }
  });
}
