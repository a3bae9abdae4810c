// A storage whose calls wait until the test lets them succeed or fail. It wraps a real storage.

import {
  type LogReceiver,
  type LogStorage,
  type ObsoleteFiles,
  type OnPart,
  type OnSegment,
  type SegmentDurability,
  StorageError,
  type StorageFailure,
} from "../../../web/src/storage/log-storage.ts";

export interface Call {
  name: "readParts" | "claim" | "addSegments" | "putPart" | "commitManifest" | "deleteParts";
  sequence?: number;
  segments?: number; // how many
  id?: number;
  durability?: SegmentDurability;
  // succeed(): the call takes effect. fail(): it stores nothing and rejects.
  succeed(): Promise<void>;
  fail(failure: StorageFailure): Promise<void>;
  // The call takes effect and then rejects, as if the connection had been lost.
  storeAndFail(failure: StorageFailure): Promise<void>;
}

export class ControlledStorage implements LogStorage {
  readonly #inner: LogStorage;
  readonly calls: Call[] = []; // every call so far
  #waiting: Call[] = [];
  #arrivals: (() => void)[] = []; // to be called when a call waits
  auto = true; // false: calls wait for the test
  failing: StorageFailure | undefined; // if `auto`: the failure of each call
  failsParts = false; // if `auto`: the storage is too full for parts
  closes = 0;
  segmentBytes?: number; // if set, a group may have several segments

  constructor(inner: LogStorage) {
    this.#inner = inner;
  }

  // Resolves to the next call that waits.
  async next(): Promise<Call> {
    while (this.#waiting.length === 0) {
      await new Promise<void>((resolve) => this.#arrivals.push(resolve));
    }
    return this.#waiting.shift() as Call;
  }
  get waiting(): number {
    return this.#waiting.length;
  }

  load(reader: LogReceiver): Promise<number[]> {
    return this.#inner.load(reader);
  }
  readParts(ids: readonly number[], part: OnPart): Promise<void> {
    return this.#call({ name: "readParts" }, () => this.#inner.readParts(ids, part));
  }
  readSegments(first: number, segment: OnSegment): Promise<void> {
    return this.#inner.readSegments(first, segment);
  }
  readWhileInUse(reader: LogReceiver): Promise<number[]> {
    return this.#inner.readWhileInUse(reader);
  }
  claim(sequence: number, bytes: Uint8Array): Promise<void> {
    const copy = bytes.slice();
    return this.#call({ name: "claim", sequence }, () => this.#inner.claim(sequence, copy));
  }
  addSegments(
    sequence: number,
    segments: readonly Uint8Array[],
    durability: SegmentDurability,
  ): Promise<void> {
    const copies = segments.map((bytes) => bytes.slice());
    return this.#call(
      { name: "addSegments", sequence, segments: segments.length, durability },
      () => this.#inner.addSegments(sequence, copies, durability),
    );
  }
  putPart(id: number, bytes: Uint8Array): Promise<void> {
    if (this.failsParts) return Promise.reject(new StorageError("quota", "injected: quota"));
    return this.#call({ name: "putPart", id }, () => this.#inner.putPart(id, bytes));
  }
  commitManifest(bytes: Uint8Array, obsolete: ObsoleteFiles): Promise<void> {
    return this.#call({ name: "commitManifest" }, () =>
      this.#inner.commitManifest(bytes, obsolete),
    );
  }
  deleteParts(ids: readonly number[]): Promise<void> {
    return this.#call({ name: "deleteParts" }, () => this.#inner.deleteParts(ids));
  }
  deleteLog(): Promise<void> {
    return this.#inner.deleteLog();
  }
  close(): Promise<void> {
    this.closes += 1;
    return this.#inner.close();
  }

  #call(
    about: Pick<Call, "name" | "sequence" | "id" | "segments" | "durability">,
    act: () => Promise<void>,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const error = (failure: StorageFailure) => new StorageError(failure, `injected: ${failure}`);
      // Not a timer, because tests replace timers.
      const settled = () => new Promise<void>((turn) => setImmediate(turn));
      const call: Call = {
        ...about,
        succeed: async () => {
          await act().then(resolve, reject);
          await settled();
        },
        fail: async (failure) => {
          reject(error(failure));
          await settled();
        },
        storeAndFail: async (failure) => {
          await act();
          reject(error(failure));
          await settled();
        },
      };
      this.calls.push(call);
      if (!this.auto) {
        this.#waiting.push(call);
        for (const arrived of this.#arrivals.splice(0)) arrived();
      } else if (this.failing === undefined) {
        act().then(resolve, reject);
      } else {
        reject(error(this.failing));
      }
    });
  }
}
