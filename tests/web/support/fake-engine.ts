// A fake engine in JavaScript. It checks that the host follows the rules of core/store/store.h:
// only one candidate at a time, consecutive segments, and storing only what was sealed.
//
// A message is JSON. { put: key, value } always succeeds. { insert: key, value } fails if the key
// exists, like a 409. { fail: "OutOfMemory" } throws while it is staged. A response is JSON: { ok:
// n } or { error: "exists" }. A message may be wrapped in a call, whose id is recorded.

import assert from "node:assert/strict";
import { StoreError } from "../../../web/src/errors.ts";
import { callIdOf, wrapInCall } from "../../../web/src/util/call-message.ts";
import { callHeaderBytes } from "../../../web/src/util/engine-message-kinds.ts";
import type {
  CheckpointEnd,
  CheckpointPart,
  ClaimSegment,
  Damage,
  Engine,
  EngineStats,
  PartInfo,
  SealedSegments,
  StagedResponses,
  WriteResult,
} from "../../../web/src/wasm/engine.ts";
import { PartsNeeded } from "../../../web/src/wasm/engine.ts";

interface Commit {
  number: number;
  key: string;
  value: unknown;
}

interface Checkpoint {
  rows: [string, unknown][];
  at: number; // the last commit that the checkpoint includes
  parts: number[];
  sequence: number; // the first segment that the checkpoint does not cover
}

export function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
// biome-ignore lint/suspicious/noExplicitAny: whatever the test put in
export function decode(bytes: Uint8Array): any {
  return JSON.parse(new TextDecoder().decode(bytes));
}

export class FakeEngine implements Engine {
  rows = new Map<string, unknown>(); // the published version
  #candidate: { rows: Map<string, unknown>; commits: Commit[] } | undefined;
  #pending: Commit[] = []; // published, but not stored
  #lastCommit = 0;
  #sealed: { sequence: number; through: number } | undefined;
  #nextSequence = 1;
  #firstLive = 1;
  #damage: Damage[] = [];
  #checkpoint: Checkpoint | undefined;
  #parts: number[] = [];
  #nextPart = 1;
  #coveredCommit = 0;
  closed = false;
  readonly moduleLoading = "works";
  stageCalls: number[] = []; // size of each staged group
  readonly callNumbers: number[] = []; // of the messages that were staged and wrapped in a call

  // Only the real engine understands its messages.
  readonly lastReadRowCounts = { read: 0, returned: 0 };
  describeRequest(): never {
    throw new Error("not faked");
  }
  makeErrorResponse(): never {
    throw new Error("not faked");
  }
  responseOutcome(): never {
    throw new Error("not faked");
  }
  emulateServiceScans(): never {
    throw new Error("not faked");
  }
  truncatePages(): never {
    throw new Error("not faked");
  }

  // Only the real engine has snapshots.
  beginSnapshot(): number {
    throw new Error("not faked");
  }
  nextSnapshotChunk = () => undefined;
  endSnapshot(): void {}
  beginRestore(): void {
    throw new Error("not faked");
  }
  restoreChunk(): void {}
  nextRestoredPart = () => undefined;
  finishRestoreInput = () => ({ tables: 0, entities: 0 });
  beginReplace = () => false;
  stageRestoredRows = () => false;
  endRestore = () => [];
  fork(): Engine {
    throw new Error("not faked");
  }
  retainVersion(): number {
    throw new Error("not faked");
  }
  rollbackToVersion(): void {}
  releaseVersion(): void {}

  async loadDeferredModule(): Promise<void> {}
  hasDeferredModule = () => true;

  createEmptyEngine(): Promise<Engine> {
    return Promise.resolve(new FakeEngine());
  }

  readonly firstUnappliedSegment = undefined;
  resumeRecovery(): void {
    throw new Error("not faked");
  }

  recover(manifest: Uint8Array | undefined): PartInfo[] {
    if (manifest === undefined) return [];
    if (manifest.length === 0) {
      this.#damage.push({ file: "manifest", message: "is empty" });
      return [];
    }
    const m = decode(manifest);
    if (m.format > 1) throw new StoreError("FormatTooNew", "stored by a newer version");
    this.#firstLive = this.#nextSequence = m.firstLive;
    this.#parts = m.parts;
    this.#coveredCommit = this.#lastCommit = m.lastCommit;
    this.#nextPart = Math.max(0, ...m.parts) + 1;
    return m.parts.map((id: number) => ({ id, bytes: 100 }));
  }
  #loaded = new Set<number>();
  loadPart(id: number, bytes: Uint8Array | undefined): void {
    if (this.#loaded.has(id) || !this.#parts.includes(id)) return;
    this.#loaded.add(id);
    if (bytes === undefined) this.#damage.push({ file: `part-${id}`, message: "is missing" });
    else for (const [key, value] of decode(bytes)) this.#takeRow(key, value);
    if (this.#needed() === undefined) this.#overlaid = false;
  }
  // Adds a part's row, unless the log has a newer version of the row.
  #takeRow(key: string, value: unknown): void {
    if (!this.rows.has(key)) this.rows.set(key, value);
  }
  #overlaid = false; // the log has changed rows of parts that are not loaded
  setMemoryLimit(): void {}
  checkpointWork = 0; // bytes
  estimateCheckpointBytes = () => this.checkpointWork;
  trimMemory(): void {}
  trimMemoryTo(): void {}
  readonly memoryBytes = 0;
  unsavedMemory = () => 0;
  loadPartForCheckpoint(id: number, bytes: Uint8Array | undefined): void {
    this.loadPart(id, bytes);
  }
  // Returns all unloaded parts, because every request needs all of them.
  #needed(): PartsNeeded | undefined {
    const ids = this.#parts.filter((id) => !this.#loaded.has(id));
    return ids.length === 0 ? undefined : new PartsNeeded(ids);
  }
  partsWithInexactCounts(): PartsNeeded | undefined {
    return this.#overlaid ? this.#needed() : undefined;
  }
  replaySegment(sequence: number, bytes: Uint8Array): void {
    if (this.#damage.length > 0) return;
    if (sequence !== this.#nextSequence) {
      this.reportDamage({ file: `wal-${this.#nextSequence}`, message: "is missing" });
      return;
    }
    for (const commit of decode(bytes) as Commit[]) {
      if (commit.number <= this.#coveredCommit) continue;
      this.rows.set(commit.key, commit.value);
      this.#lastCommit = commit.number;
      this.#overlaid = this.#needed() !== undefined;
    }
    this.#nextSequence = sequence + 1;
  }
  finishRecovery(): void {}
  get firstLiveSequence(): number {
    return this.#firstLive;
  }
  get firstKeptSequence(): number {
    return this.#firstLive;
  }
  get isDamaged(): boolean {
    return this.#damage.length > 0;
  }
  #trapped = false; // after a trap, all calls fail
  damage(): Damage[] {
    if (this.#trapped) throw new StoreError("StoreClosed", "The store is closed.");
    return [...this.#damage];
  }
  reportDamage(damage: Damage): void {
    this.#damage.push(damage);
  }

  runBeforeNextChange(): void {}
  runPendingReads(): void {}

  read(request: Uint8Array): Uint8Array | PartsNeeded {
    const needed = this.#needed();
    if (needed !== undefined) return needed;
    const { get } = decode(request);
    return encode({ value: this.rows.get(get) ?? null });
  }

  onChange: (() => void) | undefined;
  onCommit: (() => void) | undefined;
  runBeforeOtherCalls(): void {}
  listen(): Uint8Array | PartsNeeded {
    return assert.fail("nobody listens");
  }

  configureAccount(): void {}
  readHttp(request: Uint8Array): Uint8Array | PartsNeeded {
    return this.read(request);
  }

  stage(requests: readonly Uint8Array[], _nowMs: number): StagedResponses | PartsNeeded {
    const needed = this.#needed();
    if (needed !== undefined) return needed;
    assert(this.#candidate === undefined, "one candidate at a time");
    assert(requests.length > 0);
    const rows = new Map(this.rows);
    const commits: Commit[] = [];
    const staged: StagedResponses = {
      responses: [],
      failed: [],
      onlyDeletes: [],
      changes: false,
    };
    for (const request of requests) {
      const { insert, put, value, fail } = decode(unwrapFromCall(request));
      if (fail === "OutOfMemory") throw new StoreError("OutOfMemory", "no memory");
      if (fail !== undefined) {
        this.#trapped = true;
        throw new Error(fail);
      }
      if (callIdOf(request) !== undefined) this.callNumbers.push(request[8] as number);
      const key = insert ?? put;
      const exists = insert !== undefined && rows.has(insert);
      if (!exists) {
        const number = this.#lastCommit + commits.length + 1;
        rows.set(key, value);
        commits.push({ number, key, value });
      }
      staged.failed.push(exists);
      staged.onlyDeletes.push(value === null); // stands for a delete
      staged.responses.push(encode(exists ? { error: "exists" } : { ok: value }));
    }
    staged.changes = commits.length > 0;
    this.stageCalls.push(requests.length);
    if (staged.changes) this.#candidate = { rows, commits };
    return staged;
  }
  stageAndPublish(requests: readonly Uint8Array[], nowMs: number): StagedResponses | PartsNeeded {
    const staged = this.stage(requests, nowMs);
    if (!(staged instanceof PartsNeeded) && staged.changes) this.publish();
    return staged;
  }
  // Simulates a view of wasm memory, which the next call overwrites.
  #space = new Uint8Array(0);
  #dies(bytes: Uint8Array): Uint8Array {
    this.#space.fill(0xff);
    this.#space = bytes.slice();
    return this.#space;
  }
  stageAndPublishOne(
    request: Uint8Array,
    nowMs: number,
    client?: Uint8Array,
    callNumber = 0,
  ): WriteResult | PartsNeeded {
    const message = client === undefined ? request : wrapInCall(request, client, callNumber);
    const staged = this.stageAndPublish([message], nowMs);
    if (staged instanceof PartsNeeded) return staged;
    const { changes, onlyDeletes } = staged;
    const response = this.#dies(staged.responses[0] as Uint8Array);
    return { response, changes, onlyDeletes: onlyDeletes[0] === true };
  }
  readonly hasSyncedTables = false;
  enableSync(): void {}
  setSynced = () => undefined;
  hasPendingOperations = () => false;
  readSynced = () => new Uint8Array();
  applySynced = () => false;
  matchesFilter = () => true;
  knownCalls = () => ({ numbers: [...this.callNumbers], droppedThrough: 0 });
  publish(): void {
    assert(this.#candidate !== undefined, "a candidate to publish");
    const { rows, commits } = this.#candidate;
    this.rows = rows;
    this.#lastCommit += commits.length;
    this.#pending.push(...commits.filter(({ number }) => number > this.#storedCommit));
    this.#candidate = undefined;
  }
  discard(): void {
    assert(this.#candidate !== undefined, "a candidate to discard");
    this.#candidate = undefined;
  }
  #storedCommit = 0;
  seal(segmentBytes = Number.POSITIVE_INFINITY): SealedSegments | undefined {
    const commits = [...this.#pending, ...(this.#candidate?.commits ?? [])];
    const last = commits.at(-1);
    if (last === undefined) return undefined;
    const sequence = this.#nextSequence;
    const segments: Commit[][] = [];
    for (const commit of commits) {
      const segment = segments.at(-1);
      const fits = segment && encode([...segment, commit]).length <= segmentBytes;
      if (fits) segment.push(commit);
      else segments.push([commit]);
    }
    this.#sealed = { sequence: sequence + segments.length - 1, through: last.number };
    return { sequence, segments: segments.map(encode) };
  }
  makeClaimSegment(): ClaimSegment {
    assert.equal(this.#pending.length, 0);
    this.#sealed = { sequence: this.#nextSequence, through: this.#storedCommit };
    return { sequence: this.#nextSequence, bytes: encode([]) };
  }
  markStored(sequence: number): void {
    assert.equal(sequence, this.#sealed?.sequence);
    this.#storedCommit = this.#sealed?.through as number;
    this.#pending = this.#pending.filter(({ number }) => number > this.#storedCommit);
    this.#sealed = undefined;
    this.#nextSequence = sequence + 1;
  }

  // Begins a checkpoint that has one row per part.
  beginCheckpoint(): boolean {
    assert(this.#checkpoint === undefined);
    if (this.#lastCommit === this.#coveredCommit) return false;
    this.#checkpoint = {
      rows: [...this.rows],
      at: this.#lastCommit,
      parts: [],
      sequence: this.#nextSequence,
    };
    return true;
  }
  nextCheckpointPart(): CheckpointPart | PartsNeeded | undefined {
    const needed = this.partsWithInexactCounts();
    if (needed !== undefined) return needed;
    const row = this.#checkpoint?.rows.shift();
    if (row === undefined) return undefined;
    const id = this.#nextPart++;
    this.#checkpoint?.parts.push(id);
    return { id, bytes: encode([row]) };
  }
  interimCheckpoint = () => undefined;
  markInterimCheckpointCommitted(): void {}
  finishCheckpoint(): CheckpointEnd {
    const { parts, at, sequence } = this.#checkpoint as Checkpoint;
    const manifest = encode({ format: 1, firstLive: sequence, parts, lastCommit: at });
    return { manifest, segmentsBelow: sequence, obsoleteParts: this.#parts };
  }
  markCheckpointCommitted(): void {
    const { parts, at, sequence } = this.#checkpoint as Checkpoint;
    this.#parts = parts;
    this.#coveredCommit = at;
    this.#firstLive = sequence;
    this.#checkpoint = undefined;
  }
  markCheckpointPartStored(): void {}
  abandonCheckpoint(): number[] {
    const parts = this.#checkpoint?.parts ?? [];
    this.#checkpoint = undefined;
    return [...parts];
  }

  get lastCommit(): number {
    return this.#lastCommit;
  }

  stats(): EngineStats {
    return {
      tables: [],
      rows: this.rows.size,
      bytes: this.rows.size * 100,
      memoryBytes: this.rows.size * 200,
      lastCommit: this.#lastCommit,
      pendingCommits: this.#pending.length,
      pendingBytes: this.#pending.length * 50,
      nextSequence: this.#nextSequence,
      epoch: 1,
      segmentsSinceCheckpoint: this.#nextSequence - this.#firstLive,
      segmentBytesSinceCheckpoint: (this.#nextSequence - this.#firstLive) * 50,
    };
  }
  verify(): string {
    return "";
  }
  openIdbfsDatabase(): Promise<IDBDatabase> {
    return Promise.reject(new Error("no IDBFS in the fake engine"));
  }
  close(): void {
    this.closed = true;
  }
}

// Returns a copy of the message, without the call around it if there is one.
export function unwrapFromCall(request: Uint8Array): Uint8Array<ArrayBuffer> {
  return callIdOf(request) !== undefined ? request.slice(callHeaderBytes) : new Uint8Array(request);
}
