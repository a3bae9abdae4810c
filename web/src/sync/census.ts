// Compares the versions of all entities of a key range with the local ones (PROTOCOL.md, Pulling).
// Finds inserts, updates and deletes, and what scans by Timestamp have missed.

import { compareVersion } from "./apply-answer.ts";
import type { SyncContext } from "./context.ts";
import { massDelete, missingBases, missingRows, sizeOfDelete } from "./delete-guard.ts";
import type { Draft } from "./draft.ts";
import { isReceiptKey, type Key, type KeyRange, keyAfter } from "./keys.ts";
import { markKey } from "./marks.ts";
import type { ReadAnswer, ScanAnswer, ScannedRow } from "./remote.ts";
import type { Requests } from "./requests.ts";
import { overlapAfterMiss, scanSince } from "./watermark.ts";

/** Clean rows that were not returned, with the commit at which their page was requested. */
type Missing = Map<Key, number>;

/** A row that a census has returned with the known version, and what it has not returned. */
interface Findings {
  readonly missing: Missing;
  present: Key | undefined;
}

/** The rows of a stretch of keys that the remote has returned completely. */
interface Stretch {
  readonly range: KeyRange;
  readonly rows: readonly ScannedRow[];
  readonly sentAt: number;
}

export class Census {
  readonly #context: SyncContext;
  readonly #requests: Requests;
  /** What an earlier census of a range did not return either, and was confirmed since. */
  readonly #confirmed = new Map<Key, Missing>();
  /** What the application is asked about, by range. */
  readonly #asked = new Map<Key, Missing>();

  constructor(context: SyncContext, requests: Requests) {
    this.#context = context;
    this.#requests = requests;
  }

  confirmDeletes(): void {
    for (const [range, keys] of this.#asked) this.#confirmed.set(range, keys);
    this.#asked.clear();
    this.#updateStatus();
  }

  async scan(range: KeyRange): Promise<void> {
    const findings: Findings = { missing: new Map(), present: undefined };
    const { isSorted } = this.#context.remote.traits;
    const isComplete = isSorted
      ? await this.#scanSorted(range, findings)
      : await this.#scanUnsorted(range, findings);
    if (isComplete) await this.#deleteMissing(range, findings);
  }

  /** Each page completes the stretch up to its last key. Resumes after the last stored page. */
  async #scanSorted(range: KeyRange, findings: Findings): Promise<boolean> {
    const { after } = this.#context.store.view.get("scans", range.from)?.census ?? {};
    const whole = { ...range, from: after === undefined ? range.from : keyAfter(after) };
    let { from } = whole;
    for (let token: string | undefined; ; ) {
      const page = await this.#page(whole, token);
      if (page === undefined) return false;
      ({ token } = page);
      const last = page.rows.at(-1)?.key;
      const isEmpty = token !== undefined && last === undefined;
      const to = token === undefined ? range.to : keyAfter(last ?? from);
      if (!isEmpty) await this.#compare(range, { ...page, range: { from, to } }, findings, last);
      if (token === undefined) return true;
      if (!isEmpty) from = to as Key;
    }
  }

  /** Only the end of the scan completes anything. The oldest request decides what is newer. */
  async #scanUnsorted(range: KeyRange, findings: Findings): Promise<boolean> {
    const rows: ScannedRow[] = [];
    let sentAt: number | undefined;
    for (let token: string | undefined; ; ) {
      const page = await this.#page(range, token);
      if (page === undefined) return false;
      rows.push(...page.rows);
      sentAt ??= page.sentAt;
      ({ token } = page);
      if (token === undefined) break;
    }
    await this.#compare(range, { range, rows, sentAt }, findings, undefined);
    return true;
  }

  async #page(range: KeyRange, token: string | undefined) {
    const { remote } = this.#context;
    const sentAt = await this.#requests.beginRead();
    const request = { range, keysOnly: true, isFiltered: true, token };
    const answer = await this.#requests.answered<ScanAnswer>(() => remote.scan(request));
    if (answer.kind !== "page") return undefined;
    const rows = answer.rows.filter(({ key }) => !isReceiptKey(key));
    return { rows, token: answer.token, sentAt };
  }

  async #compare(
    range: KeyRange,
    stretch: Stretch,
    findings: Findings,
    after: Key | undefined,
  ): Promise<void> {
    const { rules, status, store } = this.#context;
    const result = await store.transact((draft) => {
      let misses = 0;
      let present: Key | undefined;
      const returned = new Set<Key>();
      for (const scanned of stretch.rows) {
        returned.add(scanned.key);
        if (isMiss(draft, range, scanned, stretch.sentAt, rules.overlapMs)) misses += 1;
        const isKnown = compareVersion(draft, scanned.key, scanned.row.etag) === "known";
        if (isKnown) present = scanned.key;
      }
      markAll(draft, missingBases(draft, stretch.range, returned));
      const missing = missingRows(draft, stretch.range, returned, stretch.sentAt);
      storePosition(draft, range, after, misses, rules.overlapMs);
      return { misses, present, missing };
    });
    status.missesRepaired += result.misses;
    findings.present ??= result.present;
    for (const key of result.missing) findings.missing.set(key, stretch.sentAt);
  }

  #updateStatus(): void {
    this.#context.status.suspects = [...this.#asked.values()].flatMap((keys) => [...keys.keys()]);
  }

  async #deleteMissing(range: KeyRange, findings: Findings): Promise<void> {
    const { rules, store } = this.#context;
    await store.transact((draft) => endCensus(draft, range));
    const confirmed = this.#confirmed.get(range.from);
    this.#confirmed.delete(range.from);
    if (confirmed) await this.#deleteRows(findings.missing, confirmed);
    const others = new Map([...findings.missing].filter(([key]) => !confirmed?.has(key)));
    const missing = [...others.keys()];
    const isFew = sizeOfDelete(store.view, range, missing, rules.deleteLimits) === "few";
    if (isFew) await store.transact((draft) => markAll(draft, missing));
    const decision = isFew ? "again" : await this.#probe(missing, findings.present);
    if (decision === "confirmed") this.#confirmed.set(range.from, others);
    if (decision === "suspect") this.#asked.set(range.from, others);
    else this.#asked.delete(range.from);
    this.#updateStatus();
  }

  /** Deletes what two censuses did not return, unless it was changed since the first of them. */
  async #deleteRows(missing: Missing, confirmed: Missing): Promise<void> {
    await this.#context.store.transact((draft) => {
      for (const [key, sentAt] of confirmed) {
        const isClean = draft.get("bases", key) === undefined;
        if (!missing.has(key) || !isClean || draft.isTouchedSince(key, sentAt)) continue;
        draft.delete("rows", key);
        if (draft.get("marks", key)) draft.delete("marks", key);
      }
    });
  }

  async #probe(missing: readonly Key[], present: Key | undefined) {
    const { remote, rules } = this.#context;
    const read = (key: Key) => this.#requests.answered<ReadAnswer>(() => remote.read(key));
    // A row that left the filter is as absent as one that was deleted.
    const readMissing = async (key: Key): Promise<ReadAnswer> => {
      const answer = await read(key);
      const isOut = answer.kind === "found" && !rules.keeps(key, answer.row.properties);
      return isOut ? { kind: "absent" } : answer;
    };
    return massDelete({
      first: await readMissing(missing[0] as Key),
      last: await readMissing(missing.at(-1) as Key),
      present: present === undefined ? undefined : await read(present),
    });
  }
}

/**
 * Returns whether the scans by Timestamp should have brought this version: it is older than what
 * the last of them covered, and nothing else explains that the store does not have it.
 */
function isMiss(
  draft: Draft,
  range: KeyRange,
  { key, row }: ScannedRow,
  sentAt: number,
  overlapMs: number,
): boolean {
  const { watermark } = draft.get("scans", range.from) ?? {};
  const since = scanSince(watermark, draft.get("overlap", "ms") ?? overlapMs);
  const isCovered = since !== undefined && row.timestamp < since;
  const isExplained =
    draft.get("bases", key) !== undefined ||
    draft.get("marks", key) !== undefined ||
    draft.isTouchedSince(key, sentAt) ||
    draft.get("rows", key)?.version?.etag === row.etag;
  return isCovered && !isExplained;
}

function markAll(draft: Draft, keys: readonly Key[]): void {
  for (const key of keys) markKey(draft, key);
}

function storePosition(
  draft: Draft,
  range: KeyRange,
  after: Key | undefined,
  misses: number,
  overlapMs: number,
): void {
  if (misses > 0) {
    draft.put("overlap", "ms", overlapAfterMiss(draft.get("overlap", "ms") ?? overlapMs));
  }
  if (after !== undefined) {
    const state = draft.get("scans", range.from) ?? {};
    draft.put("scans", range.from, { ...state, census: { after } });
  }
}

function endCensus(draft: Draft, range: KeyRange): void {
  const state = draft.get("scans", range.from);
  if (state?.census) draft.put("scans", range.from, { ...state, census: undefined });
}
