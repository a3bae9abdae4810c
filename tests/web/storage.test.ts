// Tests the storage contract in memory and on a simulated IndexedDB (tests/browser uses a real
// one). Also tests failures of IndexedDB: lost connections, a full disk, and deletion.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { forceCloseDatabase } from "fake-indexeddb";
import { IdbfsStorage } from "../../web/src/storage/idbfs.ts";
import {
  deleteDatabase,
  fileStoreName,
  listDatabaseStores,
  mountPoint,
} from "../../web/src/storage/idbfs-database.ts";
import { numberFromName, partName, segmentName } from "../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { IdbfsFixture, idbfsDatabase } from "./support/idbfs-fixture.ts";
import { loadAll, storageContract } from "./support/storage-contract.ts";

class SharedFixture extends IdbfsFixture {
  // Takes over as a later owner: claims the log, and writes a checkpoint with this manifest.
  async takeOver(manifest: number, firstSegment: number): Promise<IdbfsStorage> {
    const storage = await this.open();
    const { segments } = await loadAll(storage, [], firstSegment);
    const claim = (segments.at(-1)?.[0] ?? firstSegment - 1) + 1;
    await storage.claim(claim, Uint8Array.from([0xc]));
    const obsolete = { segmentsBelow: claim + 1, obsoleteParts: [] };
    await storage.commitManifest(Uint8Array.from([manifest]), obsolete);
    return storage;
  }
}

describe("memory keeps the storage contract", () => {
  for (const { name, run } of storageContract) {
    test(name, () => {
      const files = new Map<string, Uint8Array>();
      return run({ open: async () => new MemoryStorage(files) });
    });
  }

  test("without a map nothing is kept", async () => {
    const storage = new MemoryStorage();
    await storage.addSegments(1, [new Uint8Array(3)], "strict");
    assert.deepEqual((await loadAll(storage)).segments, []);
  });
});

test("idbfs writes parts without reading the manifest", async (t) => {
  const storage = await new IdbfsFixture().open();
  await loadAll(storage);
  await storage.claim(1, Uint8Array.from([1]));
  await storage.commitManifest(new Uint8Array(1000), { segmentsBelow: 2, obsoleteParts: [] });
  const reads = [
    t.mock.method(IDBObjectStore.prototype, "get"),
    t.mock.method(IDBObjectStore.prototype, "getAll"),
  ];
  for (let id = 1; id <= 200; ++id) await storage.putPart(id, Uint8Array.from([1]));
  assert.deepEqual(
    reads.map(({ mock }) => mock.callCount()),
    [0, 0],
  );
  await storage.close();
});

test("idbfs tells manifests apart that owners commit in the same millisecond", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 1000 });
  const fixture = new IdbfsFixture();
  const commit = (storage: IdbfsStorage, manifest: number, segmentsBelow: number) =>
    storage.commitManifest(Uint8Array.from([manifest]), { segmentsBelow, obsoleteParts: [] });
  const stale = await fixture.open();
  await loadAll(stale);
  await stale.claim(1, Uint8Array.from([1]));
  await commit(stale, 1, 2);
  const successor = await fixture.open();
  await loadAll(successor, [], 2);
  await successor.claim(2, Uint8Array.from([2]));
  await commit(successor, 2, 3);
  t.mock.timers.setTime(500); // another owner's clock may be behind
  await commit(successor, 3, 3);
  for (const call of [
    () => stale.putPart(1, Uint8Array.from([1])),
    () => commit(stale, 4, 2),
    () => stale.deleteParts([1]),
  ]) {
    await assert.rejects(call(), { failure: "fenced" });
  }
  await successor.putPart(1, Uint8Array.from([1]));
  await stale.close();
  await successor.close();
});

// In Chromium, a scratch database is created and deleted before the first write.
test("idbfs reads while the browser creates the database, and writes once it exists", async (t) => {
  t.mock.getter(globalThis.navigator, "userAgent", () => "Chrome/1");
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const factory = {
    open: (...args: Parameters<IDBFactory["open"]>) => indexedDB.open(...args),
    deleteDatabase(name: string) {
      const request = new EventTarget() as unknown as IDBOpenDBRequest;
      void begun.then(() => request.onsuccess?.(new Event("success")));
      assert.equal(name, "entitable-scratch");
      return request;
    },
  } as IDBFactory;
  const storage = await IdbfsStorage.open({ store: "new-log", factory, connect: idbfsDatabase });
  assert.deepEqual((await loadAll(storage)).segments, []);
  let claimed = false;
  const claiming = storage.claim(1, new Uint8Array(3)).then(() => {
    claimed = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(claimed, false);
  begin();
  await claiming;
  await storage.close();
});

// A full disk may have left half a record at the end of the log, which Chromium would append to.
describe("idbfs writes on a new connection only once Chromium has begun a new log", () => {
  // Counts the logs, and refuses or ignores requests for a new one.
  class Origin {
    connection: IDBDatabase | undefined; // the newest of the store
    logs = 0;
    isFull = false;
    ignored = 0; // how many of the next requests are never answered

    constructor(t: TestContext) {
      t.mock.getter(globalThis.navigator, "userAgent", () => "Chrome/1");
    }

    readonly factory = {
      open: (...args: Parameters<IDBFactory["open"]>) => this.#open(...args),
      deleteDatabase: (name: string) => {
        this.logs += 1;
        return indexedDB.deleteDatabase(name);
      },
    } as IDBFactory;

    #open(...args: Parameters<IDBFactory["open"]>): IDBOpenDBRequest {
      const isForLog = args[0] === "entitable-scratch";
      if (isForLog && this.isFull) throw new DOMException("FILE_ERROR_NO_SPACE", "UnknownError");
      if (isForLog && this.ignored-- > 0) return {} as IDBOpenDBRequest;
      const request = indexedDB.open(...args);
      request.addEventListener("success", () => {
        if (!isForLog) this.connection = request.result;
      });
      return request;
    }

    async storage(store: string): Promise<IdbfsStorage> {
      const connect = async (mount: string) => {
        this.connection = await idbfsDatabase(mount);
        return this.connection;
      };
      const storage = await IdbfsStorage.open({ store, factory: this.factory, connect });
      await loadAll(storage);
      return storage;
    }

    loseConnection(): void {
      this.connection?.onclose?.(new Event("close"));
    }
  }

  // The Cache API, as far as a probe of the disk uses it. A write fails, and leaves its entry.
  class ProbeCaches {
    readonly entries = new Set<string>();
    failure: string | undefined;
    bytes = 0; // of the last entry
    count = 0;
    #now = 0;

    constructor(t: TestContext) {
      t.mock.method(performance, "now", () => this.#now);
      const caches = { open: async () => this.#cache, delete: async () => true };
      Object.assign(globalThis, { caches });
      t.after(() => Reflect.deleteProperty(globalThis, "caches"));
    }

    // After this, a refused probe does not count any more.
    passTime(): void {
      this.#now += 1000;
    }

    readonly #cache = {
      put: async (url: string, response: Response) => {
        this.count += 1;
        this.entries.add(url);
        this.bytes = (await response.arrayBuffer()).byteLength;
        if (this.failure !== undefined) throw new DOMException("", this.failure);
      },
      delete: async (url: string) => this.entries.delete(url),
    };
  }

  const segment = (sequence: number) => [Uint8Array.of(sequence)];

  test("and rejects writes until then, but no reads", async (t) => {
    const origin = new Origin(t);
    const storage = await origin.storage("new-log-1");
    await storage.claim(1, Uint8Array.of(1));
    await storage.addSegments(2, segment(2), "relaxed");
    assert.equal(origin.logs, 1);
    origin.isFull = true;
    origin.loseConnection();
    await assert.rejects(storage.addSegments(3, segment(3), "relaxed"), { failure: "quota" });
    const read: number[] = [];
    await storage.readSegments(1, (sequence) => read.push(sequence) > 0);
    assert.deepEqual(read, [1, 2]);
    origin.isFull = false;
    await storage.addSegments(3, segment(3), "relaxed");
    await storage.addSegments(4, segment(4), "relaxed");
    assert.equal(origin.logs, 2);
    await storage.close();
  });

  test("and reports as unknown whether a write arrived on the connection before", async (t) => {
    for (const arrived of [false, true]) {
      const origin = new Origin(t);
      const storage = await origin.storage(`new-log-2-${arrived}`);
      await storage.claim(1, Uint8Array.of(1));
      origin.isFull = true;
      breakNextTransaction(origin.connection as IDBDatabase, arrived);
      const add = () => storage.addSegments(2, segment(2), "relaxed");
      await assert.rejects(add(), { failure: "unknown" });
      origin.isFull = false;
      await add();
      assert.deepEqual((await loadAll(storage)).segments.slice(1), [[2, [2]]]);
      await storage.close();
    }
  });

  test("and opens the database again only once the disk has space", async (t) => {
    const origin = new Origin(t);
    const probes = new ProbeCaches(t);
    const storage = await origin.storage("new-log-5");
    await storage.claim(1, Uint8Array.of(1));
    const opened = origin.connection;
    probes.failure = "UnknownError";
    origin.loseConnection();
    const full = { failure: "quota", message: /The disk may be full: UnknownError/ };
    await assert.rejects(storage.addSegments(2, segment(2), "relaxed"), full);
    const read: number[] = [];
    const readAll = () => storage.readSegments(1, (sequence) => read.push(sequence) > 0);
    await assert.rejects(readAll(), full);
    assert.deepEqual([origin.connection, origin.logs, probes.count], [opened, 1, 1]);
    probes.failure = undefined;
    await assert.rejects(readAll(), full);
    probes.passTime();
    await readAll();
    assert.deepEqual(read, [1]);
    await storage.addSegments(2, segment(2), "relaxed");
    assert.notEqual(origin.connection, opened);
    assert.deepEqual(probes.entries, new Set());
    assert(probes.bytes >= 8 * 1024 * 1024);
    await storage.close();
  });

  for (const failure of ["QuotaExceededError", "SecurityError"]) {
    test(`and opens the database again if the probe ends with ${failure}`, async (t) => {
      const origin = new Origin(t);
      const storage = await origin.storage(`new-log-6-${failure}`);
      await storage.claim(1, Uint8Array.of(1));
      new ProbeCaches(t).failure = failure;
      origin.loseConnection();
      await storage.addSegments(2, segment(2), "relaxed");
      await storage.close();
    });
  }

  test("and asks again if the browser does not respond", async (t) => {
    const origin = new Origin(t);
    const storage = await origin.storage("new-log-3");
    await storage.claim(1, Uint8Array.of(1));
    origin.ignored = 1;
    origin.loseConnection();
    await storage.addSegments(2, segment(2), "relaxed");
    assert.equal(origin.logs, 2);
    await storage.close();
  });

  test("and begins one again for the first write if that failed while the store opened", async (t) => {
    const origin = new Origin(t);
    origin.isFull = true;
    const storage = await origin.storage("new-log-4");
    await assert.rejects(storage.claim(1, Uint8Array.of(1)), { failure: "quota" });
    origin.isFull = false;
    await storage.claim(1, Uint8Array.of(1));
    assert.equal(origin.logs, 1);
    await storage.close();
  });
});

describe("idbfs keeps the storage contract", () => {
  for (const { name, run } of storageContract) test(name, () => run(new SharedFixture()));
});

describe("idbfs", () => {
  const bytes = Uint8Array.from([1, 2, 3]);

  test("stores entries as IDBFS does", async () => {
    const place = new SharedFixture();
    const storage = await place.open();
    await storage.claim(25, bytes);
    await storage.addSegments(26, [bytes], "strict");
    await storage.putPart(27, bytes);
    await storage.commitManifest(bytes, { segmentsBelow: 0, obsoleteParts: [] });
    await storage.close();
    const entries = await place.entries();
    const folder = `/entitable/${place.store}`;
    assert.deepEqual([...entries.keys()].sort(), [
      `${folder}/manifest`,
      `${folder}/part-000000000000001b`,
      `${folder}/wal-0000000000000000`, // not a segment: the fence post of idbfs.ts
      `${folder}/wal-0000000000000019`,
      `${folder}/wal-000000000000001a`,
    ]);
    for (const [name, entry] of entries) {
      assert.deepEqual(Object.keys(entry).sort(), ["contents", "mode", "timestamp"]);
      assert.equal(entry.mode, name.endsWith("19") ? 0o101644 : 0o100644);
      assert(entry.timestamp instanceof Date);
      assert(entry.contents instanceof Uint8Array);
      const size = name.endsWith("wal-0000000000000000") ? 0 : 3;
      assert.equal(entry.contents.buffer.byteLength, size, "an exact copy, not a view");
    }
  });

  test("other files of the folder, and entries without bytes, are ignored", async () => {
    const place = new SharedFixture();
    const storage = await place.open();
    await storage.addSegments(1, [bytes], "strict");
    await storage.addSegments(2, [bytes], "strict");
    await storage.putPart(1, bytes);
    await storage.putPart(2, bytes);
    const database = await idbfsDatabase(mountPoint(place.store));
    const writing = database.transaction(fileStoreName, "readwrite");
    const folder = `/entitable/${place.store}`;
    const files = writing.objectStore(fileStoreName);
    files.put(
      { timestamp: new Date(), mode: 33188, contents: bytes },
      `${folder}/wal-000000000000001x`,
    );
    files.put({ timestamp: new Date(), mode: 33188, contents: bytes }, `${folder}/notes.txt`);
    files.put({ timestamp: new Date(), mode: 16877 }, `${folder}/${segmentName(2)}`);
    files.put({ timestamp: new Date(), mode: 16877 }, `${folder}/${partName(2)}`);
    files.put({ timestamp: new Date(), mode: 16877 }, `${folder}/manifest`);
    await new Promise((done) => {
      writing.oncomplete = done;
    });
    database.close();
    const loaded = await loadAll(storage, [1, 2]);
    assert.deepEqual(loaded.segments, [
      [1, [1, 2, 3]],
      [2, undefined],
    ]);
    assert.deepEqual(loaded.parts, { 1: [1, 2, 3], 2: undefined });
    assert.deepEqual(
      loaded.manifest,
      [],
      "not a file, but not absent either: damage, not a new store",
    );
    await storage.close();
  });

  test("a lost connection is reopened, and the write continues", async () => {
    const place = new SharedFixture();
    const storage = await place.open();
    await storage.addSegments(1, [bytes], "strict");
    forceCloseDatabase(place.databases[0] as never);
    await storage.addSegments(2, [bytes], "strict");
    assert.equal(place.reopened, 1);
    assert.deepEqual((await loadAll(storage)).segments, [
      [1, [1, 2, 3]],
      [2, [1, 2, 3]],
    ]);
    await storage.close();
  });

  test("a connection lost during a write: the segment is stored once", async () => {
    for (const arrived of [false, true]) {
      const place = new SharedFixture();
      const storage = await place.open();
      const database = place.databases[0] as IDBDatabase;
      breakNextTransaction(database, arrived);
      await storage.addSegments(1, [bytes, bytes.slice(1)], "strict");
      assert.equal(place.reopened, 1);
      assert.deepEqual((await loadAll(storage)).segments, [
        [1, [1, 2, 3]],
        [2, [2, 3]],
      ]);
      await storage.close();
    }
  });

  test("a connection lost during a write that close() waits for: the write succeeds", async () => {
    for (const arrived of [false, true]) {
      const place = new SharedFixture();
      const storage = await place.open();
      breakNextTransaction(place.databases[0] as IDBDatabase, arrived);
      const adding = storage.addSegments(1, [bytes], "strict");
      const closed = storage.close();
      await adding;
      await closed;
      await assert.rejects(storage.addSegments(2, [bytes], "strict"), { failure: "closed" });
      const again = await place.open();
      assert.deepEqual((await loadAll(again)).segments, [[1, [1, 2, 3]]]);
      await again.close();
    }
  });

  test("a connection lost during a claim: it is made, or is fenced", async () => {
    for (const arrived of [false, true]) {
      const place = new SharedFixture();
      const storage = await place.open();
      await loadAll(storage);
      breakNextTransaction(place.databases[0] as IDBDatabase, arrived);
      const claiming = storage.claim(1, bytes);
      if (arrived) {
        await assert.rejects(claiming, { failure: "fenced" });
        assert.deepEqual((await loadAll(storage)).segments, [[1, [1, 2, 3]]]);
        await storage.claim(2, bytes);
      } else {
        await claiming;
      }
      await storage.close();
    }
  });

  test("a log that is loaded again is claimed again", async () => {
    const place = new SharedFixture();
    const storage = await place.open();
    for (const sequence of [1, 2]) {
      await loadAll(storage);
      await storage.claim(sequence, bytes);
    }
    await storage.close();
    const modes = [...(await place.entries()).values()].map(({ mode }) => mode);
    assert.deepEqual(modes, [0o101644, 0o101644]);
  });

  test("a connection that closes without ending its transactions", async () => {
    const place = new SharedFixture();
    const storage = await place.open();
    const database = place.databases[0] as IDBDatabase;
    onNextTransaction(database, (tx) => {
      for (const name of ["oncomplete", "onabort"]) Object.defineProperty(tx, name, { set() {} });
      setTimeout(() => forceCloseDatabase(database as never), 5);
    });
    await storage.addSegments(1, [bytes], "strict");
    assert.deepEqual((await loadAll(storage)).segments, [[1, [1, 2, 3]]]);
    await storage.close();
  });

  test("a connection that cannot be reopened: unknown until repeated", async () => {
    const calls: ((storage: IdbfsStorage) => Promise<void>)[] = [
      (storage) => storage.addSegments(1, [bytes], "strict"),
      (storage) => storage.commitManifest(bytes, { segmentsBelow: 0, obsoleteParts: [] }),
    ];
    const real = indexedDB.open;
    const ends = calls.flatMap((call) =>
      [true, false].map(async (arrived) => {
        const place = new SharedFixture();
        const storage = await place.open();
        breakNextTransaction(place.databases[0] as IDBDatabase, arrived);
        const first = call(storage);
        first.catch(() => {}); // checked below
        return { storage, call, first };
      }),
    );
    const places = await Promise.all(ends);
    indexedDB.open = () => {
      throw new DOMException("disk", "UnknownError");
    };
    try {
      for (const { first } of places)
        await assert.rejects(first, { failure: "unknown", isFatal: false });
      const [segment] = places;
      await assert.rejects(segment?.call(segment.storage) as Promise<void>, { failure: "unknown" });
      const other = segment?.storage.putPart(1, bytes) as Promise<void>;
      await assert.rejects(other, { failure: "aborted" }, "this one surely did not arrive");
    } finally {
      indexedDB.open = real;
    }
    for (const { storage, call } of places) {
      await call(storage);
      const { segments, manifest } = await loadAll(storage);
      assert.deepEqual(segments[0]?.[1] ?? manifest, [1, 2, 3]);
      await storage.close();
    }
  });

  test("a connection lost while another owner uses the number: fenced", async () => {
    const place = new SharedFixture();
    const storage = await place.open();
    const other = await place.open();
    breakNextTransaction(place.databases[0] as IDBDatabase, false);
    await other.addSegments(1, [Uint8Array.from([9])], "strict");
    await assert.rejects(storage.addSegments(1, [bytes], "strict"), { failure: "fenced" });
    await storage.close();
    await other.close();
  });

  test("a connection lost during a takeover and checkpoint: unknown", async () => {
    const calls: ((storage: IdbfsStorage) => Promise<void>)[] = [
      (storage) => storage.addSegments(2, [bytes], "strict"),
      (storage) => storage.commitManifest(bytes, { segmentsBelow: 0, obsoleteParts: [] }),
    ];
    const real = indexedDB.open;
    for (const call of calls) {
      const place = new SharedFixture();
      const storage = await place.open();
      await storage.claim(1, bytes);
      const other = await place.open();
      breakNextTransaction(place.databases[0] as IDBDatabase, true);
      indexedDB.open = () => {
        throw new DOMException("not yet", "UnknownError");
      };
      const called = assert.rejects(call(storage), { failure: "unknown" });
      const { segments } = await loadAll(other);
      await other.claim(segments.length + 1, Uint8Array.from([9]));
      await other.commitManifest(Uint8Array.from([9]), {
        segmentsBelow: segments.length + 2,
        obsoleteParts: [],
      });
      indexedDB.open = real;
      await called;
      await assert.rejects(call(storage), { failure: "fenced" });
      await storage.close();
      await other.close();
    }
  });

  describe("a previous owner", () => {
    // Resolves to whether the previous owner is fenced `ms` later, after this many other owners
    // have taken over.
    async function isFenced(others: number, ms: number, written: number): Promise<boolean> {
      const place = new SharedFixture();
      const before = await place.open();
      await loadAll(before);
      await before.claim(1, bytes);
      for (let i = 0; i < written; ++i) await before.addSegments(2 + i, [bytes], "relaxed");
      const next = 2 + written;
      for (let i = 0; i < others; ++i) {
        const other = await place.takeOver(i, i === 0 ? 1 : next + i);
        await other.close();
      }
      place.now = ms;
      const added = before.addSegments(next, [Uint8Array.from([0xbb])], "strict");
      const failure = await added.then(
        () => undefined,
        (error) => error.failure,
      );
      await before.close();
      for (const { contents } of (await place.entries()).values()) {
        assert.notDeepEqual(contents, Uint8Array.from([0xbb]));
      }
      return failure === "fenced";
    }

    test("is fenced by the claim of the next owner, which checkpoints keep", async () => {
      for (const others of [1, 2, 8]) {
        for (const written of [0, 1, 3]) assert.equal(await isFenced(others, 999, written), true);
      }
    });

    test("checks for claims when it may have slept, however many owners there were", async () => {
      for (const others of [1, 8, 9, 12]) {
        for (const written of [0, 1, 3]) assert.equal(await isFenced(others, 1000, written), true);
      }
    });
  });

  test("is fenced by the last claims, which are all that checkpoints keep", async () => {
    const place = new SharedFixture();
    const first = await place.open();
    await loadAll(first);
    // There was no space for a claim, so this segment claims the log.
    await first.addSegments(1, [bytes], "strict");
    await first.addSegments(2, [bytes], "strict");
    await first.close();
    const left: string[][] = [];
    for (let i = 0; i < 9; ++i) {
      const storage = await place.takeOver(i, i === 0 ? 1 : 3 + 2 * i - 1);
      await storage.addSegments(4 + 2 * i, [bytes], "relaxed");
      await storage.close();
      const names = [...(await place.entries()).keys()].filter((name) => name.includes("wal-"));
      left.push(names.map((name) => name.slice(-2)));
    }
    assert.deepEqual(left[0], ["00", "03", "04"], "the very first may stay");
    assert.deepEqual(left[6], ["00", "03", "05", "07", "09", "0b", "0d", "0f", "10"]);
    assert.deepEqual(left[7], ["00", "03", "05", "07", "09", "0b", "0d", "0f", "11", "12"]);
    assert.deepEqual(left[8], ["00", "05", "07", "09", "0b", "0d", "0f", "11", "13", "14"]);
  });

  test("a segment checks the log first after a second, or on a new connection", async (t) => {
    const place = new SharedFixture();
    const storage = await place.open();
    await loadAll(storage);
    await storage.claim(1, bytes);
    const { prototype } = IDBObjectStore;
    const looks = [t.mock.method(prototype, "getKey"), t.mock.method(prototype, "get")];
    let sequence = 1;
    const lookedAfter = async (ms: number) => {
      const before = looks.map(({ mock }) => mock.callCount());
      place.now += ms;
      sequence += 1;
      await storage.addSegments(sequence, [bytes], "relaxed");
      return looks.some(({ mock }, i) => mock.callCount() > (before[i] as number));
    };
    assert.equal(await lookedAfter(999), false);
    assert.equal(await lookedAfter(999), false);
    assert.equal(await lookedAfter(1000), true);
    assert.equal(await lookedAfter(0), false);
    forceCloseDatabase(place.databases[0] as never);
    assert.equal(await lookedAfter(0), true);
    assert.equal(await lookedAfter(0), false);
    await storage.close();
  });

  test("a full disk is reported as quota, and a later write may succeed", async () => {
    const place = new SharedFixture();
    const storage = await place.open();
    const database = place.databases[0] as IDBDatabase;
    abortNextTransaction(database, new DOMException("full", "QuotaExceededError"));
    const failure = { failure: "quota", code: "QuotaExceeded", isFatal: false };
    await assert.rejects(storage.addSegments(1, [bytes], "strict"), failure);
    assert.deepEqual((await loadAll(storage)).segments, []);
    await storage.addSegments(1, [bytes], "strict");
    abortNextTransaction(database, new DOMException("Failed to write blobs", "DataError"));
    await assert.rejects(storage.putPart(1, bytes), failure);
    abortNextTransaction(database, new DOMException("FILE_ERROR_NO_SPACE", "UnknownError"));
    await assert.rejects(storage.putPart(1, bytes), failure);
    abortNextTransaction(database, new DOMException("disk", "UnknownError"));
    await assert.rejects(storage.putPart(1, bytes), { failure: "aborted", code: "ConnectionLost" });
    assert.deepEqual((await loadAll(storage)).orphans, []);
    await storage.close();
  });

  test("a full disk is reported as quota, even if it ends a transaction early", async () => {
    const calls: ((storage: IdbfsStorage) => Promise<void>)[] = [
      (storage) => storage.claim(1, bytes),
      (storage) => storage.putPart(1, bytes),
      (storage) => storage.commitManifest(bytes, { segmentsBelow: 0, obsoleteParts: [] }),
    ];
    for (const call of calls) {
      const place = new SharedFixture();
      const storage = await place.open();
      await loadAll(storage);
      onNextTransaction(place.databases[0] as IDBDatabase, (tx) => {
        Object.defineProperty(tx, "error", {
          get: () => new DOMException("full", "QuotaExceededError"),
        });
        queueMicrotask(() => tx.abort());
      });
      await assert.rejects(call(storage), { failure: "quota" });
      assert.equal(place.reopened, 0);
      await call(storage);
      await storage.close();
    }
  });

  test("a deleted database is not created again as an empty one", async () => {
    const place = new SharedFixture();
    const storage = await place.open();
    await storage.addSegments(1, [bytes], "strict");
    // The browser closes the connection because the database is deleted.
    await deleteDatabase(indexedDB, mountPoint(place.store), 1000);
    const gone = { failure: "gone", code: "ConnectionLost", isFatal: true };
    await assert.rejects(storage.addSegments(2, [bytes], "strict"), gone);
    await assert.rejects(storage.addSegments(2, [bytes], "strict"), gone);
    assert(!(await listDatabaseStores(indexedDB)).includes(place.store));
    await storage.close();
  });

  test("deleting waits for an open connection, then rejects with StoreLocked", async () => {
    const place = new SharedFixture();
    const stubborn = await idbfsDatabase(mountPoint(place.store));
    await assert.rejects(deleteDatabase(indexedDB, mountPoint(place.store), 50), {
      code: "StoreLocked",
    });
    stubborn.close();
  });

  test("databases of other programs are not listed", async () => {
    const place = new SharedFixture();
    (await idbfsDatabase("/another/database")).close();
    await (await place.open()).close();
    const names = await listDatabaseStores(indexedDB);
    assert(names.includes(place.store));
    assert(names.every((name) => !name.includes("/")));
  });
});

describe("names of entries", () => {
  test("are decoded as they were encoded", () => {
    for (const n of [0, 1, 255, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
      assert.equal(numberFromName("wal-", segmentName(n)), n);
      assert.equal(numberFromName("part-", partName(n)), n);
    }
  });
  test("reject other names", () => {
    for (const name of [
      "manifest",
      "wal-1",
      "wal-000000000000000G",
      "wal-00000000000000001",
      "wal-000000000000000A",
      "part-0000000000000001",
      "wal-ffffffffffffffff", // more than a number can represent exactly
    ]) {
      assert.equal(numberFromName("wal-", name), undefined, name);
    }
  });
});

// ---- Faults -------------------------------------------------------------------------------------

function onNextTransaction(database: IDBDatabase, act: (tx: IDBTransaction) => void): void {
  const real = database.transaction;
  database.transaction = (...args: Parameters<IDBDatabase["transaction"]>) => {
    database.transaction = real;
    const tx = real.apply(database, args);
    act(tx);
    return tx;
  };
}

// Simulates a browser that closes the connection during the next transaction. The transaction
// reports an abort, although it took effect if `arrives` is true.
function breakNextTransaction(database: IDBDatabase, arrives: boolean): void {
  onNextTransaction(database, (tx) => {
    if (arrives) {
      let handler: (() => void) | null = null;
      Object.defineProperty(tx, "onabort", {
        set: (value) => (handler = value),
        get: () => handler,
      });
      Object.defineProperty(tx, "oncomplete", { set() {}, get: () => null });
      tx.addEventListener("complete", () => {
        database.close();
        handler?.();
      });
    } else {
      tx.commit = () => {
        tx.abort(); // the transaction's error is null, as in browsers
        database.close();
      };
    }
  });
}

// Simulates a full disk: the requests succeed, and the transaction aborts at its end.
function abortNextTransaction(database: IDBDatabase, error: DOMException): void {
  onNextTransaction(database, (tx) => {
    tx.commit = () => {
      tx.abort();
    };
    Object.defineProperty(tx, "error", { get: () => error });
  });
}
