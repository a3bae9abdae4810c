// The rules of every LogStorage (web/src/storage/log-storage.ts) as test cases that use only the
// storage. They run in Node in memory and on a simulated IndexedDB, and in real browsers on
// IndexedDB.

import { type LogStorage, StorageError } from "../../../web/src/storage/log-storage.ts";
import { equal } from "./equal.ts";

// Opens storages on the same files: one after another, or at the same time as by two tabs.
export interface StorageFixture {
  open(): Promise<LogStorage>;
}

export interface ContractCase {
  name: string;
  several?: true; // only for storages that accept several segments in a call
  run(fixture: StorageFixture): Promise<void>;
}

export interface Loaded {
  manifest: number[] | undefined;
  parts: Record<number, number[] | undefined>;
  segments: [number, number[] | undefined][];
  orphans: number[];
}

// Loads the log, and then the parts `named`, which a manifest would name.
export async function loadAll(
  storage: Pick<LogStorage, "load" | "readParts">,
  named: number[] = [],
  firstSegment = 1,
  historyFrom = firstSegment,
): Promise<Loaded> {
  const loaded: Loaded = { manifest: undefined, parts: {}, segments: [], orphans: [] };
  const list = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : [...bytes]);
  loaded.orphans = await storage.load({
    onManifest(bytes) {
      loaded.parts = {};
      loaded.segments = [];
      loaded.manifest = list(bytes);
      return { parts: named, firstSegment, historyFrom };
    },
    onPart(id, bytes) {
      loaded.parts[id] = list(bytes);
    },
    onSegment(sequence, bytes) {
      loaded.segments.push([sequence, list(bytes)]);
    },
  });
  const rest = named.filter((id) => !(id in loaded.parts));
  await storage.readParts(rest, (id, bytes) => {
    loaded.parts[id] = list(bytes);
  });
  return loaded;
}

// A storage whose load() is readWhileInUse().
const byInspecting = (storage: LogStorage): Pick<LogStorage, "load" | "readParts"> => ({
  load: (reader) => storage.readWhileInUse(reader),
  readParts: async () => {},
});

const bytes = (...values: number[]) => Uint8Array.from(values);

export const storageContract: ContractCase[] = [
  {
    name: "a new log is empty",
    async run(fixture) {
      const storage = await fixture.open();
      equal(await loadAll(storage), { manifest: undefined, parts: {}, segments: [], orphans: [] });
      await storage.close();
    },
  },
  {
    name: "stored files are loaded after reopening, segments in sequence",
    async run(fixture) {
      const first = await fixture.open();
      await first.addSegments(1, [bytes(1)], "strict");
      await first.addSegments(2, [bytes(2, 2)], "relaxed");
      await first.addSegments(0x123456789a, [bytes(3)], "relaxed"); // a number beyond 32 bits
      await first.addSegments(16, [bytes()], "relaxed"); // an empty segment is valid
      await first.close();
      const second = await fixture.open();
      const loaded = await loadAll(second);
      equal(loaded.segments, [
        [1, [1]],
        [2, [2, 2]],
        [16, []],
        [0x123456789a, [3]],
      ]);
      await second.close();
    },
  },
  {
    name: "segments below the first live one are not read",
    async run(fixture) {
      const storage = await fixture.open();
      for (let i = 1; i <= 5; ++i) await storage.addSegments(i, [bytes(i)], "relaxed");
      equal((await loadAll(storage, [], 4)).segments, [
        [4, [4]],
        [5, [5]],
      ]);
      await storage.close();
    },
  },
  {
    name: "a segment is never overwritten: other bytes under its number are fenced",
    async run(fixture) {
      const mine = await fixture.open();
      await mine.addSegments(1, [bytes(1, 2, 3)], "strict");
      const error = await rejected(mine.addSegments(1, [bytes(1, 2, 4)], "strict"));
      equal(error.failure, "fenced");
      equal(error.code, "StoreLocked");
      equal(error.isFatal, true);
      equal((await loadAll(mine)).segments, [[1, [1, 2, 3]]]);
      await mine.close();
    },
  },
  {
    name: "a segment is added after a checkpoint whose manifest is large",
    async run(fixture) {
      const storage = await fixture.open();
      const manifest = new Uint8Array(4 * 1024 * 1024);
      for (let i = 1; i <= 20; ++i) {
        manifest[0] = i;
        await storage.commitManifest(manifest, { segmentsBelow: i, obsoleteParts: [] });
        await storage.addSegments(i, [bytes(i)], i % 2 === 0 ? "strict" : "relaxed");
      }
      equal((await loadAll(storage, [], 20)).segments, [[20, [20]]]);
      await storage.close();
    },
  },
  {
    name: "storing the same bytes again is the same segment",
    async run(fixture) {
      const storage = await fixture.open();
      await storage.addSegments(1, [bytes(1, 2, 3)], "strict");
      await storage.addSegments(1, [bytes(1, 2, 3)], "relaxed");
      equal((await loadAll(storage)).segments, [[1, [1, 2, 3]]]);
      await storage.close();
    },
  },
  {
    name: "segments of one call are consecutive, and storing them again changes nothing",
    several: true,
    async run(fixture) {
      const storage = await fixture.open();
      const large = [70_000, 1, 65_000].map((size, i) => new Uint8Array(size).fill(i));
      const sizes = async () =>
        (await loadAll(storage)).segments.map(([at, b]) => [at, b?.length, b?.at(-1)]);
      for (const durability of ["strict", "relaxed"] as const) {
        await storage.addSegments(1, large, durability);
        equal(await sizes(), [
          [1, 70_000, 0],
          [2, 1, 1],
          [3, 65_000, 2],
        ]);
      }
      await storage.addSegments(4, [bytes(4), bytes(5)], "strict");
      equal((await loadAll(storage, [], 4)).segments, [
        [4, [4]],
        [5, [5]],
      ]);
      await storage.close();
    },
  },
  {
    name: "of the segments of one call none is stored if a number is in use",
    several: true,
    async run(fixture) {
      for (const taken of [1, 2, 3]) {
        const [a, b] = [await fixture.open(), await fixture.open()];
        await a.addSegments(taken, [bytes(0xa)], "relaxed");
        const error = await rejected(b.addSegments(1, [bytes(1), bytes(2), bytes(3)], "strict"));
        equal(error.failure, "fenced");
        equal((await loadAll(a)).segments, [[taken, [0xa]]]);
        await b.close();
        await a.deleteLog();
      }
    },
  },
  {
    name: "a checkpoint replaces segments of one call, and keeps later ones",
    several: true,
    async run(fixture) {
      const storage = await fixture.open();
      await loadAll(storage);
      await storage.addSegments(1, [bytes(1), bytes(2), bytes(3)], "relaxed");
      await Promise.all([
        storage.addSegments(4, [bytes(4), bytes(5)], "relaxed"),
        storage.commitManifest(bytes(9), { segmentsBelow: 4, obsoleteParts: [] }),
      ]);
      equal((await loadAll(storage, [], 4)).segments, [
        [4, [4]],
        [5, [5]],
      ]);
      await storage.commitManifest(bytes(10), { segmentsBelow: 6, obsoleteParts: [] });
      await storage.addSegments(6, [bytes(6), bytes(7)], "strict");
      equal((await loadAll(storage, [], 6)).segments.length, 2);
      await storage.close();
    },
  },
  {
    name: "one of two owners is fenced",
    async run(fixture) {
      const a = await fixture.open();
      const b = await fixture.open();
      const results = await Promise.allSettled([
        a.addSegments(1, [bytes(0xa)], "strict"),
        b.addSegments(1, [bytes(0xb)], "strict"),
      ]);
      const fenced = results.filter((result) => result.status === "rejected");
      equal(fenced.length, 1);
      const [error] = fenced.map((result) => result.reason);
      equal(error instanceof StorageError && error.failure, "fenced");
      await a.close();
      await b.close();
    },
  },
  {
    name: "a claim fences the previous owner, which can no longer add, put, commit or drop",
    async run(fixture) {
      const before = await fixture.open();
      await loadAll(before);
      await before.claim(1, bytes(0xa));
      await before.addSegments(2, [bytes(0xa, 2)], "relaxed");
      await before.putPart(1, bytes(0xa));
      const after = await fixture.open();
      equal((await loadAll(after)).orphans, [1]);
      // the log is not claimed yet, so the previous owner can still write
      await before.putPart(2, bytes(0xa));
      await after.claim(3, bytes(0xb));
      await after.addSegments(4, [bytes(0xb, 4)], "strict");
      await after.putPart(1, bytes(0xb));
      for (const call of [
        () => before.addSegments(3, [bytes(0xa, 3)], "strict"),
        () => before.putPart(1, bytes(0xa)),
        () => before.commitManifest(bytes(0xa), { segmentsBelow: 3, obsoleteParts: [] }),
        () => before.deleteParts([1, 2]),
      ]) {
        equal((await rejected(call())).failure, "fenced");
      }
      await after.commitManifest(bytes(0xb), { segmentsBelow: 4, obsoleteParts: [] });
      equal(await loadAll(after, [1], 4), {
        manifest: [0xb],
        parts: { 1: [0xb] },
        segments: [[4, [0xb, 4]]],
        orphans: [2],
      });
      await before.close();
      await after.close();
    },
  },
  {
    name: "a previous owner is fenced even if a checkpoint has removed the segments that show it",
    async run(fixture) {
      for (const checkpointed of [false, true]) {
        const before = await fixture.open();
        await loadAll(before);
        await before.claim(1, bytes(0xa));
        await before.addSegments(2, [bytes(0xa, 2)], "relaxed");
        await before.putPart(1, bytes(0xa));
        const own = { segmentsBelow: 3, obsoleteParts: [] };
        if (checkpointed) await before.commitManifest(bytes(0xa), own);
        const after = await fixture.open();
        await loadAll(after, checkpointed ? [1] : [], checkpointed ? 3 : 1);
        await after.claim(3, bytes(0xb));
        await after.addSegments(4, [bytes(0xb, 4)], "strict");
        await after.putPart(2, bytes(0xb));
        await after.commitManifest(bytes(0xb), { segmentsBelow: 5, obsoleteParts: [1] });
        for (const call of [
          () => before.addSegments(3, [bytes(0xa, 3)], "strict"),
          () => before.putPart(2, bytes(0xa)),
          () => before.commitManifest(bytes(0xaa), { segmentsBelow: 3, obsoleteParts: [] }),
          () => before.deleteParts([2]),
        ]) {
          equal((await rejected(call())).failure, "fenced");
        }
        await after.addSegments(5, [bytes(0xb, 5)], "strict");
        equal(await loadAll(after, [2], 5), {
          manifest: [0xb],
          parts: { 2: [0xb] },
          segments: [[5, [0xb, 5]]],
          orphans: [],
        });
        await before.close();
        await after.deleteLog();
      }
    },
  },
  {
    name: "an owner continues after its own checkpoints removed all segments",
    async run(fixture) {
      const first = await fixture.open();
      await loadAll(first);
      await first.claim(1, bytes(1));
      await first.commitManifest(bytes(7), { segmentsBelow: 2, obsoleteParts: [] });
      await first.addSegments(2, [bytes(2)], "strict");
      await Promise.all([
        first.commitManifest(bytes(8), { segmentsBelow: 3, obsoleteParts: [] }),
        first.addSegments(3, [bytes(3)], "strict"),
      ]);
      await first.commitManifest(bytes(9), { segmentsBelow: 4, obsoleteParts: [] });
      await first.close();
      const second = await fixture.open();
      await loadAll(second, [], 4);
      await second.addSegments(4, [bytes(4)], "strict"); // a first segment is also a claim
      await second.putPart(1, bytes(1));
      equal((await loadAll(second, [1], 4)).segments, [[4, [4]]]);
      await second.close();
    },
  },
  {
    name: "a claim on a log that has grown since it was loaded is fenced",
    async run(fixture) {
      const before = await fixture.open();
      await loadAll(before);
      await before.claim(1, bytes(1));
      const after = await fixture.open();
      const claim = async (write: () => Promise<void>, sequence: number) => {
        await loadAll(after);
        await write();
        return (await rejected(after.claim(sequence, bytes(0xb)))).failure;
      };
      const add = () => before.addSegments(2, [bytes(2)], "relaxed");
      equal(await claim(add, 2), "fenced");
      const commit = () => before.commitManifest(bytes(9), { segmentsBelow: 1, obsoleteParts: [] });
      equal(await claim(commit, 3), "fenced");
      equal((await loadAll(after)).segments.length, 2);
      await after.claim(3, bytes(0xb));
      await after.claim(3, bytes(0xb)); // a repeated claim with the same bytes
      await before.close();
      await after.close();
    },
  },
  {
    name: "only one of two owners that loaded the same log can claim it, even with equal claims",
    async run(fixture) {
      for (const before of [0, 1]) {
        const [first, second] = [await fixture.open(), await fixture.open()];
        await loadAll(first);
        await loadAll(second);
        await first.claim(before + 1, bytes(1));
        equal((await rejected(second.claim(before + 1, bytes(1)))).failure, "fenced");
        await first.close();
        await second.close();
      }
    },
  },
  {
    name: "an owner's checkpoint may overlap with its segments",
    async run(fixture) {
      const storage = await fixture.open();
      await loadAll(storage);
      await storage.claim(1, bytes(1));
      await Promise.all([
        storage.addSegments(2, [bytes(2)], "relaxed"),
        storage.putPart(1, bytes(1)),
        storage.addSegments(3, [bytes(3)], "strict"),
        storage.putPart(2, bytes(2)),
        storage.addSegments(4, [bytes(4)], "relaxed"),
        storage.commitManifest(bytes(9), { segmentsBelow: 2, obsoleteParts: [] }),
        storage.addSegments(5, [bytes(5)], "relaxed"),
        storage.deleteParts([1]),
      ]);
      equal((await loadAll(storage, [2], 2)).segments.length, 4);
      await storage.close();
    },
  },
  {
    name: "bytes are copied exactly from a view of a larger buffer",
    async run(fixture) {
      const storage = await fixture.open();
      const heap = new Uint8Array(1000).fill(7);
      heap.set([1, 2, 3], 500);
      await storage.addSegments(1, [heap.subarray(500, 503)], "strict");
      await storage.putPart(1, heap.subarray(501, 503));
      heap.fill(9); // the caller reuses its memory
      const loaded = await loadAll(storage, [1]);
      equal(loaded.segments, [[1, [1, 2, 3]]]);
      equal(loaded.parts, { 1: [2, 3] });
      await storage.close();
    },
  },
  {
    name: "parts: requested ones are read, missing ones are reported, others are listed",
    async run(fixture) {
      const storage = await fixture.open();
      for (const id of [1, 2, 3, 9, 10, 300]) await storage.putPart(id, bytes(id % 256));
      const loaded = await loadAll(storage, [2, 3, 10, 11]);
      equal(loaded.parts, { 2: [2], 3: [3], 10: [10], 11: undefined });
      equal(loaded.orphans, [1, 9, 300]);
      await storage.deleteParts(loaded.orphans);
      equal((await loadAll(storage, [2, 3, 10])).orphans, []);
      await storage.close();
    },
  },
  {
    name: "a part may be stored again, by a checkpoint that is retried",
    async run(fixture) {
      const storage = await fixture.open();
      await storage.putPart(1, bytes(1));
      await storage.putPart(1, bytes(2));
      equal((await loadAll(storage, [1])).parts, { 1: [2] });
      await storage.close();
    },
  },
  {
    name: "committing a manifest removes the segments and parts that it makes obsolete",
    async run(fixture) {
      const storage = await fixture.open();
      for (let i = 1; i <= 5; ++i) await storage.addSegments(i, [bytes(i)], "relaxed");
      for (let i = 1; i <= 4; ++i) await storage.putPart(i, bytes(i));
      await storage.commitManifest(bytes(42), { segmentsBelow: 4, obsoleteParts: [1, 3] });
      const loaded = await loadAll(storage, [2, 4], 2); // segment 2 is a claim, which may remain
      equal(loaded, {
        manifest: [42],
        parts: { 2: [2], 4: [4] },
        segments: [
          [4, [4]],
          [5, [5]],
        ],
        orphans: [],
      });
      await storage.commitManifest(bytes(43), { segmentsBelow: 0, obsoleteParts: [] });
      equal((await loadAll(storage, [2, 4])).manifest, [43]);
      await storage.close();
    },
  },
  {
    name: "segments that a manifest keeps as history stay, and are no part of the log",
    async run(fixture) {
      const storage = await fixture.open();
      await loadAll(storage);
      for (let i = 1; i <= 6; ++i) await storage.addSegments(i, [bytes(i)], "relaxed");
      const none = { obsoleteParts: [] };
      await storage.commitManifest(bytes(9), { segmentsBelow: 6, historyFrom: 3, ...none });
      await storage.close();
      const history = async (owner: LogStorage) => {
        const there: number[] = [];
        await owner.readSegments(1, (sequence, contents) => {
          if (contents !== undefined) there.push(sequence);
          return true;
        });
        return there;
      };
      const next = await fixture.open();
      equal((await loadAll(next, [], 6, 3)).segments, [[6, [6]]]);
      await next.claim(7, bytes(7));
      equal(await history(next), [3, 4, 5, 6, 7]);
      await next.commitManifest(bytes(10), { segmentsBelow: 8, historyFrom: 5, ...none });
      equal(await history(next), [5, 6, 7]);
      await next.addSegments(8, [bytes(8)], "strict");
      await next.commitManifest(bytes(11), { segmentsBelow: 9, historyFrom: 8, ...none });
      equal(
        (await history(next)).filter((sequence) => sequence !== 7), // a claim, which may remain
        [8],
      );
      await next.commitManifest(bytes(12), { segmentsBelow: 9, ...none });
      equal(
        (await history(next)).filter((sequence) => sequence !== 7),
        [],
      );
      await next.close();
    },
  },
  {
    name: "many segments, small and large, are loaded complete and in order",
    async run(fixture) {
      const storage = await fixture.open();
      const size = (i: number) => (i % 50 === 0 ? 300_000 : i);
      for (let i = 1; i <= 200; ++i) {
        await storage.addSegments(i, [new Uint8Array(size(i)).fill(i)], "relaxed");
      }
      const { segments } = await loadAll(storage);
      equal(
        segments.map(([sequence, content]) => [sequence, content?.length, content?.at(-1)]),
        Array.from({ length: 200 }, (_, i) => [i + 1, size(i + 1), i + 1]),
      );
      await storage.close();
    },
  },
  {
    name: "an error of the reader rejects the load, and the storage remains usable",
    async run(fixture) {
      const storage = await fixture.open();
      await storage.addSegments(1, [bytes(1)], "strict");
      const wrong = new Error("refused");
      const refuse = storage.load({
        onManifest: () => ({ parts: [], firstSegment: 1 }),
        onPart() {},
        onSegment() {
          throw wrong;
        },
      });
      equal(await refuse.catch((error) => error), wrong);
      equal((await loadAll(storage)).segments, [[1, [1]]]);
      await storage.close();
    },
  },
  {
    name: "after close every call rejects; closing again is allowed",
    async run(fixture) {
      const storage = await fixture.open();
      const last = storage.addSegments(1, [bytes(1)], "strict");
      await storage.close(); // waits for the pending call
      await last;
      await storage.close();
      const calls = [
        () => storage.claim(2, bytes(2)),
        () => storage.addSegments(2, [bytes(2)], "strict"),
        () => storage.putPart(1, bytes(1)),
        () => storage.commitManifest(bytes(1), { segmentsBelow: 1, obsoleteParts: [] }),
        () => storage.deleteParts([1]),
        () => storage.readParts([1], () => {}),
        () =>
          storage.load({
            onManifest: () => ({ parts: [], firstSegment: 1 }),
            onPart() {},
            onSegment() {},
          }),
      ];
      for (const call of calls) {
        const error = await rejected(call());
        equal([error.failure, error.code], ["closed", "StoreClosed"]);
      }
      const again = await fixture.open();
      equal((await loadAll(again)).segments, [[1, [1]]]);
      await again.close();
    },
  },
  {
    name: "loading reads no parts, and reports missing parts and those that no manifest names",
    async run(fixture) {
      const storage = await fixture.open();
      for (const id of [1, 2, 3, 7]) await storage.putPart(id, bytes(id));
      for (let i = 1; i <= 3; ++i) await storage.addSegments(i, [bytes(i)], "relaxed");
      const events: string[] = [];
      const orphans = await storage.load({
        onManifest: () => ({ parts: [1, 2, 3, 4], firstSegment: 1 }),
        onPart(id, contents) {
          events.push(`part ${id}: ${contents && [...contents]}`);
        },
        onSegment(sequence) {
          events.push(`segment ${sequence}`);
        },
      });
      equal(events, ["part 4: undefined", "segment 1", "segment 2", "segment 3"]);
      equal(orphans, [7]);
      await storage.close();
    },
  },
  {
    name: "parts are read on request, however many there are",
    async run(fixture) {
      const storage = await fixture.open();
      await loadAll(storage);
      const ids = Array.from({ length: 30 }, (_, i) => i + 1);
      for (const id of ids) await storage.putPart(id, bytes(id, id));
      const read: [number, number[] | undefined][] = [];
      const part = (id: number, contents: Uint8Array | undefined) => {
        read.push([id, contents && [...contents]]);
      };
      await storage.readParts([...ids].reverse(), part);
      equal(
        read,
        [...ids].reverse().map((id) => [id, [id, id]]),
      );
      read.length = 0;
      await storage.readParts([], part);
      await storage.readParts([31, 5], part);
      equal(
        read.sort((a, b) => a[0] - b[0]),
        [
          [5, [5, 5]],
          [31, undefined],
        ],
      );
      await storage.close();
    },
  },
  {
    name: "a part that another owner made obsolete is not missing: its reader is fenced",
    async run(fixture) {
      const before = await fixture.open();
      await loadAll(before);
      await before.claim(1, bytes(0xa));
      await before.putPart(1, bytes(1));
      await before.commitManifest(bytes(1), { segmentsBelow: 1, obsoleteParts: [] });
      const after = await fixture.open();
      await loadAll(after, [1], 1);
      await after.claim(2, bytes(0xb));
      await after.putPart(2, bytes(2));
      await after.commitManifest(bytes(2), { segmentsBelow: 3, obsoleteParts: [1] });
      const read: number[] = [];
      const error = await rejected(before.readParts([1], (id) => read.push(id)));
      equal([error.failure, read], ["fenced", []]);
      await after.readParts([2], (id) => read.push(id));
      equal(read, [2]);
      await before.close();
      await after.close();
    },
  },
  {
    name: "an error of a part's callback ends the reading, and the storage remains usable",
    async run(fixture) {
      const storage = await fixture.open();
      await storage.putPart(1, bytes(1));
      const failure = new StorageError("aborted", "thrown by the taker");
      const error = await rejected(
        storage.readParts([1], () => {
          throw failure;
        }),
      );
      equal(error === failure, true);
      await storage.addSegments(1, [bytes(1)], "strict");
      await storage.close();
    },
  },
  {
    name: "segments that were loaded or added are read again, and not those of another owner",
    async run(fixture) {
      const storage = await fixture.open();
      for (let i = 1; i <= 20; ++i) await storage.addSegments(i, [bytes(i)], "strict");
      await storage.close();
      const owner = await fixture.open();
      await loadAll(owner);
      await owner.claim(21, bytes(21));
      await owner.putPart(1, bytes(1));
      await owner.commitManifest(bytes(9), { segmentsBelow: 3, obsoleteParts: [] });
      const read: [number, number | undefined][] = [];
      await owner.readSegments(4, (sequence, there) => read.push([sequence, there?.[0]]) < 2);
      equal(read, [
        [4, 4],
        [5, 5],
      ]);
      const other = await fixture.open();
      await loadAll(other, [1], 3);
      await other.claim(22, bytes(22));
      read.length = 0;
      const failure = await owner
        .readSegments(3, (sequence, there) => read.push([sequence, there?.[0]]) < 30)
        .then(
          () => "none",
          (error: StorageError) => error.failure,
        );
      const ours = Array.from({ length: 19 }, (_, i) => [i + 3, i + 3]);
      equal([failure, read], failure === "fenced" ? [failure, []] : ["none", ours]);
      await other.commitManifest(bytes(10), { segmentsBelow: 23, obsoleteParts: [1] });
      read.length = 0;
      const again = owner.readSegments(4, (sequence) => read.push([sequence, 0]) < 30);
      equal((await rejected(again)).failure, "fenced");
      equal(read, []);
      await Promise.all([owner.close(), other.close()]);
      equal((await rejected(owner.readSegments(4, () => true))).failure, "closed");
    },
  },
  {
    name: "inspecting reads all files and does not disturb concurrent calls",
    async run(fixture) {
      const storage = await fixture.open();
      await storage.addSegments(1, [bytes(1)], "strict");
      await storage.putPart(1, bytes(1, 1));
      await storage.putPart(2, bytes(2, 2));
      await storage.commitManifest(bytes(9), { segmentsBelow: 1, obsoleteParts: [] });
      await loadAll(storage, [1]);
      const inspecting = loadAll(byInspecting(storage), [1]);
      const adding = storage.addSegments(2, [bytes(2)], "relaxed");
      const committing = storage.commitManifest(bytes(10), {
        segmentsBelow: 2,
        obsoleteParts: [1],
      });
      const inspected = await inspecting;
      equal(inspected.manifest?.length, 1);
      // the state from before or after the calls, but consistent
      const before = inspected.manifest?.[0] === 9;
      equal(inspected.parts, { 1: before ? [1, 1] : undefined });
      equal(inspected.orphans, [2]);
      if (before) equal(inspected.segments[0], [1, [1]]);
      await Promise.all([adding, committing]);
      await storage.putPart(3, bytes(3)); // readWhileInUse() does not change the ownership
      await storage.addSegments(3, [bytes(3)], "strict");
      const last = await loadAll(storage, [3], 2);
      equal(last.segments, [
        [2, [2]],
        [3, [3]],
      ]);
      equal(last.orphans, [2]);
      await storage.close();
      const error = await rejected(loadAll(byInspecting(storage)));
      equal(error.failure, "closed");
    },
  },
  {
    name: "a reserve grows and shrinks, stays when the log is opened again, and is no part of it",
    async run(fixture) {
      const storage = await fixture.open();
      if (storage.reserve === undefined) return;
      await loadAll(storage);
      equal(await storage.reserve.size(), 0);
      await storage.claim(1, bytes(1));
      equal(await storage.reserve.resize(3), 3);
      equal(await storage.reserve.resize(2), 2);
      await storage.reserve.remeasure?.();
      equal(await storage.reserve.size(), 2);
      await storage.close();
      const again = await fixture.open();
      const { manifest, segments, orphans } = await loadAll(again);
      equal([manifest, segments, orphans], [undefined, [[1, [1]]], []]);
      equal(await again.reserve?.resize(1), 1); // before the claim, for which there may be no space
      await again.claim(2, bytes(2));
      equal(await again.reserve?.size(), 1);
      await again.deleteLog();
    },
  },
  {
    name: "a stale owner changes no reserve",
    async run(fixture) {
      const stale = await fixture.open();
      if (stale.reserve === undefined) return;
      await loadAll(stale);
      await stale.claim(1, bytes(1));
      equal(await stale.reserve.resize(1), 1);
      const owner = await fixture.open();
      await loadAll(owner);
      await owner.claim(2, bytes(2));
      equal((await rejected(stale.reserve.resize(0))).failure, "fenced");
      equal((await rejected(stale.reserve.resize(2))).failure, "fenced");
      equal(await owner.reserve?.size(), 1);
      await stale.close();
      await owner.close();
    },
  },
  {
    name: "drop deletes everything and closes",
    async run(fixture) {
      const storage = await fixture.open();
      await storage.addSegments(1, [bytes(1)], "strict");
      await storage.putPart(1, bytes(1));
      await storage.commitManifest(bytes(1), { segmentsBelow: 1, obsoleteParts: [] });
      await storage.deleteLog();
      equal((await rejected(storage.putPart(2, bytes(2)))).failure, "closed");
      const again = await fixture.open();
      equal(await loadAll(again), { manifest: undefined, parts: {}, segments: [], orphans: [] });
      await again.close();
    },
  },
];

async function rejected(promise: Promise<unknown>): Promise<StorageError> {
  const error = await promise.then(
    () => new Error("it was expected to reject"),
    (reason: unknown) => reason,
  );
  if (error instanceof StorageError) return error;
  throw error;
}
