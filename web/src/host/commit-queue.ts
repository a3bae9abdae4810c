// One queue, one writer (design: queue, stage, store, publish). Writes wait unstaged; when nothing is being
// stored, what waits becomes one group with one segment.
//
//   strict, relaxed   stage, seal, store … stored, publish, answer
//   deferred          stage and publish in one, answer … later seal, store … stored; in the very call, if nothing waits
//
// Invariants:
//   - Writes are staged in the order of the calls, so what is stored is always a prefix of what was acknowledged.
//   - At most one segment is being stored (segment-writer.ts). While it holds a candidate, nothing else is staged; while
//     it holds only deferred writes, which are published already, further deferred writes go on.
//   - A write is answered once. An error means that it had no effect, unless it says that this is not known (failure
//     "unknown"); then no write is accepted until it is known.

import { AbortError, StoreError } from "../errors.ts";
import { type LogStorage, StorageError } from "../storage/log-storage.ts";
import type { AbortSignalLike, Durability } from "../types.ts";
import {
  DeferredModuleNeeded,
  type Engine,
  PartsNeeded,
  type StagedResponses,
} from "../wasm/engine.ts";
import type { LogSize } from "./log-growth.ts";
import type { PartLoader } from "./part-loader.ts";
import { type PooledRequest, requestPool } from "./request-pool.ts";
import { isFatal, SegmentWriter, type StoreOutcome, toError } from "./segment-writer.ts";

const groupBytesMax = 4 * 1024 * 1024; // keeps one group's staging short, and holds the largest transaction
const pendingBytesMax = 8 * 1024 * 1024;
const deferredDelayUnderLoadMs = 1000;
const fullSegmentBytes = 1024 * 1024; // more in a segment saves nothing, and is held twice until it is stored
const retryFirstMs = 1000;
const retryMaxMs = 30_000;

export interface CommitQueueOptions {
  engine: Pick<
    Engine,
    "stage" | "write" | "writeOne" | "publish" | "discard" | "seal" | "markStored"
  >;
  storage: Pick<LogStorage, "addSegments" | "segmentBytes">;
  parts: Pick<PartLoader, "loadAndRetry">;
  durability: Durability;
  deferredDelayMs: number;
  tracksUnstored: boolean; // for whoever asks for `unstored`
  now: () => number;
  hidden: () => boolean; // while true, deferred writes are stored at once
  onStored: (size: LogSize) => void;
  // Deferred writes could not be stored and are kept; or, without a retry, nothing can be stored any more.
  onPersistError: (error: Error, retryInMs: number | undefined) => void;
}

// A deferred write that was acknowledged and is not stored.
export interface UnstoredWrite {
  readonly request: Uint8Array;
  readonly callNumber: number | undefined; // as whoever asked for it said
}

// A write, or (without a block) a flush: it resolves when all before it is stored.
interface QueuedWrite {
  readonly pooled: PooledRequest | undefined; // the block
  readonly durability: Durability;
  readonly resolve: (response: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
  readonly signal?: AbortSignalLike | undefined;
  isAlone: boolean; // it is a group by itself; also if staging a group with it ran out of memory
  readonly stage?: () => StagedResponses | PartsNeeded; // instead of a block
  readonly pausesQueue?: boolean; // when it is answered, everything waits until told to go on
  stopListening: () => void; // stops listening to its signal
}

const emptyResponse = new Uint8Array();
const noop = () => {};

export class CommitQueue {
  readonly #options: CommitQueueOptions;
  #queued: QueuedWrite[] = [];
  #scheduled = false;
  #isPaused = false; // by runExclusively(), or until parts are there
  readonly #writer: SegmentWriter;
  #fatalError: Error | undefined; // final: what every later write rejects with

  // Deferred writes, published and not yet stored. Measured in bytes of their blocks.
  #pendingBytes = 0;
  #pendingWrites: PooledRequest[] = []; // if they are kept
  #pendingSince = 0;
  #pendingInSegment = 0; // of them, how much is in the segment that is being stored
  #writesInSegment = 0;
  #sealedAt = 0;
  #lastDeferredAt = 0; // by Date.now(), which costs a browser a third of performance.now()
  #timer: ReturnType<typeof setTimeout> | undefined;
  #retryMs = 0; // not 0: the last attempt to store failed

  constructor(options: CommitQueueOptions) {
    this.#options = options;
    this.#writer = new SegmentWriter(options);
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  // In order.
  get unstored(): UnstoredWrite[] {
    return [...this.#pendingWrites];
  }

  // Nothing waits, nothing is being stored.
  get idle(): boolean {
    return this.#queued.length === 0 && this.#pendingBytes === 0 && this.#writer.idle;
  }

  // Nothing is staged or being stored. Writes may wait, and published ones for being stored.
  get isWriterIdle(): boolean {
    return this.#writer.idle && !this.#isPaused;
  }

  // The engine went back to an earlier version, and what was published since is not to be stored. REQUIRES: still, or
  // within runExclusively().
  discardPending(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pendingBytes = 0;
    this.#releasePending(this.#pendingWrites.length);
  }

  // Set once storing can't succeed any more.
  get fatalError(): Error | undefined {
    return this.#fatalError;
  }

  // The reply at once dies with the engine's next call.
  write(
    request: Uint8Array,
    durability: Durability = this.#options.durability,
    signal?: AbortSignalLike,
    callNumber?: number,
  ): Uint8Array | Promise<Uint8Array> {
    if (durability === "deferred" && this.#canWriteNow && !signal?.aborted) {
      try {
        const response = this.#writeNow(request, callNumber);
        if (response !== undefined) return response;
      } catch (cause) {
        const error = toError(cause);
        if (isFatal(error)) this.#fail(error);
        return Promise.reject(error);
      }
    }
    return this.#enqueue(request, durability, signal, callNumber);
  }

  async flush(): Promise<void> {
    await this.#enqueue(undefined, "strict");
  }

  // A group of its own, which `stage` stages: false if there is nothing to store. Resolves when it is stored and published.
  stageAsOwnGroup(stage: () => boolean | PartsNeeded): Promise<void> {
    const durability = this.#options.durability === "strict" ? "strict" : "relaxed";
    return new Promise((resolve, reject) => {
      const staging = () => {
        const changes = stage();
        if (changes instanceof PartsNeeded) return changes;
        return { responses: [emptyResponse], failed: [!changes], changes };
      };
      const done = { resolve: () => resolve(), reject };
      this.#enqueueTask({ ...done, durability, stage: staging });
    });
  }

  // Runs `work` when all before it is stored, and nothing else until it ends: nothing is staged, sealed or published.
  runExclusively<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const resume = () => {
        this.#isPaused = false;
        this.#resume();
      };
      this.#enqueueTask({
        durability: "strict",
        pausesQueue: true,
        resolve: () => void work().then(resolve, reject).finally(resume),
        reject: (error) => {
          reject(error);
          queueMicrotask(resume);
        },
      });
    });
  }

  // Deferred writes are stored now: the page may be about to go.
  storePendingNow(): void {
    this.#pump();
    this.#storePending();
  }

  // Nothing is stored any more: what waits is rejected, deferred writes that were not stored are lost.
  stop(reason: Error): void {
    clearTimeout(this.#timer);
    this.#fatalError ??= reason;
    this.#reject(this.#queued, this.#fatalError);
  }

  // ---- Queue ----------------------------------------------------------------------------------------------------------

  #enqueue(
    request: Uint8Array | undefined,
    durability: Durability,
    signal?: AbortSignalLike,
    callNumber?: number,
  ): Promise<Uint8Array> {
    if (this.#fatalError !== undefined) return Promise.reject(this.#fatalError);
    if (signal?.aborted) return Promise.reject(new AbortError());
    const pooled = request && requestPool.add(request, callNumber);
    return new Promise((resolve, reject) => {
      const item = {
        pooled,
        durability,
        resolve,
        reject,
        signal,
        isAlone: false,
        stopListening: noop,
      };
      this.#listen(item);
      this.#queued.push(item);
      this.#schedule();
    });
  }

  #enqueueTask(item: Omit<QueuedWrite, "isAlone" | "stopListening" | "pooled">): void {
    if (this.#fatalError !== undefined) {
      item.reject(this.#fatalError);
      return;
    }
    this.#queued.push({ ...item, pooled: undefined, isAlone: true, stopListening: noop });
    this.#schedule();
  }

  // Writes made in the same turn share a group.
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  #listen(item: QueuedWrite): void {
    const { signal } = item;
    if (signal === undefined) return;
    const onAbort = () => this.#reject([item], new AbortError());
    signal.addEventListener("abort", onAbort);
    item.stopListening = () => signal.removeEventListener("abort", onAbort);
  }

  // Starts whatever can start. Called whenever a write arrives or a store ends.
  #pump(): void {
    while (this.#queued.length > 0 && !this.#isPaused) {
      const deferred = this.#writer.holdsCandidate ? [] : this.#dequeueDeferred();
      if (deferred.length > 0) this.#publishDeferred(deferred);
      else if (this.#writer.running) return;
      else if (!this.#writer.idle) this.#retryUnsettled();
      else this.#storeNext();
    }
  }

  #storeNext(): void {
    const group = this.#dequeueGroup();
    this.#isPaused = group[0]?.pausesQueue === true;
    this.#storeGroup(group);
  }

  // The deferred writes at the head of the queue, as far as the bound on pending bytes allows. When it is reached they are
  // stored before they are answered, like relaxed writes; or refused, while storing fails.
  #dequeueDeferred(): QueuedWrite[] {
    let room = pendingBytesMax - this.#pendingBytes;
    return this.#dequeue((item) => {
      if (item.durability !== "deferred" || room <= 0) return false;
      room -= bytesOf(item);
      return true;
    });
  }

  #dequeueGroup(): QueuedWrite[] {
    return this.#dequeue(() => true);
  }

  #dequeue(wanted: (item: QueuedWrite) => boolean): QueuedWrite[] {
    let count = 0;
    let bytes = 0;
    for (const item of this.#queued) {
      bytes += bytesOf(item);
      if (count > 0 && (bytes > groupBytesMax || item.isAlone || this.#queued[count - 1]?.isAlone))
        break;
      if (!wanted(item)) break;
      ++count;
    }
    const taken = this.#queued.splice(0, count);
    for (const item of taken) item.stopListening();
    return taken;
  }

  // It waits again, before all others.
  #requeue(group: QueuedWrite[]): void {
    for (const item of group) this.#listen(item);
    this.#queued.unshift(...group);
  }

  // ---- Deferred: publish, answer, store later -------------------------------------------------------------------------

  get #canWriteNow(): boolean {
    return (
      this.#queued.length === 0 &&
      !this.#isPaused &&
      !this.#writer.holdsCandidate &&
      this.#pendingBytes < pendingBytesMax &&
      this.#fatalError === undefined
    );
  }

  // Undefined: it has to wait for parts. What throws was not published.
  #writeNow(request: Uint8Array, callNumber: number | undefined): Uint8Array | undefined {
    const written = this.#options.engine.writeOne(request, this.#options.now());
    if (written instanceof PartsNeeded) return undefined;
    if (written.changes) {
      this.#addPending(request.length);
      if (this.#options.tracksUnstored)
        this.#pendingWrites.push(requestPool.add(request, callNumber));
      this.#scheduleStore();
    }
    return written.response;
  }

  #publishDeferred(group: QueuedWrite[]): void {
    const staged = this.#stage(group, "write");
    if (staged === undefined) return;
    for (const [i, { pooled }] of group.entries()) {
      if (pooled === undefined) continue;
      const changes = staged.changes && !staged.failed[i];
      if (changes) this.#addPending(pooled.size);
      if (changes && this.#options.tracksUnstored) this.#pendingWrites.push(pooled);
      else requestPool.release(pooled);
    }
    if (staged.changes) this.#scheduleStore();
    resolveGroup(group, staged);
  }

  #addPending(bytes: number): void {
    this.#lastDeferredAt = Date.now();
    if (this.#pendingBytes === 0) this.#pendingSince = performance.now();
    this.#pendingBytes += bytes;
  }

  // The first of the pending writes need not be kept any more.
  #releasePending(count: number): void {
    const gone = this.#pendingWrites.splice(0, count);
    requestPool.releaseAll(gone, this.#pendingWrites.length > 0);
  }

  // Sees to it that pending writes are stored in time, and that an unsettled segment is offered again.
  #scheduleStore(delayMs = this.#options.deferredDelayMs): void {
    if (this.#writer.running) return; // a store that ends arms again
    if (this.#pendingBytes === 0 && this.#writer.idle) return;
    if (this.#fatalError !== undefined) return;
    const enough = this.#pendingBytes >= fullSegmentBytes;
    if (this.#retryMs === 0 && (enough || this.#options.hidden())) {
      queueMicrotask(() => this.#storePending()); // not a timer: browsers slow them down in hidden pages
      return;
    }
    if (this.#timer !== undefined) return;
    const wait = Math.max(delayMs, this.#retryMs);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const more = this.#retryMs > 0 ? 0 : this.#remainingDelayMs();
      if (more > 1) this.#scheduleStore(more);
      else this.#storePending();
    }, wait);
  }

  // How much longer pending writes may wait: while more keep coming, one segment for all of them, within the bound, which also holds when
  // somebody sets the clock back.
  #remainingDelayMs(): number {
    const quietFor = Date.now() - this.#lastDeferredAt;
    const pendingFor = performance.now() - this.#pendingSince;
    return Math.min(
      this.#options.deferredDelayMs - quietFor,
      deferredDelayUnderLoadMs - pendingFor,
    );
  }

  #storePending(): void {
    if (this.#writer.running || this.#fatalError !== undefined) return;
    if (!this.#writer.idle) {
      this.#retryUnsettled();
      return;
    }
    if (this.#pendingBytes === 0) return;
    this.#beforeSeal();
    this.#writer.store("published", "relaxed", (outcome) => this.#onStoreEnded(outcome));
  }

  // ---- Strict and relaxed: store, publish, answer -----------------------------------------------------------------------

  #storeGroup(group: QueuedWrite[]): void {
    if (this.#rejectDeferred(group)) return;
    const staged = this.#stage(group);
    if (staged === undefined) return;
    const flushes = group.some((item) => item.pooled === undefined);
    if (!staged.changes && !(flushes && this.#pendingBytes > 0)) {
      resolveGroup(group, staged); // nothing to store
      return;
    }
    const durability = group.some((item) => item.durability === "strict") ? "strict" : "relaxed";
    this.#beforeSeal();
    this.#writer.store(staged.changes ? "candidate" : "published", durability, (outcome) => {
      if (outcome.stored) {
        resolveGroup(group, staged);
        for (const { pooled } of group) if (pooled !== undefined) requestPool.release(pooled);
      } else {
        this.#onGroupNotStored(group, staged, outcome);
      }
      this.#onStoreEnded(outcome);
    });
  }

  // Storing fails and the bound on pending bytes is reached: deferred writes can't be accepted.
  #rejectDeferred(group: QueuedWrite[]): boolean {
    if (this.#retryMs === 0 || group.some((item) => item.durability !== "deferred")) return false;
    for (const item of group) {
      item.reject(
        new StoreError("QuotaExceeded", "Too much is waiting to be stored, and storing fails.", {
          hint: "Wait for the persist-error to be over; see the store's events.",
        }),
      );
    }
    return true;
  }

  // The group was not stored, or it is not known. What succeeded in it is rejected. If it is known, what failed may have
  // failed because of a sibling that is lost now, so it is staged again; and so is what was deferred, which need not
  // wait for the disk.
  #onGroupNotStored(
    group: QueuedWrite[],
    staged: StagedResponses,
    outcome: StoreOutcome & { stored: false },
  ): void {
    const { error, settled } = outcome;
    const canContinue = settled && !isFatal(error) && this.#fatalError === undefined;
    const again: QueuedWrite[] = [];
    for (const [i, item] of group.entries()) {
      const retry = staged.failed[i] || item.durability === "deferred";
      if (retry && canContinue) again.push(item);
      else item.reject(error);
    }
    this.#requeue(again);
  }

  // ---- The end of a store -----------------------------------------------------------------------------------------------

  // Called before a segment is sealed: everything pending goes into it.
  #beforeSeal(): void {
    this.#pendingInSegment = this.#pendingBytes;
    this.#writesInSegment = this.#pendingWrites.length;
    this.#sealedAt = performance.now();
  }

  #retryUnsettled(): void {
    this.#writer.settle((outcome) => this.#onStoreEnded(outcome));
  }

  #onStoreEnded(outcome: StoreOutcome): void {
    this.#handleOutcome(outcome);
    this.#resume();
  }

  #handleOutcome(outcome: StoreOutcome): void {
    if (outcome.stored) {
      this.#pendingBytes -= this.#pendingInSegment;
      this.#releasePending(this.#writesInSegment);
      this.#pendingSince = this.#sealedAt; // what is pending now came after that
      this.#retryMs = 0;
      this.#options.onStored(outcome.size);
    } else if (isFatal(outcome.error)) {
      this.#fail(outcome.error);
    } else {
      if (!outcome.settled) this.#rejectWaiting();
      if (this.#pendingBytes === 0 && outcome.settled) return;
      this.#retryMs = Math.min(Math.max(this.#retryMs * 2, retryFirstMs), retryMaxMs);
      this.#options.onPersistError(outcome.error, this.#retryMs);
    }
  }

  #resume(): void {
    this.#scheduleStore(this.#remainingDelayMs()); // of which the store took its part
    this.#pump();
  }

  // A segment is unsettled. What can't go on before it is settled is not kept waiting for that.
  #rejectWaiting(): void {
    const blocked = (item: QueuedWrite) =>
      this.#writer.holdsCandidate || item.durability !== "deferred";
    const error = new StorageError("aborted", "The connection to IndexedDB is lost.");
    this.#reject(this.#queued.filter(blocked), error);
  }

  // ---- The engine -------------------------------------------------------------------------------------------------

  // Stages a group, or stages and publishes it; undefined if it could not be, and then its writes are queued again or
  // answered.
  #stage(group: QueuedWrite[], how: "stage" | "write" = "stage"): StagedResponses | undefined {
    const requests: Uint8Array[] = [];
    for (const { pooled } of group) if (pooled !== undefined) requests.push(pooled.request);
    const own = group[0]?.stage;
    if (requests.length === 0 && own === undefined)
      return { responses: [], failed: [], changes: false };
    try {
      const staged = own?.() ?? this.#options.engine[how](requests, this.#options.now());
      if (staged instanceof PartsNeeded) {
        this.#requeue(group);
        this.#loadNeeded(staged, group);
        return undefined;
      }
      return alignWithGroup(group, staged);
    } catch (cause) {
      this.#requeue(group);
      this.#onStageFailed(group, toError(cause));
      return undefined;
    }
  }

  // The writes at the head of the queue need parts. Nothing is staged until they are there; if they can't be had, each write for itself.
  // Which of them need the module's second half is known, so it is not asked for again for each.
  #loadNeeded(needed: PartsNeeded, group: QueuedWrite[]): void {
    this.#isPaused = true;
    const resume = () => {
      this.#isPaused = false;
      this.#resume();
    };
    const isFor = ({ pooled }: QueuedWrite) =>
      needed instanceof DeferredModuleNeeded &&
      pooled !== undefined &&
      needed.isNeededBy(pooled.request);
    this.#options.parts.loadAndRetry(needed, resume, "all").catch((cause: unknown) => {
      const error = toError(cause);
      if (needed instanceof DeferredModuleNeeded && !isFatal(error))
        this.#reject(group.filter(isFor), error);
      else if (this.#fatalError === undefined) this.#onStageFailed(group, error);
      resume();
    });
  }

  // REQUIRES: the group was put back. What does not wait any more (it was withdrawn, or rejected) is answered.
  #onStageFailed(group: QueuedWrite[], error: Error): void {
    if (!isFatal(error) && group.length > 1) {
      for (const item of group) item.isAlone = true;
      return;
    }
    this.#reject(group, error);
    if (isFatal(error)) this.#fail(error);
  }

  // Whether they still wait or were taken.
  #reject(items: readonly QueuedWrite[], error: Error): void {
    const rejected = new Set(items);
    this.#queued = this.#queued.filter((item) => !rejected.has(item));
    for (const item of rejected) {
      item.stopListening();
      item.reject(error);
    }
  }

  // Nothing can be stored any more.
  #fail(error: Error): void {
    this.stop(error);
    this.#options.onPersistError(error, undefined);
  }
}

function bytesOf(item: QueuedWrite): number {
  return item.pooled?.size ?? 0;
}

// Replies come for blocks only; here they are lined up with the group.
function alignWithGroup(group: QueuedWrite[], staged: StagedResponses): StagedResponses {
  if (staged.responses.length === group.length) return staged;
  const lined: StagedResponses = { responses: [], failed: [], changes: staged.changes };
  let next = 0;
  for (const item of group) {
    const at = item.pooled === undefined ? undefined : next++;
    lined.responses.push((at === undefined ? undefined : staged.responses[at]) ?? emptyResponse);
    lined.failed.push(at !== undefined && staged.failed[at] === true);
  }
  return lined;
}

function resolveGroup(group: QueuedWrite[], staged: StagedResponses): void {
  for (const [i, item] of group.entries()) item.resolve(staged.responses[i] ?? emptyResponse);
}
