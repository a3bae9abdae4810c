// Compares the versions of all entities of a key range with the local ones (PROTOCOL.md, Pulling).
// Finds inserts, updates and deletes, and what scans by Timestamp have missed.

import { compareVersion } from "./apply-answer.ts";
import { expectRows } from "./apply-page.ts";
import type { SyncContext } from "./context.ts";
import { missingBases, missingRows } from "./delete-guard.ts";
import type { Deletes, Findings } from "./deletes.ts";
import type { Draft } from "./draft.ts";
import type { RunningCensus, Ticks } from "./hidden-tables.ts";
import { isReceiptKey, type Key, type KeyRange, keyAfter } from "./keys.ts";
import { markKey } from "./marks.ts";
import type { ScanAnswer, ScannedRow } from "./remote.ts";
import type { Requests } from "./requests.ts";
import { scanState, updateScanState } from "./scan-state.ts";
import { overlapAfterMiss, scanSince } from "./watermark.ts";

const rowsPerStep = 1000; // bounds the time of one turn of the event loop

export class Census {
  readonly #context: SyncContext;
  readonly #requests: Requests;
  readonly #deletes: Deletes;

  constructor(context: SyncContext, requests: Requests, deletes: Deletes) {
    this.#context = context;
    this.#requests = requests;
    this.#deletes = deletes;
  }

  /**
   * Returns whether the whole range was compared. The next call continues otherwise, unless
   * `isAnew`: then all requests are sent after this call.
   */
  async scan(range: KeyRange, isAnew = false): Promise<boolean> {
    const findings: Findings = { missing: new Map(), rows: 0, present: undefined };
    const { isSorted } = this.#context.remote.traits;
    const isComplete = isSorted
      ? await this.#scanSorted(range, findings, isAnew)
      : await this.#scanUnsorted(range, findings);
    if (!isComplete) return false;
    await this.#context.store.transact((draft) => endCensus(draft, range));
    await this.#deletes.decide(range, findings);
    return true;
  }

  /**
   * Each page completes the stretch up to its last key. Resumes after the last stored page, with
   * what was missing before.
   */
  async #scanSorted(range: KeyRange, findings: Findings, isAnew: boolean): Promise<boolean> {
    const { census } = await this.#context.store.read((view) => scanState(view, range));
    const after = isAnew ? undefined : census?.after;
    const now = this.#context.platform.now().wallMs;
    const beganAt = after === undefined ? now : (census?.beganAt ?? now);
    if (after !== undefined)
      for (const [key, etag] of census?.missing ?? []) findings.missing.set(key, etag);
    const whole = { ...range, from: after === undefined ? range.from : keyAfter(after) };
    let { from } = whole;
    for (let token: string | undefined; ; ) {
      const page = await this.#page(whole, token, true);
      if (page === undefined) return false;
      ({ token } = page);
      const last = page.rows.at(-1)?.key;
      const isEmpty = token !== undefined && last === undefined;
      const to = token === undefined ? range.to : keyAfter(last ?? from);
      if (!isEmpty) {
        await this.#compare(range, page.rows, page.sentAt, findings);
        const returned = new Set(page.rows.map(({ key }) => key));
        const position = { after: last, beganAt };
        await this.#findMissing({ from, to }, returned, page.sentAt, findings, (draft) => {
          if (last !== undefined) this.#storePosition(draft, range, findings, position);
        });
      }
      if (token === undefined) return true;
      if (!isEmpty) from = to as Key;
    }
  }

  /** Only the end of the scan completes anything. The oldest request decides what is newer. */
  async #scanUnsorted(range: KeyRange, findings: Findings): Promise<boolean> {
    const returned = new Set<Key>();
    let sentAt: number | undefined;
    for (let token: string | undefined; ; ) {
      const page = await this.#page(range, token, false);
      if (page === undefined) return false;
      sentAt ??= page.sentAt;
      await this.#compare(range, page.rows, sentAt, findings);
      for (const { key } of page.rows) returned.add(key);
      ({ token } = page);
      if (token === undefined) break;
    }
    await this.#findMissing(range, returned, sentAt, findings);
    return true;
  }

  async #page(range: KeyRange, token: string | undefined, needsOrder: boolean) {
    const { remote } = this.#context;
    const request = { range, keysOnly: true, isFiltered: true, token, needsOrder };
    const scan = () => remote.scan(request);
    const { answer, sentAt } = await this.#requests.triedRead<ScanAnswer>(scan);
    if (answer.kind !== "page") return undefined;
    const rows = answer.rows.filter(({ key }) => !isReceiptKey(key));
    return { rows, token: answer.token, sentAt };
  }

  /** Marks what a page has in another version. */
  async #compare(
    range: KeyRange,
    rows: readonly ScannedRow[],
    sentAt: number,
    findings: Findings,
  ): Promise<void> {
    const { rules, status, store } = this.#context;
    const result = await store.transact((draft) => {
      let misses = 0;
      let present: Key | undefined;
      const covered = coveredUntil(draft, range, rules.overlapMs);
      expectRows(draft, rows);
      for (const scanned of rows) {
        if (isMiss(draft, scanned, sentAt, covered)) misses += 1;
        const isKnown = compareVersion(draft, scanned.key, scanned.row.etag) === "known";
        if (isKnown) present = scanned.key;
      }
      if (misses > 0)
        draft.put("overlap", "ms", overlapAfterMiss(draft.get("overlap", "ms") ?? rules.overlapMs));
      return { misses, present };
    });
    status.missesRepaired += result.misses;
    findings.present ??= result.present;
  }

  /** Stays where it is if so many rows are missing that they are not looked at one by one. */
  #storePosition(draft: Draft, range: KeyRange, { missing }: Findings, at: RunningCensus): void {
    if (missing.size > this.#context.rules.deleteLimits.few) return;
    const census = missing.size === 0 ? at : { ...at, missing: [...missing] };
    updateScanState(draft, range, { census });
  }

  /**
   * Finds what the remote does not have in a stretch of keys that it has returned completely. Calls
   * `complete` with the last commit.
   */
  async #findMissing(
    stretch: KeyRange,
    returned: ReadonlySet<Key>,
    sentAt: number,
    findings: Findings,
    complete: (draft: Draft) => void = () => {},
  ): Promise<void> {
    const { store } = this.#context;
    for (let from: Key | undefined = stretch.from; from !== undefined; ) {
      const part = { from, to: stretch.to };
      const found = await store.transact((draft) => {
        const result = missingRows(draft, part, returned, sentAt, rowsPerStep);
        const passed = { from: part.from, to: result.next ?? part.to };
        const dirty = missingBases(draft, passed, returned);
        for (const key of [...dirty, ...result.unknown]) markKey(draft, key);
        for (const [key, etag] of result.missing) findings.missing.set(key, etag);
        if (result.next === undefined) complete(draft);
        return result;
      });
      findings.rows += found.rows;
      from = found.next;
    }
  }
}

/** Returns the time before which the scans by Timestamp should have brought all versions. */
function coveredUntil(draft: Draft, range: KeyRange, overlapMs: number): Ticks | undefined {
  const { watermark } = scanState(draft, range);
  return scanSince(watermark, draft.get("overlap", "ms") ?? overlapMs);
}

/**
 * Returns whether the scans by Timestamp should have brought this version: it is older than what
 * the last of them covered, and nothing else explains that the store does not have it.
 */
function isMiss(
  draft: Draft,
  { key, row }: ScannedRow,
  sentAt: number,
  covered: Ticks | undefined,
): boolean {
  const isCovered = covered !== undefined && row.timestamp < covered;
  const isExplained =
    draft.get("bases", key) !== undefined ||
    draft.get("marks", key) !== undefined ||
    draft.isTouchedSince(key, sentAt) ||
    draft.get("rows", key)?.version?.etag === row.etag;
  return isCovered && !isExplained;
}

function endCensus(draft: Draft, range: KeyRange): void {
  if (scanState(draft, range).census) updateScanState(draft, range, { census: undefined });
}
