// The content of a store out as one file, and back in: read wholly before anything changes, then in one step in the place of what is there
// (core/store/store.h, "replace"), or group by group into it.

import { StoreError } from "../errors.ts";
import { nextTurn } from "../event-loop.ts";
import { joined, piecesOf } from "../pieces.ts";
import type { RestoreMode, RestoreReport, SnapshotSource } from "../types.ts";
import { type Engine, NeededParts } from "../wasm/engine.ts";
import type { CommitQueue } from "./commit-queue.ts";
import type { Parts } from "./parts.ts";

export interface SnapshotsOptions {
  engine: Pick<
    Engine,
    | "complete"
    | "beginSnapshot"
    | "nextSnapshotPiece"
    | "endSnapshot"
    | "beginRestore"
    | "restore"
    | "restored"
    | "stageMerge"
    | "endRestore"
  >;
  queue: Pick<CommitQueue, "exclusively" | "stageAlone">;
  parts: Pick<Parts, "answer">;
  replace: (call: Uint8Array | undefined) => Promise<void>; // stores what was restored; runs while nothing else is written
  now: () => number;
}

export class Snapshots {
  readonly #o: SnapshotsOptions;
  #lastSnapshot: Promise<unknown> = Promise.resolve();
  #snapshots = 0; // being taken, or waiting for that
  #lastRestore: Promise<unknown> = Promise.resolve();

  constructor(options: SnapshotsOptions) {
    this.#o = options;
  }

  take(): Promise<Uint8Array> {
    this.#snapshots += 1;
    const taking = this.#lastSnapshot
      .then(() => this.#take())
      .finally(() => {
        this.#snapshots -= 1;
      });
    this.#lastSnapshot = taking.catch(() => {});
    return taking;
  }

  // When no snapshot is being taken; undefined: now.
  get taken(): Promise<unknown> | undefined {
    return this.#snapshots === 0 ? undefined : this.#lastSnapshot;
  }

  // `call`: of the writer in another tab, so that it is not done twice.
  restore(
    source: SnapshotSource,
    mode: RestoreMode,
    call: Uint8Array | undefined,
  ): Promise<RestoreReport> {
    const restoring = this.#lastRestore.then(() => this.#restore(source, mode, call));
    this.#lastRestore = restoring.catch(() => {});
    return restoring;
  }

  async #take(): Promise<Uint8Array> {
    const { engine, parts } = this.#o;
    const next = () => engine.nextSnapshotPiece();
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    engine.beginSnapshot();
    try {
      for (;;) {
        let piece = next();
        if (piece instanceof NeededParts) piece = await parts.answer(piece, next);
        if (piece === undefined) return await joined(pieces);
        pieces.push(piece);
        await nextTurn();
      }
    } finally {
      quietly(() => engine.endSnapshot());
    }
  }

  async #restore(
    source: SnapshotSource,
    mode: RestoreMode,
    call: Uint8Array | undefined,
  ): Promise<RestoreReport> {
    const { engine, queue, replace } = this.#o;
    await engine.complete();
    engine.beginRestore();
    try {
      for await (const piece of piecesOf(source)) engine.restore(piece);
      const report = engine.restored();
      if (mode === "replace") await queue.exclusively(() => replace(call));
      else await this.#merge();
      return report;
    } finally {
      quietly(() => engine.endRestore());
    }
  }

  async #merge(): Promise<void> {
    const { engine, queue, now } = this.#o;
    let more = true;
    let refused: unknown;
    while (more) {
      await queue.stageAlone(() => {
        try {
          const staged = engine.stageMerge(now());
          if (staged instanceof NeededParts) return staged;
          more = staged;
        } catch (error) {
          // The store goes on without it.
          if (!(error instanceof StoreError && error.code === "Corrupted")) throw error;
          refused = error;
          more = false;
        }
        return more;
      });
      await nextTurn();
    }
    if (refused !== undefined) throw refused;
  }
}

// The engine may be closed, or broken, by now.
function quietly(end: () => void): void {
  try {
    end();
  } catch {
    // What it held is gone with it.
  }
}
