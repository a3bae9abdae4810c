// One scan of a key range by Timestamp (PROTOCOL.md, Pulling). The position is stored in the same
// commit as the rows of a page, so a crash repeats the pages that are not stored yet: of a first
// download, at most one.

import { applyPage } from "./apply-page.ts";
import type { ConsistentReading, SyncContext } from "./context.ts";
import type { Draft } from "./draft.ts";
import type { RunningDelta, Ticks } from "./hidden-tables.ts";
import { type KeyRange, keyAfter, partitionOf } from "./keys.ts";
import type { ScanAnswer, ScanRequest } from "./remote.ts";
import type { Requests } from "./requests.ts";
import { scanState, updateScanState } from "./scan-state.ts";
import { beginningOfScan, type ClockReading, scanSince } from "./watermark.ts";

/**
 * Runs a scan to its end, or until a page cannot be read. The next call continues then. Returns
 * whether the scan has ended.
 */
export async function scanDelta(
  context: SyncContext,
  requests: Requests,
  range: KeyRange,
): Promise<boolean> {
  const { platform, remote, rules, store } = context;
  const beganAt = platform.now();
  const { delta: resumed } = await store.read((view) => scanState(view, range));
  const known = requests.clock.now;
  const delta = resumed ?? (await begin(context, range, known));
  // Without a known time, the pages of the first scan tell when it began, but only this process
  // knows how long ago that was.
  const measuredFrom = resumed || known !== undefined ? undefined : beganAt;
  const from = delta.after === undefined ? range.from : keyAfter(delta.after);
  const request: ScanRequest = {
    range: { ...range, from },
    since: delta.since,
    keysOnly: false,
    isFiltered: rules.sendsFilter || (delta.since === undefined && !delta.hadRows),
    needsOrder: true,
  };
  // A page is garbage before the next one is waited for.
  const apply: ConsistentReading["applyPage"] = rules.consistent?.applyPage ?? applyPage;
  const readPage = async (token: string | undefined) => {
    const asked = { ...request, token };
    const { answer, sentAt } = await requests.triedRead<ScanAnswer>(() => remote.scan(asked));
    if (answer.kind !== "page") {
      // The stored position means nothing in a table that is not sorted.
      if (!remote.traits.isSorted) await store.transact((draft) => endDelta(draft, range));
      return "failed";
    }
    const now = platform.now();
    await store.transact((draft) => {
      apply(draft, answer.rows, sentAt, rules.keeps, asked, answer.token);
      advance(draft, range, answer, measuredFrom && { beganAt: measuredFrom, now });
      requests.clock.store(draft);
    });
    if (delta.since === undefined && answer.token !== undefined) await store.stored();
    return { token: answer.token };
  };
  for (let token: string | undefined; ; ) {
    const page = await readPage(token);
    if (page === "failed") return false;
    ({ token } = page);
    if (token === undefined) return true;
  }
}

async function begin(
  { rules, store }: SyncContext,
  range: KeyRange,
  nextWatermark: Ticks | undefined,
): Promise<RunningDelta> {
  return store.transact((draft) => {
    const overlapMs = draft.get("overlap", "ms") ?? rules.overlapMs;
    const since = scanSince(scanState(draft, range).watermark, overlapMs);
    const hadRows = since === undefined && hasSentRows(draft, range);
    const delta = { since, nextWatermark, after: undefined, hadRows };
    updateScanState(draft, range, { delta });
    return delta;
  });
}

const rowsMax = 1000; // bounds the time of one turn of the event loop

/** Only a row that the remote may have can leave the filter before the scan begins. */
function hasSentRows(draft: Draft, { from, to }: KeyRange): boolean {
  let rows = 0;
  for (const [key] of draft.entries("rows", from, to)) {
    const isNew = draft.get("bases", key)?.kind === "absent";
    rows += 1; // of many, some may have been sent
    if (!isNew || rows > rowsMax || draft.get("pushes", partitionOf(key))) return true;
  }
  return false;
}

/** The next scan begins from the same watermark. */
function endDelta(draft: Draft, range: KeyRange): void {
  updateScanState(draft, range, { delta: undefined });
}

/** Moves the stored position behind a page. The last page ends the scan. */
function advance(
  draft: Draft,
  range: KeyRange,
  { rows, token }: ScanAnswer & { kind: "page" },
  measured: { beganAt: ClockReading; now: ClockReading } | undefined,
): void {
  const state = scanState(draft, range);
  const delta = state.delta as RunningDelta;
  let { nextWatermark } = delta;
  if (measured) {
    for (const { row } of rows) {
      const began = beginningOfScan(row.timestamp, measured.beganAt, measured.now);
      nextWatermark = newest(nextWatermark, began);
    }
  }
  if (token === undefined) {
    const watermark = newest(state.watermark, nextWatermark);
    updateScanState(draft, range, { watermark, delta: undefined });
  } else {
    const after = rows.at(-1)?.key ?? delta.after;
    updateScanState(draft, range, { delta: { ...delta, nextWatermark, after } });
  }
}

const newest = (a: Ticks | undefined, b: Ticks | undefined): Ticks | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a;
