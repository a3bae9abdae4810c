// A small user of a LogStorage, with rows of text: writes segments and checkpoints as a store does,
// and knows which rows must be there.

import type { LogStorage, SegmentDurability } from "../../../web/src/storage/log-storage.ts";
import { StorageError } from "../../../web/src/storage/log-storage.ts";
import { equal } from "./equal.ts";

interface State {
  rows: string[]; // of the segments that the manifest covers
  parts: Record<number, string>; // what each part holds
  first: number; // the first segment that is not covered
  nextPart: number;
}

const encode = (text: string) => new TextEncoder().encode(text);
// Repeats a call until its outcome is known, as a store does.
async function untilKnown(call: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof StorageError) || error.failure !== "unknown") throw error;
    }
  }
}

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

export class SmallLog {
  readonly storage: LogStorage;
  readonly #name: string;
  rows: string[] = [];
  orphans: number[] = [];
  #state: State = { rows: [], parts: {}, first: 1, nextPart: 1 };
  #next = 1; // the number of the next segment

  // `name`: what the parts of this owner hold.
  constructor(storage: LogStorage, name: string) {
    this.storage = storage;
    this.#name = name;
  }

  // Reads the log. Throws if a part or a segment is missing, or if a part is not the one that the
  // manifest means.
  async load(): Promise<void> {
    let segments: string[] = [];
    this.orphans = await this.storage.load({
      onManifest: (bytes) => {
        const empty = { rows: [], parts: {}, first: 1, nextPart: 1 };
        this.#state = bytes === undefined ? empty : JSON.parse(decode(bytes));
        segments = [];
        const parts = Object.keys(this.#state.parts).map(Number);
        return { parts, firstSegment: this.#state.first };
      },
      onPart: (id) => {
        throw new Error(`part ${id} is missing`);
      },
      onSegment: (sequence, bytes) => {
        equal(sequence, this.#state.first + segments.length);
        if (bytes === undefined) throw new Error(`segment ${sequence} is missing`);
        segments.push(decode(bytes));
      },
    });
    this.#next = this.#state.first + segments.length;
    this.rows = [...this.#state.rows, ...segments.filter((row) => row !== "")];
    await this.storage.readParts(Object.keys(this.#state.parts).map(Number), (id, bytes) => {
      equal(bytes && decode(bytes), this.#state.parts[id]);
    });
  }

  async claim(): Promise<void> {
    await this.storage.claim(this.#next, encode(""));
    this.#next += 1;
  }

  // Writes a row.
  async write(row: string, durability: SegmentDurability = "strict"): Promise<void> {
    await untilKnown(() => this.storage.addSegments(this.#next, [encode(row)], durability));
    this.#next += 1;
    this.rows.push(row);
  }

  // Replaces all parts by new ones.
  async checkpoint(parts = 2): Promise<void> {
    const { nextPart } = this.#state;
    const ids = Array.from({ length: parts }, (_, i) => nextPart + i);
    const holds = `${this.#name} ${this.rows.length}`;
    const state: State = {
      rows: [...this.rows],
      parts: Object.fromEntries(ids.map((id) => [id, holds])),
      first: this.#next,
      nextPart: nextPart + parts,
    };
    const obsoleteParts = Object.keys(this.#state.parts).map(Number);
    const obsolete = { segmentsBelow: this.#next, obsoleteParts };
    try {
      for (const id of ids) await this.storage.putPart(id, encode(holds));
      await untilKnown(() => this.storage.commitManifest(encode(JSON.stringify(state)), obsolete));
    } catch (error) {
      await this.storage.deleteParts(ids).catch(() => {}); // no manifest names them
      throw error;
    }
    this.#state = state;
  }

  // Writes a part that no manifest will name.
  async putOrphan(): Promise<number> {
    await this.storage.putPart(this.#state.nextPart, encode("orphan"));
    return this.#state.nextPart;
  }
}
