// The queue of writes, and the only code that writes to the log. Writes wait unstaged. When nothing
// is being stored, the queued writes become one group: they are staged together and stored as one
// segment.
//
//   strict, relaxed   stage, seal, store; once stored: publish, respond
//   deferred          stage, publish, respond; later: seal, store
//
// A deferred write is applied within the call itself if nothing is queued.
//
// Invariants:
//   - Writes are staged in the order of the calls, so what is stored is always a prefix of what was
//     acknowledged. A write that has to be staged again, because its group was not stored or needs
//     parts, returns to the head of the queue: it is staged before every write that was made later.
//     No later write can be staged in between. A write whose signal has aborted meanwhile is
//     rejected instead.
//   - At most one group is being stored (segment-writer.ts). While its segments hold a candidate,
//     nothing else is staged. While they hold only deferred writes, which are already published,
//     further deferred writes are accepted.
//   - Each write settles once. An error means that the write had no effect, unless the error says
//     that the outcome is unknown (failure "unknown"); then no write is accepted until it is known.

import { AbortError, StoreError } from "../errors.ts";
import { type LogStorage, StorageError } from "../storage/log-storage.ts";
import type { RepeatedWrites, WriteOrigin } from "../transport.ts";
import type { AbortSignalLike, Durability } from "../types.ts";
import { inMicrotask } from "../util/event-loop.ts";
import { toError } from "../util/platform-objects.ts";
import {
  DeferredModuleNeeded,
  type Engine,
  type KnownCalls,
  PartsNeeded,
  type StagedResponses,
} from "../wasm/engine.ts";
import { DeferredWrites, type UnstoredWrite } from "./deferred-writes.ts";
import type { LogSize } from "./log-growth.ts";
import type { MemoryGuard } from "./memory-guard.ts";
import type { PartLoader } from "./part-loader.ts";
import { knownCallsTask, partsPerGroup, type QueueTask, repeatTask } from "./queue-tasks.ts";
import { type PooledRequest, requestPool } from "./request-pool.ts";
import { isFatal, SegmentWriter, type StoringOutcome } from "./segment-writer.ts";
import type { SpaceReserve } from "./space-reserve.ts";

// Bounds the time to stage a group; holds the largest transaction.
const groupBytesMax = 4 * 1024 * 1024;

export interface CommitQueueOptions {
  engine: Pick<
    Engine,
    | "stage"
    | "stageAndPublish"
    | "stageAndPublishOne"
    | "knownCalls"
    | "publish"
    | "discard"
    | "seal"
    | "markStored"
    | "lastCommit"
    | "stats"
  >;
  storage: Pick<LogStorage, "addSegments" | "segmentBytes">;
  space: Pick<SpaceReserve, "storeSegments" | "isFull">;
  parts: Pick<PartLoader, "loadAndRetry">;
  durability: Durability;
  deferredDelayMs: number;
  // The id of this tab's client. If set, its writes are wrapped in calls, and the messages of its
  // deferred writes are kept for `unstoredWrites`.
  client: Uint8Array | undefined;
  now: () => number;
  hidden: () => boolean; // while true, deferred writes are stored without delay
  memory: Pick<MemoryGuard, "isFull" | "addWritten">; // while it is full, no write is staged
  onWaitingForMemory: () => void;
  // A deferred module cannot be loaded. Resolves to the error for the writes that need it. May
  // stop the queue before it resolves. Nothing is staged meanwhile.
  onDeferredModuleFailed?: ((error: Error) => Promise<Error>) | undefined;
  onStored: (size: LogSize) => void;
  // Storing failed. With a retry time, the deferred writes are kept and stored again then; without
  // one, nothing can be stored any more.
  onPersistError: (error: Error, retryInMs: number | undefined) => void;
}

// An entry of the queue: a write, a task or a flush. A flush has no message; it resolves when
// everything queued before it is stored.
interface QueuedWrite {
  readonly pooled: PooledRequest | undefined; // the request message
  readonly durability: Durability;
  readonly resolve: (response: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
  readonly signal?: AbortSignalLike | undefined;
  readonly origin: WriteOrigin | undefined;
  isAlone: boolean; // forms a group by itself; also set when staging its group ran out of memory
  // Why a deferred module could not be loaded while this waited. If this write needs one, it is
  // rejected with this error, and does not wait for another attempt.
  loadError?: Error;
  readonly stage?: QueueTask["stage"]; // of a task
  readonly taskBytes?: (() => number) | undefined; // of a task
  readonly isStrict?: (() => boolean) | undefined; // of a task
  readonly pausesQueue?: boolean; // the queue is paused from its start on
  stopListening: () => void; // removes the listener of its signal
}

// Why the queue stages nothing. The reasons exclude each other: a paused queue starts nothing else.
//   exclusive work   the work of runExclusively(), and before it the storing of pending writes
//   loading          the group at the head needs parts or a deferred module
type PauseReason = "exclusive work" | "loading";

// A group at the head of the queue, and what it needs.
interface BlockedGroup {
  readonly needed: PartsNeeded;
  readonly group: QueuedWrite[];
}

const emptyResponse = new Uint8Array();
const noop = () => {};

export class CommitQueue {
  readonly #options: CommitQueueOptions;
  #queued: QueuedWrite[] = [];
  #scheduled = false;
  #pausedFor: PauseReason | undefined; // while it is set, nothing is staged
  readonly #writer: SegmentWriter;
  #blocked: BlockedGroup | undefined; // set while the queue is paused for loading
  #isRetrying = false; // a group that waited for loading is being staged again
  #groupWritesMax = Number.POSITIVE_INFINITY; // of the next group
  #fatalError: Error | undefined; // once set, every later write rejects with it
  readonly #deferred: DeferredWrites;

  constructor(options: CommitQueueOptions) {
    this.#options = options;
    this.#writer = new SegmentWriter(options);
    this.#deferred = new DeferredWrites({
      ...options,
      lastCommit: () => options.engine.lastCommit,
      onTimer: (remainingMs) => this.#onDeferredTimer(remainingMs),
    });
  }

  get pendingBytes(): number {
    return this.#deferred.bytes;
  }

  // The positions, among all deferred writes, of the newest that was accepted and of the newest
  // that is stored. Writes are stored in the order of their positions.
  get deferredPositions(): { accepted: number; stored: number } {
    return this.#deferred.positions;
  }

  // The acknowledged deferred writes of this tab that may not be stored, in the order of the calls.
  // REQUIRES: the queue is stopped, and nothing is being stored.
  get unstoredWrites(): UnstoredWrite[] {
    return this.#deferred.unstoredWrites;
  }

  // Whether nothing is queued, pending or being stored.
  get isIdle(): boolean {
    return this.#queued.length === 0 && this.#deferred.bytes === 0 && this.#writer.isIdle;
  }

  // Whether nothing is staged or being stored. Writes may be queued, and published writes may be
  // pending.
  get isWriterIdle(): boolean {
    return this.#writer.isIdle && this.#pausedFor === undefined;
  }

  // Forgets the pending writes, because the engine was rolled back to an earlier version. REQUIRES:
  // the writer is idle, or the call is within runExclusively().
  discardPending(): void {
    this.#deferred.discard();
  }

  // The error after which nothing can be stored any more; undefined if there was none.
  get fatalError(): Error | undefined {
    return this.#fatalError;
  }

  // Applies a write and returns its response. A response that is not a promise is a view, like that
  // of Engine.stageAndPublishOne(). Rejects with AbortError if `signal` aborts while the write is
  // queued.
  write(
    request: Uint8Array,
    durability: Durability = this.#options.durability,
    signal?: AbortSignalLike,
    origin?: WriteOrigin,
  ): Uint8Array | Promise<Uint8Array> {
    if (durability === "deferred" && this.#canWriteNow && !signal?.aborted) {
      try {
        const response = this.#writeNow(request, origin);
        if (response !== undefined) return response;
      } catch (cause) {
        const error = toError(cause);
        if (isFatal(error)) this.#fail(error);
        return Promise.reject(error);
      }
    }
    return this.#enqueue(request, durability, signal, origin);
  }

  // Resolves to what the store knows of the calls of `client`, when all earlier writes are staged
  // or stored.
  knownCalls(client: Uint8Array): Promise<KnownCalls> {
    return new Promise((resolve, reject) => {
      this.#enqueueTask({ ...knownCallsTask(this.#options.engine, client, resolve), reject });
    });
  }

  // Applies deferred writes of another tab again (OwnerHost.repeatWrites). Reads `requests` until
  // the promise settles.
  repeatWrites(requests: readonly Uint8Array[], signal?: AbortSignalLike): Promise<RepeatedWrites> {
    return new Promise((resolve, reject) => {
      this.#enqueueTask({ ...repeatTask(this.#options, requests, resolve), reject, signal });
    });
  }

  // Resolves when everything before it is stored. With "relaxed", it survives a power failure only
  // if it was written so.
  async flush(durability: "strict" | "relaxed" = "strict"): Promise<void> {
    await this.#enqueue(undefined, durability);
  }

  // Queues a task. Resolves when it is staged and published, and also stored unless it is deferred.
  stageTask(task: Omit<QueueTask, "resolve">): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#enqueueTask({ ...task, resolve: () => resolve(), reject });
    });
  }

  // Queues a group that `stage` stages by itself; `stage` returns false if there is nothing to
  // store. Resolves when the group is stored and published.
  stageAsOwnGroup(stage: () => boolean | PartsNeeded): Promise<void> {
    const durability = this.#options.durability === "strict" ? "strict" : "relaxed";
    const staging = () => {
      const changes = stage();
      if (changes instanceof PartsNeeded) return changes;
      return { responses: [emptyResponse], failed: [!changes], onlyDeletes: [false], changes };
    };
    return this.stageTask({ durability, stage: staging });
  }

  // Runs `work` once everything before it is stored. Until `work` settles, nothing else is staged,
  // sealed or published.
  runExclusively<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const resume = () => this.#endPause("exclusive work");
      this.#enqueueTask({
        durability: "strict",
        pausesQueue: true,
        resolve: () => void work().then(resolve, reject).finally(resume),
        reject: (error) => {
          reject(error);
          inMicrotask(resume);
        },
      });
    });
  }

  // Stores deferred writes without delay, because the page may be about to close.
  storePendingNow(): void {
    this.#pump();
    this.#storePending();
  }

  // Stores the published commits up to this one. Resolves when they are stored, or cannot be now.
  async storeUpTo(commit: number): Promise<void> {
    for (let attempts = 0; attempts < 3; ++attempts) {
      const { lastCommit, pendingCommits } = this.#options.engine.stats();
      if (lastCommit - pendingCommits >= commit) return;
      this.#storePending(); // unless something is being stored now
      await this.#writer.whenNotStoring;
    }
  }

  // Resolves when nothing is being stored. The outcome of what was being stored is then handled,
  // but may be unknown.
  get whenNotStoring(): Promise<void> {
    return this.#writer.whenNotStoring;
  }

  // Rejects what is queued. Acknowledged writes are still stored.
  rejectQueued(reason: Error): void {
    this.#reject(this.#queued, reason);
  }

  // Stops the queue: queued writes are rejected with `reason`, and deferred writes that were not
  // stored are lost.
  stop(reason: Error): void {
    this.#deferred.stopTimer();
    this.#fatalError ??= reason;
    this.#reject(this.#queued, this.#fatalError);
  }

  // ---- Queue ----------------------------------------------------------------------------------

  #enqueue(
    request: Uint8Array | undefined,
    durability: Durability,
    signal?: AbortSignalLike,
    origin?: WriteOrigin,
  ): Promise<Uint8Array> {
    if (this.#fatalError !== undefined) return Promise.reject(this.#fatalError);
    if (signal?.aborted) return Promise.reject(new AbortError());
    const pooled = request && this.#addToPool(request, origin);
    return new Promise((resolve, reject) => {
      const item = {
        pooled,
        durability,
        resolve,
        reject,
        signal,
        origin,
        isAlone: false,
        stopListening: noop,
      };
      this.#listen(item);
      this.#queued.push(item);
      this.#schedule();
    });
  }

  #addToPool(request: Uint8Array, origin: WriteOrigin | undefined): PooledRequest {
    const { client } = this.#options;
    return client === undefined || typeof origin !== "number"
      ? requestPool.add(request)
      : requestPool.addCall(request, client, origin);
  }

  #enqueueTask(item: Omit<QueuedWrite, "isAlone" | "stopListening" | "pooled" | "origin">): void {
    if (this.#fatalError !== undefined) {
      item.reject(this.#fatalError);
      return;
    }
    const alone = { pooled: undefined, origin: undefined, isAlone: true, stopListening: noop };
    const task = { ...item, ...alone };
    this.#listen(task);
    this.#queued.push(task);
    this.#schedule();
  }

  // Starts the queue in a microtask, so that writes made in the same turn share a group.
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    inMicrotask(() => {
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

  // Called when writes may continue after memory was full.
  onMemoryFreed(): void {
    this.#schedule();
  }

  // Rejects the writes that wait because memory is full. Called when no memory can be freed.
  rejectWaitingForMemory(error: Error): void {
    if (!this.#options.memory.isFull) return;
    this.#reject(this.#queued.filter(writesRows), error);
    this.#schedule(); // what else is queued no longer waits behind them
  }

  // Starts whatever can start. Called whenever a write is queued or storing ends.
  #pump(): void {
    while (this.#queued.length > 0 && this.#pausedFor === undefined) {
      if (this.#options.memory.isFull && this.#queued.some(writesRows)) {
        this.#options.onWaitingForMemory();
        return;
      }
      const deferred = this.#writer.blocksStaging ? [] : this.#dequeueDeferred();
      if (deferred.length > 0) this.#publishDeferred(deferred);
      else if (this.#writer.isStoring) return;
      else if (!this.#writer.isIdle) this.#retryUnsettled();
      else this.#storeNext();
    }
  }

  #storeNext(): void {
    const group = this.#dequeueGroup();
    if (group[0]?.pausesQueue === true) this.#pausedFor = "exclusive work";
    this.#storeGroup(group);
  }

  // Removes the deferred writes at the head of the queue, up to the bound on pending bytes. Writes
  // beyond the bound are stored before they are acknowledged, like relaxed writes; while storing
  // fails, they are rejected, unless they only delete.
  #dequeueDeferred(): QueuedWrite[] {
    let bytesLeft = this.#deferred.bytesLeft;
    return this.#dequeue((item) => {
      if (item.durability !== "deferred" || bytesLeft <= 0) return false;
      bytesLeft -= bytesOf(item);
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
      if (count >= this.#groupWritesMax) break;
      if (!wanted(item)) break;
      ++count;
    }
    const taken = this.#queued.splice(0, count);
    for (const item of taken) item.stopListening();
    return taken;
  }

  // Puts the group back at the head of the queue, but rejects the writes that were aborted.
  #requeue(group: QueuedWrite[]): void {
    const kept = group.filter(({ signal }) => !signal?.aborted);
    for (const item of group) if (item.signal?.aborted) item.reject(new AbortError());
    for (const item of kept) this.#listen(item);
    this.#queued.unshift(...kept);
  }

  // ---- Deferred: publish, respond, store later ------------------------------------------------

  get #canWriteNow(): boolean {
    return (
      this.#queued.length === 0 &&
      this.#pausedFor === undefined &&
      !this.#options.memory.isFull &&
      !this.#writer.blocksStaging &&
      this.#deferred.bytesLeft > 0 &&
      this.#fatalError === undefined
    );
  }

  // Stages and publishes the write now. Returns undefined if the write needs unloaded parts. If it
  // throws, nothing was published.
  #writeNow(request: Uint8Array, origin: WriteOrigin | undefined): Uint8Array | undefined {
    const { engine, client, now } = this.#options;
    const callNumber = typeof origin === "number" ? origin : undefined;
    const caller = callNumber === undefined ? undefined : client;
    const written = engine.stageAndPublishOne(request, now(), caller, callNumber);
    if (written instanceof PartsNeeded) return undefined;
    if (written.changes) {
      const position = this.#deferred.add(request, callNumber, written.onlyDeletes);
      if (typeof origin === "function") origin(position);
      this.#options.memory.addWritten(request.length);
      this.#scheduleStore();
    }
    return written.response;
  }

  #publishDeferred(group: QueuedWrite[]): void {
    const staged = this.#stage(group, "stageAndPublish");
    if (staged === undefined) return;
    for (const [i, { pooled, origin, taskBytes, isStrict }] of group.entries()) {
      if (pooled === undefined) {
        if (staged.changes && taskBytes !== undefined)
          this.#deferred.addBytes(taskBytes(), staged.onlyDeletes[i] === true);
        if (staged.changes && isStrict?.()) this.#deferred.requireStrict();
        continue;
      }
      if (staged.changes && !staged.failed[i]) {
        const position = this.#deferred.addPooled(pooled, staged.onlyDeletes[i] === true);
        if (typeof origin === "function") origin(position);
      } else {
        requestPool.release(pooled);
      }
    }
    if (staged.changes) {
      this.#options.memory.addWritten(sizeOf(group));
      this.#scheduleStore();
    }
    resolveGroup(group, staged);
  }

  // Schedules storing of pending writes, and the retry of an unsettled segment.
  #scheduleStore(delayMs = this.#options.deferredDelayMs): void {
    if (this.#writer.isStoring) return; // called again when storing ends
    if (this.#deferred.bytes === 0 && this.#writer.isIdle) return;
    if (this.#fatalError !== undefined) return;
    this.#deferred.startTimer(delayMs);
  }

  #onDeferredTimer(remainingMs: number): void {
    if (remainingMs > 1) this.#scheduleStore(remainingMs);
    else this.#storePending();
  }

  #storePending(): void {
    if (this.#writer.isStoring || this.#fatalError !== undefined) return;
    if (!this.#writer.isIdle) {
      this.#retryUnsettled();
      return;
    }
    if (this.#deferred.bytes === 0) return;
    const { mayUseReserve, durability } = this.#deferred;
    this.#deferred.beforeSeal();
    this.#writer.sealAndStore("published", durability, mayUseReserve, (outcome) =>
      this.#onStoreEnded(outcome),
    );
  }

  // ---- Strict and relaxed: store, publish, respond --------------------------------------------

  #storeGroup(group: QueuedWrite[]): void {
    const staged = this.#stage(group);
    if (staged === undefined) return;
    if (!staged.changes) {
      this.#storeForFlushes(group, staged);
      return;
    }
    if (this.#rejectDeferred(group, staged)) return;
    const isStrict = group.some((item) => item.durability === "strict" || item.isStrict?.());
    const durability = isStrict ? "strict" : this.#deferred.durability;
    this.#deferred.beforeSeal();
    this.#writer.sealAndStore("candidate", durability, onlyDeletes(staged), (outcome) => {
      if (outcome.stored) {
        resolveGroup(group, staged);
        this.#options.memory.addWritten(sizeOf(group));
        for (const { pooled } of group) if (pooled !== undefined) requestPool.release(pooled);
      } else {
        this.#onGroupNotStored(group, staged, outcome);
      }
      this.#onStoreEnded(outcome);
    });
  }

  // The group changes nothing. Its writes get their responses now: if they were staged again after
  // storing failed, later deferred writes could have been published before them. Its flushes wait
  // until the pending writes are stored.
  #storeForFlushes(group: QueuedWrite[], staged: StagedResponses): void {
    const hasPending = this.#deferred.bytes > 0;
    const isFlush = ({ pooled, stage }: QueuedWrite) =>
      hasPending && pooled === undefined && stage === undefined;
    const flushes = group.filter(isFlush);
    for (const [i, item] of group.entries())
      if (!isFlush(item)) item.resolve(staged.responses[i] ?? emptyResponse);
    for (const { pooled } of group) if (pooled !== undefined) requestPool.release(pooled);
    if (flushes.length === 0) return;
    const isStrict = flushes.some(({ durability }) => durability === "strict");
    const durability = isStrict ? "strict" : this.#deferred.durability;
    const { mayUseReserve } = this.#deferred;
    this.#deferred.beforeSeal();
    this.#writer.sealAndStore("published", durability, mayUseReserve, (outcome) => {
      for (const item of flushes) {
        if (outcome.stored) item.resolve(emptyResponse);
        else item.reject(outcome.error);
      }
      this.#onStoreEnded(outcome);
    });
  }

  // While storing fails and the bound on pending bytes is reached, rejects those writes of a group
  // of deferred writes that do not only delete. Deletes may use the reserve, and so may free space.
  // Returns whether it did; the others are then queued again.
  #rejectDeferred(group: QueuedWrite[], staged: StagedResponses): boolean {
    if (!this.#deferred.isRetrying || group.some((item) => item.durability !== "deferred"))
      return false;
    if (onlyDeletes(staged)) return false;
    this.#options.engine.discard();
    const isKept = (i: number) => staged.failed[i] || staged.onlyDeletes[i] === true;
    for (const [i, item] of group.entries()) if (!isKept(i)) item.reject(tooManyPending());
    this.#requeue(group.filter((_, i) => isKept(i)));
    return true;
  }

  // The group was not stored, or the outcome is unknown. Its successful writes are rejected. If the
  // outcome is known, the failed writes are staged again, because they may have failed due to
  // writes of the group that are now discarded. Deferred writes are staged again too, since they
  // do not have to wait for storage, unless the bound on pending bytes is reached. They form groups
  // of their own: in the same group, they would fail again with the writes before them. Deletes are
  // staged again if there was no space for the whole group: without the group's other writes, they
  // may use the reserve.
  #onGroupNotStored(
    group: QueuedWrite[],
    staged: StagedResponses,
    outcome: StoringOutcome & { stored: false },
  ): void {
    const { error, settled } = outcome;
    const canContinue = settled && !isFatal(error) && this.#fatalError === undefined;
    const lacksSpace = error instanceof StorageError && error.failure === "quota";
    const retriesDeletes = lacksSpace && !onlyDeletes(staged);
    const retried: QueuedWrite[] = [];
    for (const [i, item] of group.entries()) {
      const isRetriedDelete = retriesDeletes && staged.onlyDeletes[i] === true;
      const isDeferred = item.durability === "deferred";
      if (canContinue && (staged.failed[i] || isRetriedDelete)) {
        retried.push(item);
      } else if (canContinue && isDeferred && this.#deferred.bytesLeft > 0) {
        item.isAlone = true;
        retried.push(item);
      } else {
        item.reject(canContinue && isDeferred ? tooManyPending() : error);
      }
    }
    this.#requeue(retried);
  }

  // ---- When storing ---------------------------------------------------------------------------

  #retryUnsettled(): void {
    this.#writer.retryUnsettled((outcome) => this.#onStoreEnded(outcome));
  }

  #onStoreEnded(outcome: StoringOutcome): void {
    this.#handleOutcome(outcome);
    this.#resume();
  }

  #handleOutcome(outcome: StoringOutcome): void {
    if (outcome.stored) {
      this.#deferred.onStored();
      this.#options.onStored(outcome.size);
    } else if (isFatal(outcome.error)) {
      this.#fail(outcome.error);
    } else {
      if (!outcome.settled) this.#rejectWaiting();
      if (this.#deferred.bytes === 0 && outcome.settled) return;
      this.#options.onPersistError(outcome.error, this.#deferred.backOff());
    }
  }

  // REQUIRES: the work that `reason` names has ended, or was rejected before it began.
  #endPause(reason: PauseReason): void {
    if (this.#pausedFor === reason) this.#pausedFor = undefined;
    this.#resume();
  }

  #resume(): void {
    this.#scheduleStore(this.#deferred.remainingDelayMs);
    this.#pump();
  }

  // Rejects the queued writes that would have to wait until the unsettled segment is settled.
  #rejectWaiting(): void {
    const isBlocked = (item: QueuedWrite) =>
      this.#writer.blocksStaging || item.durability !== "deferred";
    const error = new StorageError("aborted", "The connection to IndexedDB is lost.");
    this.#reject(this.#queued.filter(isBlocked), error);
  }

  // ---- The engine -----------------------------------------------------------------------------

  // Stages a group ("stage"), or stages and publishes it ("stageAndPublish"). Returns undefined if
  // that was not possible; the writes are then queued again or rejected.
  #stage(
    group: QueuedWrite[],
    how: "stage" | "stageAndPublish" = "stage",
  ): StagedResponses | undefined {
    const requests: Uint8Array[] = [];
    for (const { pooled } of group) if (pooled !== undefined) requests.push(pooled.request);
    const own = group[0]?.stage;
    if (requests.length === 0 && own === undefined)
      return { responses: [], failed: [], onlyDeletes: [], changes: false };
    try {
      const staged = own?.(how) ?? this.#options.engine[how](requests, this.#options.now());
      if (staged instanceof PartsNeeded) {
        this.#requeue(group);
        if (staged instanceof DeferredModuleNeeded && group.some(({ loadError }) => loadError)) {
          this.#rejectOrDivide(group);
        } else if (staged.ids.length > partsPerGroup && group.length > 1) {
          this.#groupWritesMax = Math.ceil(group.length / 2);
        } else {
          this.#loadNeeded(staged, group);
        }
        return undefined;
      }
      this.#groupWritesMax = Number.POSITIVE_INFINITY;
      return alignWithGroup(group, staged);
    } catch (cause) {
      this.#requeue(group);
      this.#onStageFailed(group, toError(cause));
      return undefined;
    }
  }

  // The group at the head of the queue needs parts or a deferred module. The queue is paused
  // until they are loaded. If the group then needs more, that is loaded too, while what was loaded
  // first stays loaded. A later group gets a load of its own: it may need a part again that the
  // group before it has unloaded. If loading fails, each write of the group is tried alone. If a
  // deferred module cannot be loaded, the queued writes that need it are rejected without another
  // attempt to load it.
  #loadNeeded(needed: PartsNeeded, group: QueuedWrite[]): void {
    this.#pausedFor = "loading";
    this.#blocked = { needed, group };
    if (this.#isRetrying) return;
    const retry = () => this.#retryBlocked(group);
    this.#options.parts.loadAndRetry(needed, retry, "all").then(
      () => {
        if (this.#blocked !== undefined)
          this.#loadNeeded(this.#blocked.needed, this.#blocked.group);
      },
      async (cause: unknown) => {
        try {
          if (this.#blocked !== undefined) await this.#onLoadFailed(this.#blocked, toError(cause));
        } finally {
          this.#endPause("loading");
        }
      },
    );
  }

  // Returns what `group` still needs. It is at the head of the queue unless it was staged.
  #retryBlocked(group: readonly QueuedWrite[]): PartsNeeded | undefined {
    this.#blocked = undefined;
    this.#isRetrying = true;
    try {
      this.#endPause("loading");
    } finally {
      this.#isRetrying = false;
    }
    return this.#stillNeededBy(group);
  }

  #stillNeededBy(group: readonly QueuedWrite[]): PartsNeeded | undefined {
    return this.#blocked?.group[0] === group[0] ? this.#blocked?.needed : undefined;
  }

  async #onLoadFailed({ needed, group }: BlockedGroup, error: Error): Promise<void> {
    this.#blocked = undefined;
    let reason = error;
    if (needed instanceof DeferredModuleNeeded && !isFatal(error)) {
      const { onDeferredModuleFailed } = this.#options;
      reason = (await onDeferredModuleFailed?.(error).catch(toError)) ?? error;
      const { isNeededBy } = needed;
      if (isNeededBy !== undefined) {
        const isFor = ({ pooled, stage }: QueuedWrite) =>
          stage !== undefined || (pooled !== undefined && isNeededBy(pooled.request));
        this.#reject(group.filter(isFor), reason);
      } else {
        for (const item of this.#queued) item.loadError = reason;
        this.#rejectOrDivide(group);
      }
      return;
    }
    if (this.#fatalError === undefined) this.#onStageFailed(group, reason);
  }

  // A deferred module that the group needs could not be loaded while its writes waited. Messages
  // do not tell which of them need it, so each is tried alone. REQUIRES: the group is queued again.
  #rejectOrDivide(group: QueuedWrite[]): void {
    const [first] = group;
    if (first?.loadError !== undefined && group.length === 1) this.#reject(group, first.loadError);
    for (const item of group) item.isAlone = true;
  }

  // Handles a group that could not be staged. REQUIRES: the group is queued again. Writes of the
  // group that have left the queue (cancelled or rejected) are already settled.
  #onStageFailed(group: QueuedWrite[], error: Error): void {
    if (!isFatal(error) && group.length > 1) {
      for (const item of group) item.isAlone = true;
      return;
    }
    this.#reject(group, error);
    if (isFatal(error)) this.#fail(error);
  }

  // Rejects the items, whether they are queued or not.
  #reject(items: readonly QueuedWrite[], error: Error): void {
    const rejected = new Set(items);
    this.#queued = this.#queued.filter((item) => !rejected.has(item));
    for (const item of rejected) {
      item.stopListening();
      item.reject(error);
    }
  }

  // Stops the queue after a fatal error, and reports the error.
  #fail(error: Error): void {
    this.stop(error);
    this.#options.onPersistError(error, undefined);
  }
}

function tooManyPending(): StoreError {
  return new StoreError(
    "QuotaExceeded",
    "Too many writes are waiting to be stored, and storing fails.",
    { hint: "Retry once the store emits persisted; its persist-error events give the cause." },
  );
}

function bytesOf(item: QueuedWrite): number {
  return item.pooled?.size ?? item.taskBytes?.() ?? 0;
}

function sizeOf(group: readonly QueuedWrite[]): number {
  return group.reduce((bytes, item) => bytes + bytesOf(item), 0);
}

// A flush, and work that runs alone, write no rows.
function writesRows(item: QueuedWrite): boolean {
  return item.pooled !== undefined || item.stage !== undefined;
}

// Returns the responses in the order of the group. The engine responds to messages only; tasks and
// flushes get an empty response.
function alignWithGroup(group: QueuedWrite[], staged: StagedResponses): StagedResponses {
  if (staged.responses.length === group.length) return staged;
  const { changes } = staged;
  const aligned: StagedResponses = { responses: [], failed: [], onlyDeletes: [], changes };
  let next = 0;
  for (const item of group) {
    const at = item.pooled === undefined ? undefined : next++;
    aligned.responses.push((at === undefined ? undefined : staged.responses[at]) ?? emptyResponse);
    aligned.failed.push(at !== undefined && staged.failed[at] === true);
    aligned.onlyDeletes.push(at !== undefined && staged.onlyDeletes[at] === true);
  }
  return aligned;
}

// Whether the writes of the group that succeeded only delete.
function onlyDeletes({ failed, onlyDeletes }: StagedResponses): boolean {
  return failed.every((hasFailed, i) => hasFailed || onlyDeletes[i] === true);
}

function resolveGroup(group: QueuedWrite[], staged: StagedResponses): void {
  for (const [i, item] of group.entries()) item.resolve(staged.responses[i] ?? emptyResponse);
}
