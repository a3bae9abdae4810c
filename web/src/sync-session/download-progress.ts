// How far the first download of a table has come, from what arrives.

import { isInRange, type Key, type KeyRange } from "../sync/keys.ts";
import type { ReadAnswer, ScanAnswer, ScanRequest } from "../sync/remote.ts";
import { KeyPositions } from "./key-positions.ts";

export interface DownloadStatus {
  readonly rows: number;
  readonly bytes: number;
  readonly ranges: number;
  readonly rangesDone: number;
  readonly fraction: number | undefined;
  readonly rowsPerSecond: number;
  readonly remainingMs: number | undefined;
}

interface RangeProgress {
  readonly range: KeyRange;
  /** From 0 to 1. Undefined: no page has arrived, or nothing tells how far its keys go. */
  fraction: number | undefined;
  /** What an earlier process has read of it. */
  fractionBefore: number | undefined;
  /** Of a table that is read key by key: so many keys are there, and so many were read. */
  keys: number;
  keysRead: number;
}

const fractionOfKeys = ({ keys, keysRead }: RangeProgress): number =>
  keys === 0 ? 1 : Math.min(keysRead / keys, 1);

const almostAll = 0.999; // only the last page tells that a range is done
const recentMs = 10_000; // the rate is that of the last pages

export class DownloadProgress {
  readonly #now: () => number;
  readonly #ranges: readonly RangeProgress[];
  readonly #positions = new KeyPositions();
  readonly #readsKeys: boolean;
  #recent: { readonly at: number; readonly rows: number }[];
  #rows = 0;
  #bytes = 0;
  status: DownloadStatus;

  /**
   * `now`: the monotonic clock. `isDone`: whether an earlier process has read the range.
   * `readsKeys`: nothing can be asked by Timestamp, so the keys are scanned, and each is read.
   */
  constructor(
    now: () => number,
    ranges: readonly KeyRange[],
    isDone: (range: KeyRange) => boolean,
    readsKeys = false,
  ) {
    this.#now = now;
    this.#readsKeys = readsKeys;
    this.#ranges = ranges.map((range) => {
      const fraction = isDone(range) ? 1 : undefined;
      return { range, fraction, fractionBefore: fraction, keys: 0, keysRead: 0 };
    });
    this.#recent = [{ at: now(), rows: 0 }];
    for (const { from, to } of ranges)
      for (const key of [from, to ?? ""]) this.#positions.learn(key);
    this.status = this.#current();
  }

  /** The remote has answered a scan. Returns whether that was part of the download. */
  onPage(request: ScanRequest, answer: ScanAnswer & { kind: "page" }): boolean {
    const { keysOnly, range, since, token } = request;
    if (since !== undefined || (keysOnly && !this.#readsKeys)) return false;
    if (this.#readsKeys && !keysOnly) {
      this.#onEntities(answer.rows, answer.bytes);
      return true;
    }
    // The range that is asked for begins where the last process has ended.
    const read = this.#ranges.find((one) => one.range.to === range.to);
    if (keysOnly) {
      this.#onKeys(read, token === undefined && range.from === read?.range.from, answer);
      return true;
    }
    if (read) {
      read.fractionBefore ??= this.#fractionAt(range.from, read.range);
      const fraction = answer.token === undefined ? 1 : this.#fractionOfPage(answer, read.range);
      if (fraction !== undefined) read.fraction = Math.max(fraction, read.fraction ?? 0);
    }
    this.#onRows(answer.rows.length, answer.bytes);
    return true;
  }

  /** `isFirst`: the page begins the range, perhaps again. */
  #onKeys(
    read: RangeProgress | undefined,
    isFirst: boolean,
    page: ScanAnswer & { kind: "page" },
  ): void {
    if (read) {
      if (isFirst) read.keys = 0;
      read.keys += page.rows.length;
      if (page.token === undefined) read.fraction = fractionOfKeys(read);
    }
    this.#bytes += page.bytes ?? 0;
    this.status = this.#current();
  }

  /** An entity was read by its key. */
  onRead(key: Key, { bytes }: ReadAnswer & { kind: "found" }): void {
    if (this.#readsKeys) this.#onEntities([{ key }], bytes);
  }

  #onEntities(entities: readonly { readonly key: Key }[], bytes: number | undefined): void {
    for (const { key } of entities) {
      const read = this.#ranges.find(({ range }) => isInRange(key, range));
      if (read === undefined) continue;
      read.fractionBefore ??= 0;
      read.keysRead += 1;
      if (read.fraction !== undefined) read.fraction = fractionOfKeys(read);
    }
    this.#onRows(entities.length, bytes);
  }

  #onRows(rows: number, bytes = 0): void {
    this.#rows += rows;
    this.#bytes += bytes;
    this.#recent.push({ at: this.#now(), rows: this.#rows });
    this.status = this.#current();
  }

  /** A request has failed. If nothing has arrived for some time, the remote is gone. */
  onFailure(): void {
    const last = this.#recent.at(-1);
    if (last && last.at <= this.#now() - recentMs) this.interrupt();
  }

  /** Nothing arrives for now. The rate is then that of what arrives after the interruption. */
  interrupt(): void {
    this.#recent = [];
    this.status = { ...this.status, rowsPerSecond: 0, remainingMs: undefined };
  }

  #fractionOfPage({ rows }: ScanAnswer & { kind: "page" }, range: KeyRange): number | undefined {
    const last = rows.at(-1);
    return last && this.#fractionAt(last.key, range);
  }

  #fractionAt(key: Key, range: KeyRange): number | undefined {
    if (key === range.from) return 0;
    this.#positions.learn(key);
    const fraction = this.#positions.fractionOf(key, range);
    return fraction && Math.min(fraction, almostAll);
  }

  #current(): DownloadStatus {
    const fraction = this.#average(({ fraction }) => fraction);
    const perMs = this.#rowsPerMs();
    const before = this.#average(({ fractionBefore }) => fractionBefore);
    const gained = (fraction ?? 0) - (before ?? 0);
    const remainingRows = (this.#rows * (1 - (fraction ?? 0))) / gained;
    return {
      rows: this.#rows,
      bytes: this.#bytes,
      ranges: this.#ranges.length,
      rangesDone: this.#ranges.filter(({ fraction }) => fraction === 1).length,
      fraction,
      rowsPerSecond: perMs * 1000,
      remainingMs: gained > 0 && perMs > 0 ? remainingRows / perMs : undefined,
    };
  }

  /** A range that does not tell counts as one that is as far as the others. */
  #average(of: (range: RangeProgress) => number | undefined): number | undefined {
    const known = this.#ranges.flatMap((range) => of(range) ?? []);
    if (known.length === 0) return undefined;
    const running = known.filter((fraction) => fraction < 1);
    const average = running.reduce((sum, one) => sum + one, 0) / Math.max(1, running.length);
    const sum = known.reduce((total, one) => total + one, 0);
    return (sum + average * (this.#ranges.length - known.length)) / this.#ranges.length;
  }

  #rowsPerMs(): number {
    const now = this.#now();
    while (this.#recent.length > 2 && (this.#recent[1]?.at ?? now) < now - recentMs)
      this.#recent.shift();
    const first = this.#recent[0];
    return first ? (this.#rows - first.rows) / Math.max(1, now - first.at) : 0;
  }
}
