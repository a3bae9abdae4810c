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
import { type Engine, NeededHalf, NeededParts, type StagedReplies } from "../wasm/engine.ts";
import { type KeptBlock, keptBlocks } from "./kept-blocks.ts";
import type { LogSize } from "./log-growth.ts";
import type { Parts } from "./parts.ts";
import { asError, isFinal, type Outcome, SegmentWriter } from "./segment-writer.ts";

const groupBytesMax = 4 * 1024 * 1024; // keeps one group's staging short, and holds the largest transaction
const pendingBytesMax = 8 * 1024 * 1024;
const deferredDelayUnderLoadMs = 1000;
const segmentBytesEnough = 1024 * 1024; // more in a segment saves nothing, and is held twice until it is stored
const retryFirstMs = 1000;
const retryMaxMs = 30_000;

export interface CommitQueueOptions {
  engine: Pick<Engine, "stage" | "write" | "writeNow" | "publish" | "discard" | "seal" | "stored">;
  storage: Pick<LogStorage, "addSegments" | "segmentBytes">;
  parts: Pick<Parts, "answer">;
  durability: Durability;
  deferredDelayMs: number;
  keepsUnstored: boolean; // for whoever asks for `unstored`
  now: () => number;
  hidden: () => boolean; // while true, deferred writes are stored at once
  onStored: (size: LogSize) => void;
  // Deferred writes could not be stored and are kept; or, without a retry, nothing can be stored any more.
  onPersistError: (error: Error, retryInMs: number | undefined) => void;
}

// A deferred write that was acknowledged and is not stored.
export interface Unstored {
  readonly block: Uint8Array;
  readonly place: number | undefined; // as whoever asked for it said
}

// A write, or (without a block) a flush: it resolves when all before it is stored.
interface Waiting {
  readonly kept: KeptBlock | undefined; // the block
  readonly durability: Durability;
  readonly resolve: (reply: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
  readonly signal?: AbortSignalLike | undefined;
  alone: boolean; // it is a group by itself; also if staging a group with it ran out of memory
  readonly stage?: () => StagedReplies | NeededParts; // instead of a block
  readonly holds?: boolean; // when it is answered, everything waits until told to go on
  withdrawn: () => void; // stops listening to its signal
}

const noReply = new Uint8Array();
const nothing = () => {};

export class CommitQueue {
  readonly #o: CommitQueueOptions;
  #waiting: Waiting[] = [];
  #scheduled = false;
  #held = false; // by exclusively(), or until parts are there
  readonly #writer: SegmentWriter;
  #failed: Error | undefined; // final: what every later write rejects with

  // Deferred writes, published and not yet stored. Measured in bytes of their blocks.
  #pendingBytes = 0;
  #pendingWrites: KeptBlock[] = []; // if they are kept
  #pendingSince = 0;
  #pendingInSegment = 0; // of them, how much is in the segment that is being stored
  #writesInSegment = 0;
  #sealedAt = 0;
  #lastDeferredAt = 0; // by Date.now(), which costs a browser a third of performance.now()
  #timer: ReturnType<typeof setTimeout> | undefined;
  #retryMs = 0; // not 0: the last attempt to store failed

  constructor(options: CommitQueueOptions) {
    this.#o = options;
    this.#writer = new SegmentWriter(options);
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  // In order.
  get unstored(): Unstored[] {
    return [...this.#pendingWrites];
  }

  // Nothing waits, nothing is being stored.
  get idle(): boolean {
    return this.#waiting.length === 0 && this.#pendingBytes === 0 && this.#writer.idle;
  }

  // Nothing is staged or being stored. Writes may wait, and published ones for being stored.
  get still(): boolean {
    return this.#writer.idle && !this.#held;
  }

  // The engine went back to an earlier version, and what was published since is not to be stored. REQUIRES: still, or
  // within exclusively().
  dropPending(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pendingBytes = 0;
    this.#letGo(this.#pendingWrites.length);
  }

  // Set once storing can't succeed any more.
  get failed(): Error | undefined {
    return this.#failed;
  }

  // The reply at once dies with the engine's next call.
  write(
    block: Uint8Array,
    durability: Durability = this.#o.durability,
    signal?: AbortSignalLike,
    place?: number,
  ): Uint8Array | Promise<Uint8Array> {
    if (durability === "deferred" && this.#canWriteNow && !signal?.aborted) {
      try {
        const reply = this.#writeNow(block, place);
        if (reply !== undefined) return reply;
      } catch (cause) {
        const error = asError(cause);
        if (isFinal(error)) this.#break(error);
        return Promise.reject(error);
      }
    }
    return this.#enqueue(block, durability, signal, place);
  }

  async flush(): Promise<void> {
    await this.#enqueue(undefined, "strict");
  }

  // A group of its own, which `stage` stages: false if there is nothing to store. Resolves when it is stored and published.
  stageAlone(stage: () => boolean | NeededParts): Promise<void> {
    const durability = this.#o.durability === "strict" ? "strict" : "relaxed";
    return new Promise((resolve, reject) => {
      const staging = () => {
        const changes = stage();
        if (changes instanceof NeededParts) return changes;
        return { replies: [noReply], failed: [!changes], changes };
      };
      const done = { resolve: () => resolve(), reject };
      this.#add({ ...done, durability, stage: staging });
    });
  }

  // Runs `work` when all before it is stored, and nothing else until it ends: nothing is staged, sealed or published.
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const goOn = () => {
        this.#held = false;
        this.#goOn();
      };
      this.#add({
        durability: "strict",
        holds: true,
        resolve: () => void work().then(resolve, reject).finally(goOn),
        reject: (error) => {
          reject(error);
          queueMicrotask(goOn);
        },
      });
    });
  }

  // Deferred writes are stored now: the page may be about to go.
  storeNow(): void {
    this.#pump();
    this.#storePending();
  }

  // Nothing is stored any more: what waits is rejected, deferred writes that were not stored are lost.
  stop(reason: Error): void {
    clearTimeout(this.#timer);
    this.#failed ??= reason;
    this.#refuse(this.#waiting, this.#failed);
  }

  // ---- Queue ----------------------------------------------------------------------------------------------------------

  #enqueue(
    block: Uint8Array | undefined,
    durability: Durability,
    signal?: AbortSignalLike,
    place?: number,
  ): Promise<Uint8Array> {
    if (this.#failed !== undefined) return Promise.reject(this.#failed);
    if (signal?.aborted) return Promise.reject(new AbortError());
    const kept = block && keptBlocks.keep(block, place);
    return new Promise((resolve, reject) => {
      const item = { kept, durability, resolve, reject, signal, alone: false, withdrawn: nothing };
      this.#listen(item);
      this.#waiting.push(item);
      this.#schedule();
    });
  }

  #add(item: Omit<Waiting, "alone" | "withdrawn" | "kept">): void {
    if (this.#failed !== undefined) {
      item.reject(this.#failed);
      return;
    }
    this.#waiting.push({ ...item, kept: undefined, alone: true, withdrawn: nothing });
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

  #listen(item: Waiting): void {
    const { signal } = item;
    if (signal === undefined) return;
    const onAbort = () => this.#refuse([item], new AbortError());
    signal.addEventListener("abort", onAbort);
    item.withdrawn = () => signal.removeEventListener("abort", onAbort);
  }

  // Starts whatever can start. Called whenever a write arrives or a store ends.
  #pump(): void {
    while (this.#waiting.length > 0 && !this.#held) {
      const deferred = this.#writer.holdsCandidate ? [] : this.#takeDeferred();
      if (deferred.length > 0) this.#publishDeferred(deferred);
      else if (this.#writer.running) return;
      else if (!this.#writer.idle) this.#settle();
      else this.#storeNext();
    }
  }

  #storeNext(): void {
    const group = this.#takeGroup();
    this.#held = group[0]?.holds === true;
    this.#storeGroup(group);
  }

  // The deferred writes at the head of the queue, as far as the bound on pending bytes allows. When it is reached they are
  // stored before they are answered, like relaxed writes; or refused, while storing fails.
  #takeDeferred(): Waiting[] {
    let room = pendingBytesMax - this.#pendingBytes;
    return this.#take((item) => {
      if (item.durability !== "deferred" || room <= 0) return false;
      room -= bytesOf(item);
      return true;
    });
  }

  #takeGroup(): Waiting[] {
    return this.#take(() => true);
  }

  #take(wanted: (item: Waiting) => boolean): Waiting[] {
    let count = 0;
    let bytes = 0;
    for (const item of this.#waiting) {
      bytes += bytesOf(item);
      if (count > 0 && (bytes > groupBytesMax || item.alone || this.#waiting[count - 1]?.alone))
        break;
      if (!wanted(item)) break;
      ++count;
    }
    const taken = this.#waiting.splice(0, count);
    for (const item of taken) item.withdrawn();
    return taken;
  }

  // It waits again, before all others.
  #putBack(group: Waiting[]): void {
    for (const item of group) this.#listen(item);
    this.#waiting.unshift(...group);
  }

  // ---- Deferred: publish, answer, store later -------------------------------------------------------------------------

  get #canWriteNow(): boolean {
    return (
      this.#waiting.length === 0 &&
      !this.#held &&
      !this.#writer.holdsCandidate &&
      this.#pendingBytes < pendingBytesMax &&
      this.#failed === undefined
    );
  }

  // Undefined: it has to wait for parts. What throws was not published.
  #writeNow(block: Uint8Array, place: number | undefined): Uint8Array | undefined {
    const written = this.#o.engine.writeNow(block, this.#o.now());
    if (written instanceof NeededParts) return undefined;
    if (written.changes) {
      this.#notePending(block.length);
      if (this.#o.keepsUnstored) this.#pendingWrites.push(keptBlocks.keep(block, place));
      this.#arm();
    }
    return written.reply;
  }

  #publishDeferred(group: Waiting[]): void {
    const staged = this.#stage(group, "write");
    if (staged === undefined) return;
    for (const [i, { kept }] of group.entries()) {
      if (kept === undefined) continue;
      const changes = staged.changes && !staged.failed[i];
      if (changes) this.#notePending(kept.size);
      if (changes && this.#o.keepsUnstored) this.#pendingWrites.push(kept);
      else keptBlocks.release(kept);
    }
    if (staged.changes) this.#arm();
    answer(group, staged);
  }

  #notePending(bytes: number): void {
    this.#lastDeferredAt = Date.now();
    if (this.#pendingBytes === 0) this.#pendingSince = performance.now();
    this.#pendingBytes += bytes;
  }

  // The first of the pending writes need not be kept any more.
  #letGo(count: number): void {
    const gone = this.#pendingWrites.splice(0, count);
    keptBlocks.releaseAll(gone, this.#pendingWrites.length > 0);
  }

  // Sees to it that pending writes are stored in time, and that an unsettled segment is offered again.
  #arm(delayMs = this.#o.deferredDelayMs): void {
    if (this.#writer.running) return; // a store that ends arms again
    if (this.#pendingBytes === 0 && this.#writer.idle) return;
    if (this.#failed !== undefined) return;
    const enough = this.#pendingBytes >= segmentBytesEnough;
    if (this.#retryMs === 0 && (enough || this.#o.hidden())) {
      queueMicrotask(() => this.#storePending()); // not a timer: browsers slow them down in hidden pages
      return;
    }
    if (this.#timer !== undefined) return;
    const wait = Math.max(delayMs, this.#retryMs);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const more = this.#retryMs > 0 ? 0 : this.#patience();
      if (more > 1) this.#arm(more);
      else this.#storePending();
    }, wait);
  }

  // How much longer pending writes may wait: while more keep coming, one segment for all of them, within the bound, which also holds when
  // somebody sets the clock back.
  #patience(): number {
    const quietFor = Date.now() - this.#lastDeferredAt;
    const pendingFor = performance.now() - this.#pendingSince;
    return Math.min(this.#o.deferredDelayMs - quietFor, deferredDelayUnderLoadMs - pendingFor);
  }

  #storePending(): void {
    if (this.#writer.running || this.#failed !== undefined) return;
    if (!this.#writer.idle) {
      this.#settle();
      return;
    }
    if (this.#pendingBytes === 0) return;
    this.#sealing();
    this.#writer.store("published", "relaxed", (outcome) => this.#ended(outcome));
  }

  // ---- Strict and relaxed: store, publish, answer -----------------------------------------------------------------------

  #storeGroup(group: Waiting[]): void {
    if (this.#refuseDeferred(group)) return;
    const staged = this.#stage(group);
    if (staged === undefined) return;
    const flushes = group.some((item) => item.kept === undefined);
    if (!staged.changes && !(flushes && this.#pendingBytes > 0)) {
      answer(group, staged); // nothing to store
      return;
    }
    const durability = group.some((item) => item.durability === "strict") ? "strict" : "relaxed";
    this.#sealing();
    this.#writer.store(staged.changes ? "candidate" : "published", durability, (outcome) => {
      if (outcome.stored) {
        answer(group, staged);
        for (const { kept } of group) if (kept !== undefined) keptBlocks.release(kept);
      } else {
        this.#undo(group, staged, outcome);
      }
      this.#ended(outcome);
    });
  }

  // Storing fails and the bound on pending bytes is reached: deferred writes can't be accepted.
  #refuseDeferred(group: Waiting[]): boolean {
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
  #undo(group: Waiting[], staged: StagedReplies, outcome: Outcome & { stored: false }): void {
    const { error, settled } = outcome;
    const goesOn = settled && !isFinal(error) && this.#failed === undefined;
    const again: Waiting[] = [];
    for (const [i, item] of group.entries()) {
      const retry = staged.failed[i] || item.durability === "deferred";
      if (retry && goesOn) again.push(item);
      else item.reject(error);
    }
    this.#putBack(again);
  }

  // ---- The end of a store -----------------------------------------------------------------------------------------------

  // Called before a segment is sealed: everything pending goes into it.
  #sealing(): void {
    this.#pendingInSegment = this.#pendingBytes;
    this.#writesInSegment = this.#pendingWrites.length;
    this.#sealedAt = performance.now();
  }

  #settle(): void {
    this.#writer.settle((outcome) => this.#ended(outcome));
  }

  #ended(outcome: Outcome): void {
    this.#finish(outcome);
    this.#goOn();
  }

  #finish(outcome: Outcome): void {
    if (outcome.stored) {
      this.#pendingBytes -= this.#pendingInSegment;
      this.#letGo(this.#writesInSegment);
      this.#pendingSince = this.#sealedAt; // what is pending now came after that
      this.#retryMs = 0;
      this.#o.onStored(outcome.size);
    } else if (isFinal(outcome.error)) {
      this.#break(outcome.error);
    } else {
      if (!outcome.settled) this.#rejectWaiting();
      if (this.#pendingBytes === 0 && outcome.settled) return;
      this.#retryMs = Math.min(Math.max(this.#retryMs * 2, retryFirstMs), retryMaxMs);
      this.#o.onPersistError(outcome.error, this.#retryMs);
    }
  }

  #goOn(): void {
    this.#arm(this.#patience()); // of which the store took its part
    this.#pump();
  }

  // A segment is unsettled. What can't go on before it is settled is not kept waiting for that.
  #rejectWaiting(): void {
    const blocked = (item: Waiting) =>
      this.#writer.holdsCandidate || item.durability !== "deferred";
    const error = new StorageError("aborted", "The connection to IndexedDB is lost.");
    this.#refuse(this.#waiting.filter(blocked), error);
  }

  // ---- The engine -------------------------------------------------------------------------------------------------

  // Stages a group, or stages and publishes it; undefined if it could not be, and then its writes are queued again or
  // answered.
  #stage(group: Waiting[], how: "stage" | "write" = "stage"): StagedReplies | undefined {
    const blocks: Uint8Array[] = [];
    for (const { kept } of group) if (kept !== undefined) blocks.push(kept.block);
    const own = group[0]?.stage;
    if (blocks.length === 0 && own === undefined)
      return { replies: [], failed: [], changes: false };
    try {
      const staged = own?.() ?? this.#o.engine[how](blocks, this.#o.now());
      if (staged instanceof NeededParts) {
        this.#putBack(group);
        this.#bring(staged, group);
        return undefined;
      }
      return spread(group, staged);
    } catch (cause) {
      this.#putBack(group);
      this.#cantStage(group, asError(cause));
      return undefined;
    }
  }

  // The writes at the head of the queue need parts. Nothing is staged until they are there; if they can't be had, each write for itself.
  // Which of them need the module's second half is known, so it is not asked for again for each.
  #bring(needed: NeededParts, group: Waiting[]): void {
    this.#held = true;
    const goOn = () => {
      this.#held = false;
      this.#goOn();
    };
    const isFor = ({ kept }: Waiting) =>
      needed instanceof NeededHalf && kept !== undefined && needed.isFor(kept.block);
    this.#o.parts.answer(needed, goOn, "all").catch((cause: unknown) => {
      const error = asError(cause);
      if (needed instanceof NeededHalf && !isFinal(error)) this.#refuse(group.filter(isFor), error);
      else if (this.#failed === undefined) this.#cantStage(group, error);
      goOn();
    });
  }

  // REQUIRES: the group was put back. What does not wait any more (it was withdrawn, or rejected) is answered.
  #cantStage(group: Waiting[], error: Error): void {
    if (!isFinal(error) && group.length > 1) {
      for (const item of group) item.alone = true;
      return;
    }
    this.#refuse(group, error);
    if (isFinal(error)) this.#break(error);
  }

  // Whether they still wait or were taken.
  #refuse(items: readonly Waiting[], error: Error): void {
    const refused = new Set(items);
    this.#waiting = this.#waiting.filter((item) => !refused.has(item));
    for (const item of refused) {
      item.withdrawn();
      item.reject(error);
    }
  }

  // Nothing can be stored any more.
  #break(error: Error): void {
    this.stop(error);
    this.#o.onPersistError(error, undefined);
  }
}

function bytesOf(item: Waiting): number {
  return item.kept?.size ?? 0;
}

// Replies come for blocks only; here they are lined up with the group.
function spread(group: Waiting[], staged: StagedReplies): StagedReplies {
  if (staged.replies.length === group.length) return staged;
  const lined: StagedReplies = { replies: [], failed: [], changes: staged.changes };
  let next = 0;
  for (const item of group) {
    const at = item.kept === undefined ? undefined : next++;
    lined.replies.push((at === undefined ? undefined : staged.replies[at]) ?? noReply);
    lined.failed.push(at !== undefined && staged.failed[at] === true);
  }
  return lined;
}

function answer(group: Waiting[], staged: StagedReplies): void {
  for (const [i, item] of group.entries()) item.resolve(staged.replies[i] ?? noReply);
}
