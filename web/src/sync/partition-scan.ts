// A scan of one partition by Timestamp, of which another client has said that it has pushed
// something (PROTOCOL.md, Beacons). It stores no position: it is short, and a hint only.

import { applyPage } from "./apply-page.ts";
import type { SyncContext } from "./context.ts";
import type { TableView } from "./draft.ts";
import type { Ticks } from "./hidden-tables.ts";
import { type KeyRange, type Partition, partitionRange } from "./keys.ts";
import type { ScanAnswer } from "./remote.ts";
import type { Requests } from "./requests.ts";
import { scanState } from "./scan-state.ts";
import { scanSince } from "./watermark.ts";

/** Resolves to whether the partition was read to its end. */
export async function scanPartition(
  { remote, rules, store }: SyncContext,
  requests: Requests,
  partition: Partition,
): Promise<boolean> {
  const range = partitionRange(partition);
  const since = await store.read((view) => sinceOf(view, range, rules.ranges, rules.overlapMs));
  const request = { range, since, keysOnly: false, isFiltered: rules.sendsFilter };
  for (let token: string | undefined; ; ) {
    const scan = () => remote.scan({ ...request, token });
    const { answer, sentAt } = await requests.triedRead<ScanAnswer>(scan);
    if (answer.kind !== "page") return false;
    await store.transact((draft) => {
      applyPage(draft, answer.rows, sentAt, rules.keeps);
      requests.clock.store(draft);
    });
    token = answer.token;
    if (token === undefined) return true;
  }
}

/** What the scans of the ranges that have the partition have not read. Undefined: everything. */
export function sinceOf(
  view: TableView,
  { from, to }: KeyRange,
  ranges: readonly KeyRange[],
  overlapMs: number,
): Ticks | undefined {
  let oldest: Ticks | undefined;
  for (const range of ranges) {
    const isBefore = range.to !== undefined && range.to <= from;
    if (isBefore || range.from >= (to as string)) continue;
    const { watermark } = scanState(view, range);
    if (watermark === undefined) return undefined;
    if (oldest === undefined || watermark < oldest) oldest = watermark;
  }
  return scanSince(oldest, view.get("overlap", "ms") ?? overlapMs);
}
