// Knows everything that happened in a simulation, and checks it: the invariants of sync.

import { applyChange, canApply } from "../../web/src/sync/change.ts";
import type {
  Base,
  FeedState,
  LocalRow,
  OutboxOp,
  RemoteRow,
  ScanState,
} from "../../web/src/sync/hidden-tables.ts";
import {
  isInRange,
  isReceiptKey,
  type Key,
  partitionOf,
  partitionRange,
} from "../../web/src/sync/keys.ts";
import { areSameProperties } from "../../web/src/sync/properties.ts";
import { scanSince } from "../../web/src/sync/watermark.ts";
import type { Config } from "./config.ts";
import { type Commit, type FakeStore, idOf } from "./fake-store.ts";
import type { FedChange, RemoteFeed } from "./remote-feed.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Execution, HistoryEntry, WeakTable } from "./weak-table.ts";
import { WholeBatches } from "./whole-batches.ts";

export class Violation extends Error {}

/** What the harness knows about a batch that a client sent. */
export interface SentBatch {
  readonly client: string;
  readonly restores: number; // of the client's store, before it was sent
  readonly partition: string;
  readonly hasReceipt: boolean;
  readonly ops: readonly { readonly id: string; readonly op: OutboxOp }[];
  isRepeated: boolean; // by the network
}

export interface Counts {
  acknowledged: number;
  applied: number;
  lost: number;
  unknown: number;
  resurrected: number;
  repeatedTwice: number;
}

/** What a client knows about a key: a version of its history. */
interface Known {
  readonly version: number;
  readonly isPresent: boolean;
}

export class Ledger {
  readonly #scheduler: Scheduler;
  readonly #table: WeakTable;
  readonly #config: Config;
  /** The epochs of the table in which an operation was applied. */
  readonly applied = new Map<string, number[]>();
  readonly #isRepeated = new Set<string>();
  /** How many tries of an operation were sent and not answered, as far as its client knows. */
  readonly #unanswered = new Map<string, number>();
  /** Pending in a copy that was restored: no store knows what became of them since the copy. */
  readonly #isRestored = new Set<string>();
  readonly #lastNumber = new Map<string, number>();
  readonly #seen = new Map<string, Set<string>>(); // client -> key and ETag
  readonly #known = new WeakMap<FakeStore, Map<Key, Known>>();
  /** Of batches, and how often the table was dropped. */
  #executions = 0;
  /** When an operation was applied last, unless the receipt of its batch tells its client so. */
  readonly #appliedAt = new Map<string, number>();
  /** The last delete of a key by each store. */
  readonly #deletes = new Map<Key, Map<string, number>>();
  feed: RemoteFeed | undefined;
  readonly whole: WholeBatches;
  readonly counts: Counts = {
    acknowledged: 0,
    applied: 0,
    lost: 0,
    unknown: 0,
    resurrected: 0,
    repeatedTwice: 0,
  };

  constructor(scheduler: Scheduler, table: WeakTable, config: Config) {
    this.#scheduler = scheduler;
    this.#config = config;
    this.#table = table;
    this.whole = new WholeBatches(table, config, (text) => this.fail("I18", text));
  }

  fail(invariant: string, text: string): void {
    this.#scheduler.fail(new Violation(`${invariant}: ${text}`));
  }

  // ---- Requests --------------------------------------------------------------------------------

  onSent({ ops }: SentBatch): void {
    for (const { id } of ops) this.#unanswered.set(id, (this.#unanswered.get(id) ?? 0) + 1);
  }

  /**
   * The client knows that this try was not executed. A client with receipts does not know it of a
   * batch without one, because the answer can be that of a second copy.
   */
  onRefused({ ops, hasReceipt }: SentBatch): void {
    if (this.#config.hasReceipts && !hasReceipt) return;
    for (const { id } of ops) this.#unanswered.set(id, (this.#unanswered.get(id) ?? 0) - 1);
  }

  // ---- The remote ------------------------------------------------------------------------------

  onExecuted({ operations, replaced }: Execution, who: string, batch?: SentBatch): void {
    for (const [key, row] of replaced) {
      if (batch && !this.#seen.get(who)?.has(key + row.etag) && !isReceiptKey(key)) {
        this.fail("I17", `${who} overwrites ${key} ${row.etag} unseen`);
      }
    }
    this.#checkPairs(who);
    this.#executions += 1;
    this.whole.onExecuted(operations);
    if (batch) this.#checkOrder(batch);
    const by = batch ? storeOf(batch) : who;
    for (const { key, kind } of operations) if (kind === "delete") this.#addDelete(key, by);
  }

  onDropped(): void {
    this.#executions += 1;
    for (const key of this.#table.history.keys()) this.#addDelete(key, "drop");
  }

  #addDelete(key: Key, by: string): void {
    const deletes = this.#deletes.get(key) ?? new Map<string, number>();
    this.#deletes.set(key, deletes.set(by, this.#executions));
  }

  /** I4: rows 0 and 1 of a partition are always written together. */
  #checkPairs(who: string): void {
    for (const partition of this.#table.config.partitions) {
      const [a, b] = ["0", "1"].map((row) => this.#table.current(`${partition}\0${row}`));
      // After the table was dropped, an edit can create one of them again, with old values.
      if (this.#table.epoch > 0) continue;
      const isSame = a?.properties.get("pair")?.value === b?.properties.get("pair")?.value;
      if (!isSame) this.fail("I4", `${who} tears the pair of ${partition}`);
    }
  }

  /** I3 and I5: an operation is applied once, and in the client's order. */
  #checkOrder(batch: SentBatch): void {
    const { client, partition, ops, restores } = batch;
    const line = `${client}/${partition}/${this.#table.epoch}/${restores}`;
    const last = this.#lastNumber.get(line) ?? 0;
    for (const { id, op } of ops) {
      const epochs = this.applied.get(id) ?? [];
      const isTwice = epochs.includes(this.#table.epoch);
      if ((isTwice || op.number <= last) && !this.#mayRepeat(batch, op)) {
        if (isTwice) this.fail("I3", `${line} applies ${id} twice`);
        else this.fail("I5", `${line} applies ${id} after a later operation`);
      }
      this.applied.set(id, [...epochs, this.#table.epoch]);
      if (batch.hasReceipt) this.#appliedAt.delete(id);
      else this.#appliedAt.set(id, this.#executions);
      if (batch.isRepeated && !this.#config.hasReceipts) this.#isRepeated.add(id);
      this.counts.applied += 1;
    }
    const newest = Math.max(last, ...ops.map(({ op }) => op.number));
    this.#lastNumber.set(line, newest);
  }

  /** What no client can prevent without a receipt in the batch that was applied first. */
  #mayRepeat(batch: SentBatch, op: OutboxOp): boolean {
    const id = idOf(op);
    if (this.#isRestored.has(id)) return true;
    // Inserts that were not answered, and whose entities another client, or the same one with an
    // older copy of its store, has deleted since they were executed: PROTOCOL.md, Outcomes 5.
    const appliedAt = this.#appliedAt.get(id) ?? Number.POSITIVE_INFINITY;
    const deletes = [...(this.#deletes.get(op.key) ?? [])];
    const isResurrection =
      (this.#unanswered.get(id) ?? 0) > 0 &&
      deletes.some(([by, at]) => by !== storeOf(batch) && at > appliedAt);
    if (isResurrection) this.counts.resurrected += 1;
    // Of clients without receipts: the network sent the batch twice.
    const isRepeated = !this.#config.hasReceipts && (batch.isRepeated || this.#isRepeated.has(id));
    if (isRepeated) this.counts.repeatedTwice += 1;
    return isResurrection || isRepeated;
  }

  // ---- The clients -----------------------------------------------------------------------------

  onSeen(client: string, key: Key, etag: string): void {
    const seen = this.#seen.get(client);
    if (seen) seen.add(key + etag);
    else this.#seen.set(client, new Set([key + etag]));
  }

  /** Called when a process of a client opens its store: what it knows from before. */
  onOpened(store: FakeStore): void {
    this.#forgetAnswers(store);
    const known = this.#knownOf(store);
    for (const key of new Set([...store.keys("rows"), ...store.keys("bases")])) {
      const base = store.view.get("bases", key);
      const row = store.view.get("rows", key);
      const claim = claimOf(base, row);
      if (claim === undefined || claim === "absent") continue;
      const found = newestWith(this.#table.history.get(key) ?? [], claim);
      if (found) known.set(key, found);
    }
  }

  /** A new process does not know whether a frozen push was sent, and how it was answered. */
  #forgetAnswers({ view }: FakeStore): void {
    for (const [partition, { upTo, members }] of view.entries("pushes", "")) {
      if (members.some(({ base }) => base.kind === "outdated")) continue; // cannot be sent
      const { from, to } = partitionRange(partition);
      for (const [, op] of view.entries("outbox", from, to)) {
        if (op.number <= upTo) this.#unanswered.set(idOf(op), Number.POSITIVE_INFINITY);
      }
    }
  }

  onRestored(store: FakeStore): void {
    for (const [id, state] of store.journal) if (state === "pending") this.#isRestored.add(id);
  }

  /** Called after each commit of a client. */
  onCommit(client: string, store: FakeStore, { puts }: Commit): void {
    const keys = new Set<Key>();
    let feedState: FeedState | undefined;
    for (const { table, key, value } of puts) {
      if (table === "feed") feedState = value as FeedState | undefined;
      if (table === "rows" || table === "bases") keys.add(key);
      else if (table === "outbox" && value) keys.add((value as OutboxOp).key);
      else if (table === "scans" && value) this.#checkScan(client, store, key, value as ScanState);
    }
    for (const key of keys) {
      this.#checkDerived(client, store, key);
      this.#checkKnowledge(client, store, key);
    }
    if (feedState) this.#checkFeed(client, store, feedState);
    this.whole.onCommit(client, store, puts);
  }

  /** I1: dirty means pending, and a dirty row is its Base with the pending operations. */
  #checkDerived(client: string, store: FakeStore, key: Key): void {
    const { view } = store;
    const base = view.get("bases", key);
    const pending = pendingOps(store, key);
    const isUnread = base?.kind === "outdated" && view.get("marks", key) !== undefined;
    if ((base !== undefined) !== pending.length > 0 && !isUnread) {
      this.fail("I1", `${client} ${key} has ${pending.length} operations, Base ${base?.kind}`);
    }
    if (base === undefined) return;
    let row = base.kind === "row" ? base.row.properties : undefined;
    if (base.kind === "outdated") row = base.properties;
    for (const { change, group } of pending) {
      if (!canApply(row, change)) this.fail("I1", `${client} ${key} cannot apply group ${group}`);
      row = applyChange(row, change);
    }
    const local = view.get("rows", key);
    const isOfRemote = local && !local.version?.etag.startsWith("local");
    if (!areSameProperties(row, local?.properties) || isOfRemote) {
      this.fail("I1", `${client} ${key} is not its Base with the pending operations`);
    }
  }

  /** I10: what the next scan by Timestamp does not read is known, or is marked to be read. */
  #checkScan(client: string, store: FakeStore, from: Key, { to, watermark, delta }: ScanState) {
    const { breaksBounds, narrowsScope, overlapMs } = this.#config;
    if (breaksBounds || narrowsScope || delta !== undefined) return;
    const { view } = store;
    const since = scanSince(watermark, view.get("overlap", "ms") ?? overlapMs);
    if (since === undefined) return;
    for (const [key, history] of this.#table.history) {
      const row = history.at(-1)?.row;
      if (!isInRange(key, { from, to }) || row === undefined || isReceiptKey(key)) continue;
      const isMarked = view.get("bases", key) !== undefined || view.get("marks", key) !== undefined;
      if (row.timestamp >= since || isMarked || this.#isKnown(store, key, row)) continue;
      this.fail("I10", `${client} will not read ${key} ${row.etag} any more`);
    }
  }

  /** I15: what the feed has brought up to its stored position is known, or is marked. */
  #checkFeed(client: string, store: FakeStore, { isComplete, position, ...state }: FeedState) {
    if (!isComplete || state.store !== this.feed?.store || this.#config.narrowsScope) return;
    const newest = new Map<Key, FedChange>();
    for (const change of this.feed.changes)
      if (change.sequence <= position) newest.set(change.key, change);
    const { view } = store;
    for (const [key, { entry, sequence }] of newest) {
      if (isReceiptKey(key) || view.get("bases", key) || view.get("marks", key)) continue;
      const local = view.get("rows", key)?.version?.etag;
      const isKnown = this.#table.history.get(key)?.some(({ row, version }) => {
        const isKept = row !== undefined && this.#table.config.keeps(key, row.properties);
        return version >= entry.version && local === (isKept ? row.etag : undefined);
      });
      if (isKnown) continue;
      this.fail("I15", `${client} has followed to ${position}, without ${key} of ${sequence}`);
    }
  }

  #isKnown({ view }: FakeStore, key: Key, row: RemoteRow): boolean {
    const local = view.get("rows", key);
    if (this.#table.config.keeps(key, row.properties)) return local?.version?.etag === row.etag;
    return local === undefined || this.#config.filter === "sent"; // then a census finds it
  }

  /** I6, I7, I8, I9: what the client takes for the remote's version. */
  #checkKnowledge(client: string, store: FakeStore, key: Key): void {
    const base = store.view.get("bases", key);
    const row = store.view.get("rows", key);
    const claim = claimOf(base, row);
    if (claim === undefined) return;
    const known = this.#knownOf(store);
    const before = known.get(key) ?? { version: 0, isPresent: false };
    const history = this.#table.history.get(key) ?? [];
    const isAbsent = claim === "absent";
    const after = isAbsent ? this.#absence(history, before, key) : newestWith(history, claim);
    if (after === undefined) {
      const what = isAbsent ? claim : claim.etag;
      const invariant = isAbsent ? "I9" : base ? "I6" : "I7";
      this.fail(
        invariant,
        `${client} takes ${key} for ${what}, which the remote has not had since`,
      );
    } else if (after.version < before.version) {
      this.fail("I8", `${client} goes back on ${key}: ${before.version} to ${after.version}`);
    } else if (!isAbsent && base === undefined) {
      const isKept = this.#table.config.keeps(key, claim.properties);
      if (!isKept) this.fail("I7", `${client} keeps ${key}`);
    }
    known.set(key, after ?? before);
  }

  /** A key that is not there locally was deleted, or does not match the filter. */
  #absence(history: readonly HistoryEntry[], before: Known, key: Key): Known | undefined {
    if (!before.isPresent) return before;
    const found = history.find(({ row, version }) => {
      const isKept = row !== undefined && this.#table.config.keeps(key, row.properties);
      return version >= before.version && !isKept;
    });
    return found && { version: found.version, isPresent: false };
  }

  #knownOf(store: FakeStore): Map<Key, Known> {
    let known = this.#known.get(store);
    if (known === undefined) {
      known = new Map();
      this.#known.set(store, known);
    }
    return known;
  }

  // ---- At rest ---------------------------------------------------------------------------------

  /** I12: at rest, all is pushed but for parked groups, and all stores equal the remote. */
  differences(client: string, store: FakeStore): string[] {
    const { view } = store;
    const tables = ["outbox", "pushes", "marks"] as const;
    const found = tables
      .filter((table) => store.keys(table).some((key) => pendingOps(store, key).length === 0))
      .map((table) => `${client} has ${store.keys(table).length} in ${table}`);
    const remote = this.#table.rows;
    for (const key of new Set([...store.keys("rows"), ...remote.keys()])) {
      if (pendingOps(store, key).length > 0) continue; // parked
      const row = view.get("rows", key);
      const theirs = remote.get(key);
      const kept = theirs && this.#table.config.keeps(key, theirs.properties) ? theirs : undefined;
      const hasEtag = row?.version?.etag === kept?.etag;
      const isEqual =
        areSameProperties(row?.properties, kept?.properties) &&
        hasEtag &&
        row?.version?.timestamp === kept?.timestamp;
      const isHidden = hasEtag && kept !== undefined && this.#mayHideVersions;
      if (!isEqual && !isHidden) found.push(`${client} ${key} differs from the remote`);
    }
    return found;
  }

  /**
   * In Azurite, two versions can have one ETag. Scans by Timestamp bring both, but not if their
   * overlap is too small, and comparisons of versions do not find the second.
   */
  get #mayHideVersions(): boolean {
    return this.#config.profile === "azurite" && this.#config.breaksBounds;
  }

  /** No client can know that the operation was applied. */
  #isEvidenceGone(id: string): boolean {
    return this.#isRestored.has(id) || this.#isRepeated.has(id);
  }

  /**
   * I2: no operation is lost silently. I2b: none is reported lost that was applied. I2c: an outcome
   * is unknown only if a try was not answered.
   */
  checkOutcomes(client: string, store: FakeStore): void {
    const { view } = store;
    const lost = new Map([...view.entries("lost", "")].map(([, entry]) => [idOf(entry.op), entry]));
    const parked = new Set([...view.entries("parked", "")].flatMap(([, { ops }]) => ops.map(idOf)));
    for (const [id, state] of store.journal) {
      this.counts.acknowledged += 1;
      const entry = lost.get(id);
      const isApplied = this.applied.has(id);
      if (state === "confirmed" && !isApplied) this.fail("I2", `${client} ${id} was not applied`);
      if (state === "pending" && !entry && !parked.has(id)) {
        this.fail("I2", `${client} ${id} is silently lost`);
      }
      if (entry?.outcome === "unknown") {
        this.counts.unknown += 1;
        if (!(this.#unanswered.get(id) ?? 0)) {
          this.fail("I2c", `${client} ${id} is reported as unknown, but each try was refused`);
        }
      } else if (entry) {
        this.counts.lost += 1;
        if (isApplied && !this.#isEvidenceGone(id)) {
          this.fail("I2b", `${client} ${id} is reported lost, but was applied`);
        }
      }
    }
  }
}

function pendingOps(store: FakeStore, key: Key): OutboxOp[] {
  const { from, to } = partitionRange(partitionOf(key));
  const parked = [...store.view.entries("parked", from, to)].flatMap(([, { ops }]) => ops);
  const outbox = [...store.view.entries("outbox", from, to)].map(([, op]) => op);
  const all = [...parked, ...outbox].filter((op) => op.key === key);
  return all.sort((a, b) => a.group - b.group);
}

/** An older copy of a client's store knows nothing of what was done after it. */
const storeOf = ({ client, restores }: SentBatch): string => `${client} ${restores}`;

/** Undefined: the client does not claim to know the remote's version. */
function claimOf(
  base: Base | undefined,
  row: LocalRow | undefined,
): RemoteRow | "absent" | undefined {
  if (base?.kind === "row") return base.row;
  if (base !== undefined) return base.kind === "absent" ? "absent" : undefined;
  return row?.version ? { properties: row.properties, ...row.version } : "absent";
}

/** In Azurite, two versions can have the same ETag, and no client can tell one from the other. */
export function newestWith(history: readonly HistoryEntry[], claim: RemoteRow): Known | undefined {
  const versions = history.filter(
    ({ row }) => row?.etag === claim.etag && row.timestamp === claim.timestamp,
  );
  const isIt = (row?: RemoteRow) => areSameProperties(row?.properties, claim.properties);
  const etags = history.flatMap((entry) => entry.row?.etag ?? []);
  const isUnique = new Set(etags).size === etags.length;
  const found = isUnique ? versions.find(({ row }) => isIt(row)) : versions.at(-1);
  return found && { version: found.version, isPresent: true };
}
