// The real store of sync, over an engine: reads a version, and applies drafts. Who calls it decides
// when commits are stored, and loads parts (owner-store.ts). In a worker, the engine is of another
// script, so objects of its classes are recognized by their shape.

import { RequestEncoder } from "../client/request-encoder.ts";
import { Draft, type Put } from "../sync/draft.ts";
import type { PartsNeeded } from "../wasm/engine.ts";
import { Changes } from "./changes.ts";
import { EngineView } from "./engine-view.ts";
import { PartsMissing, type SyncEngine } from "./hidden-reader.ts";
import type { AheadLimits } from "./rows-ahead.ts";
import { TouchedKeys } from "./touched-keys.ts";

/** The code that decides about a commit has failed. There is no commit. `cause`: what it threw. */
export class DecisionFailed extends Error {
  constructor(cause: unknown) {
    super("The decision about a commit has failed.", { cause });
  }
}

/** What a draft led to. */
export interface Applied<T> {
  readonly result: T;
  readonly draft: Draft;
  readonly changes: boolean; // whether there is a commit
  readonly bytes: number; // of its messages
  /** Whether it must survive a power failure before sync goes on: it claims a try of a push. */
  readonly isStrict: boolean;
}

export class EngineStore {
  readonly #engine: SyncEngine;
  readonly #table: string;
  readonly #encoder = new RequestEncoder(false);
  readonly #touched: TouchedKeys;
  readonly view: EngineView;

  /** `ahead`: how much of the rows that are expected is read together. */
  constructor(engine: SyncEngine, table: string, ahead?: AheadLimits) {
    this.#engine = engine;
    this.#table = table;
    this.#touched = new TouchedKeys(engine.lastCommit);
    this.view = new EngineView(engine, table, this.#touched, ahead);
  }

  /** Returns the parts that `look` needs, if they are not in memory. */
  read<T>(look: (view: EngineView) => T): { readonly result: T } | PartsNeeded {
    try {
      return { result: look(this.view) };
    } catch (error) {
      if (error instanceof PartsMissing) return error.needed;
      throw error;
    } finally {
      this.view.endLook();
    }
  }

  /**
   * Stages what `decide` puts into a draft, and with `publishes` publishes it. Returns the parts
   * that it needs; then nothing was done. Throws DecisionFailed, or what the engine throws.
   * REQUIRES: nothing is staged.
   */
  apply<T>(
    decide: (draft: Draft) => T,
    publishes: boolean,
    nowMs: number,
  ): Applied<T> | PartsNeeded {
    try {
      const seen = this.#engine.lastCommit;
      const draft = new Draft(this.view);
      const result = decideOn(draft, decide);
      const { puts } = draft;
      if (puts.length === 0) return { result, draft, changes: false, bytes: 0, isStrict: false };
      const changes = new Changes(this.view);
      for (const put of puts) changes.add(put);
      const parts = changes.encode(this.#encoder, this.#table);
      const changed = this.#engine.applySynced(parts, seen, publishes, nowMs);
      if (typeof changed !== "boolean") return changed;
      this.#touch(puts, seen + 1); // also without a commit: see touchAbsentRow
      const bytes = parts.reduce((sum, { message }) => sum + message.length, 0);
      return { result, draft, changes: changed, bytes, isStrict: puts.some(claimsTry) };
    } catch (error) {
      if (error instanceof PartsMissing) return error.needed;
      throw error;
    } finally {
      this.view.endLook();
    }
  }

  /** A page of new rows is most of what is between its first and its last key. */
  #touch(puts: readonly Put[], commit: number): void {
    const keys = puts
      .filter(({ table }) => table === "rows" || table === "bases")
      .map(({ key }) => key);
    if (this.view.expectsNewRows && keys.length >= stretchMin) {
      const from = keys.reduce((least, key) => (key < least ? key : least));
      const to = keys.reduce((greatest, key) => (key > greatest ? key : greatest));
      this.#touched.addStretch({ from, to, commit });
    } else for (const key of keys) this.#touched.add(key, commit);
  }
}

const stretchMin = 500; // keys

const claimsTry = ({ table, value }: Put): boolean =>
  (table === "pushes" || table === "tries") && value !== undefined;

function decideOn<T>(draft: Draft, decide: (draft: Draft) => T): T {
  try {
    return decide(draft);
  } catch (error) {
    throw error instanceof PartsMissing ? error : new DecisionFailed(error);
  }
}
