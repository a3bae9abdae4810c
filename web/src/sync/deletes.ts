// Deletes the rows that a census did not return, or asks the application first (PROTOCOL.md,
// Deletes).

import type { SyncContext } from "./context.ts";
import { massDelete, sizeOfDelete } from "./delete-guard.ts";
import type { Draft } from "./draft.ts";
import type { Key, KeyRange } from "./keys.ts";
import { markKey } from "./marks.ts";
import type { ReadAnswer } from "./remote.ts";
import type { Requests } from "./requests.ts";

/** Clean rows that were not returned, with their ETags. */
export type Missing = Map<Key, string>;

/** What a complete census has found. */
export interface Findings {
  readonly missing: Missing;
  rows: number; // that the local store has in the range
  present: Key | undefined; // a row that was returned in the known version
}

/** What the next census of a range may delete if it does not return it either. */
interface Confirmed {
  readonly missing: Missing;
  readonly by: "probe" | "application";
}

export class Deletes {
  readonly #context: SyncContext;
  readonly #requests: Requests;
  readonly #confirmed = new Map<Key, Confirmed>(); // by the range's `from`
  /** What the application is asked about, by the range's `from`. */
  readonly #asked = new Map<Key, { readonly id: string; readonly missing: Missing }>();

  readonly #unsettled = new Set<Key>(); // by the range's `from`

  constructor(context: SyncContext, requests: Requests) {
    this.#context = context;
    this.#requests = requests;
  }

  /**
   * The application confirms the keys that `status.suspects` has shown with this id. Returns false
   * if others are asked about since.
   */
  confirm(id: string): boolean {
    const found = [...this.#asked].find(([, asked]) => asked.id === id);
    if (found === undefined) return false;
    const [range, { missing }] = found;
    this.#confirmed.set(range, { missing, by: "application" });
    this.#asked.delete(range);
    this.#updateStatus();
    return true;
  }

  /** Whether the next census may delete what it does not return either: it should come soon. */
  get awaitsCensus(): boolean {
    return this.#confirmed.size > 0;
  }

  /** Whether the last census of each range has missed no rows but those that are marked. */
  get isSettled(): boolean {
    return this.#unsettled.size === 0;
  }

  /** Decides what a census of the range means. */
  async decide(range: KeyRange, findings: Findings): Promise<void> {
    const { rules, store } = this.#context;
    const deleted = await this.#deleteConfirmed(range, findings);
    const others: Missing = new Map([...findings.missing].filter(([key]) => !deleted.has(key)));
    const missing = [...others.keys()];
    const { rows } = findings;
    const limits = rules.deleteLimits;
    const size = await store.read((view) => sizeOfDelete(view, rows, others, limits));
    const isFew = size === "few";
    if (isFew) {
      await this.#inSteps(missing, markKey);
      this.#unsettled.delete(range.from);
    } else this.#unsettled.add(range.from);
    const decision = isFew ? "again" : await this.#probe(missing, findings.present);
    if (decision === "confirmed") this.#confirmed.set(range.from, { missing: others, by: "probe" });
    if (decision === "suspect") this.#ask(range, others);
    else this.#asked.delete(range.from);
    this.#updateStatus();
  }

  /** The same question keeps its id. */
  #ask(range: KeyRange, missing: Missing): void {
    const asked = this.#asked.get(range.from)?.missing;
    if (asked && hasSameEntries(asked, missing)) return;
    this.#asked.set(range.from, { id: this.#context.platform.token(), missing });
  }

  #updateStatus(): void {
    this.#context.status.suspects = [...this.#asked.values()].map(({ id, missing }) => ({
      id,
      keys: [...missing.keys()],
    }));
  }

  /**
   * Deletes what two censuses did not return, unless it was changed since the first of them. The
   * credential may have become narrower since the first probe, so there is another one.
   */
  async #deleteConfirmed(range: KeyRange, { missing, present }: Findings): Promise<Set<Key>> {
    const confirmed = this.#confirmed.get(range.from);
    this.#confirmed.delete(range.from);
    const twice = [...missing].filter(([key, etag]) => confirmed?.missing.get(key) === etag);
    if (confirmed === undefined || twice.length === 0) return new Set();
    const keys = twice.map(([key]) => key);
    const isSure =
      confirmed.by === "application" || (await this.#probe(keys, present)) === "confirmed";
    if (!isSure) return new Set();
    await this.#inSteps(twice, deleteVersion);
    return new Set(keys);
  }

  /** Makes a change for each item, in several commits if there are many. */
  async #inSteps<T>(items: readonly T[], change: (draft: Draft, item: T) => void): Promise<void> {
    let from = 0;
    do {
      const step = items.slice(from, from + rowsPerStep);
      await this.#context.store.transact((draft) => {
        for (const item of step) change(draft, item);
      });
      from += rowsPerStep;
    } while (from < items.length);
  }

  async #probe(missing: readonly Key[], present: Key | undefined) {
    const { remote, rules } = this.#context;
    const read = (key: Key) => this.#requests.tried<ReadAnswer>(() => remote.read(key));
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

const rowsPerStep = 1000; // bounds the time of one turn of the event loop

/** Deletes a row that still has this version, which the remote does not have. */
function deleteVersion(draft: Draft, [key, etag]: readonly [Key, string]): void {
  const isClean = draft.get("bases", key) === undefined;
  if (!isClean || draft.get("rows", key)?.version?.etag !== etag) return;
  draft.delete("rows", key);
  if (draft.get("marks", key)) draft.delete("marks", key);
}

const hasSameEntries = (a: Missing, b: Missing): boolean =>
  a.size === b.size && [...a].every(([key, etag]) => b.get(key) === etag);
