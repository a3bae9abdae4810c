// Tests that large buffers are freed as soon as nothing needs them. Otherwise they stay in memory
// until the garbage collector runs, which waits for tens of megabytes.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ResponseDecoder } from "../../web/src/client/rpc-codec.ts";
import { SegmentWriter, type StoringOutcome } from "../../web/src/host/segment-writer.ts";
import { SpaceReserve } from "../../web/src/host/space-reserve.ts";
import type { IdbfsEntries } from "../../web/src/storage/idbfs-entries.ts";
import { readSegments } from "../../web/src/storage/idbfs-log-reader.ts";
import {
  StorageError,
  type StorageFailure,
  segmentName,
} from "../../web/src/storage/log-storage.ts";
import { addReserveEntries } from "../../web/src/storage/storage-reserve.ts";
import { assertLoaded } from "./support/assert-loaded.ts";
import { encodeQuery } from "./support/copied-messages.ts";
import { RpcStore, table } from "./support/rpc-store.ts";

describe("segments are freed", () => {
  const failures: (StorageFailure | undefined)[] = [];
  const segments = [new Uint8Array(10_000).fill(1), new Uint8Array(20_000).fill(2)];
  const lengths = () => segments.map(({ length }) => length);
  const stored: number[][] = [];
  const writer = new SegmentWriter({
    engine: {
      seal: () => ({ sequence: 1, segments }),
      markStored() {},
      publish() {},
      discard() {},
    },
    storage: {
      async addSegments(_sequence, added) {
        const failure = failures.shift();
        if (failure !== undefined) throw new StorageError(failure, "injected");
        stored.push(added.map((bytes) => bytes.reduce((sum, byte) => sum + byte, 0)));
      },
    },
    space: new SpaceReserve({ reserve: undefined, size: () => ({ rows: 0, log: 0 }) }),
  });
  const outcomeOf = (start: (onEnded: (outcome: StoringOutcome) => void) => void) =>
    new Promise<StoringOutcome>(start);

  test("not while they may have to be stored again", async () => {
    failures.push("unknown");
    const outcome = await outcomeOf((onEnded) =>
      writer.sealAndStore("published", "relaxed", false, onEnded),
    );
    assert.equal(outcome.stored, false);
    assert.deepEqual(lengths(), [10_000, 20_000]);
  });

  test("when they are stored", async () => {
    const outcome = await outcomeOf((onEnded) => writer.retryUnsettled(onEnded));
    assert.deepEqual(outcome, { stored: true, size: { segments: 2, bytes: 30_000 } });
    assert.deepEqual(stored, [[10_000, 40_000]]);
    assert.deepEqual(lengths(), [0, 0]);
  });
});

describe("the bytes of entries of a reserve are freed", () => {
  async function addTwo(failure?: StorageFailure): Promise<Uint8Array[]> {
    const added: Uint8Array[] = [];
    const adding = addReserveEntries(1, 3, async (_entry, bytes) => {
      added.push(bytes);
      if (failure !== undefined) throw new StorageError(failure, "injected");
    });
    await adding.catch((error: unknown) => assert.equal((error as StorageError).failure, failure));
    return added;
  }

  for (const failure of [undefined, "quota", "aborted"] as const) {
    test(
      failure === undefined ? "once they are stored" : `after the error "${failure}"`,
      async () => {
        const added = await addTwo(failure);
        assert(added.length > 0);
        for (const { length } of added) assert.equal(length, 0);
      },
    );
  }
});

test("a response with a page of its own is freed when it is decoded", async () => {
  const store = await RpcStore.open();
  const bytes = (i: number) => new Uint8Array(500).fill(i);
  for (let i = 0; i < 20; ++i) store.insert({ b: bytes(i) }, "p", `${100 + i}`);
  const response = assertLoaded(store.engine.read(encodeQuery(table, {}))).slice();
  assert(response.length > 10_000);
  const { rows } = new ResponseDecoder().page(response);
  assert.equal(response.length, 0);
  assert.deepEqual(
    rows.map(({ b }) => new Uint8Array(b as Uint8Array)),
    Array.from({ length: 20 }, (_, i) => bytes(i)),
  );
});

test("few segments of a log are in memory at a time", async () => {
  const segmentBytes = 65_000;
  const reads: number[] = [];
  const names = Array.from({ length: 500 }, (_, i) => segmentName(i + 1));
  const entries: Pick<IdbfsEntries, "read"> = {
    async read(_files, [from], count) {
      reads.push(count);
      const there = names.filter((name) => from <= name).slice(0, count);
      return there.map((name) => [name, { contents: new Uint8Array(segmentBytes) }]);
    },
  };
  let segments = 0;
  const pass = () => ++segments > 0;
  const noFiles = {} as IDBObjectStore; // only passed on
  await readSegments(entries as IdbfsEntries, noFiles, { first: 1 }, pass);
  assert.equal(segments, 500);
  assert(Math.max(...reads) * segmentBytes <= 2 * 1024 * 1024, `${reads}`);
});
