// Tests how whole partitions are read: what is applied in one commit, what is only marked, and when
// a reading is repeated. The last test checks that these tests run every branch.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SyncRules } from "../../web/src/sync/context.ts";
import type { RemoteRow } from "../../web/src/sync/hidden-tables.ts";
import { type Key, type KeyRange, receiptKey } from "../../web/src/sync/keys.ts";
import { markKey } from "../../web/src/sync/marks.ts";
import { plainReading } from "../../web/src/sync/plain-reading.ts";
import type { RemoteTraits, ScanAnswer, ScanRequest } from "../../web/src/sync/remote.ts";
import { updateScanState } from "../../web/src/sync/scan-state.ts";
import { Coverage } from "./coverage.ts";
import { fill, key, properties, remoteRow, type Scripted, scripted } from "./scripted.ts";

const coverage = new Coverage();
await coverage.start();
const { consistentReading } = await import("../../web/src/sync/consistent-reading.ts");

const keeps = () => true;
const everything = { from: "" };
const cosmos: RemoteTraits = { hasTimestampFilter: false, isSorted: false, staleReadMs: 0 };

interface Options {
  readonly limits?: { readonly rows: number; readonly bytes: number };
  readonly traits?: RemoteTraits;
  readonly isDownloaded?: boolean;
  readonly rules?: Partial<SyncRules>;
}

/** A store that has what the remote has: rows a to d of the partitions p and q. */
class World {
  readonly scripted: Scripted;
  readonly reading: ReturnType<typeof consistentReading>;
  readonly scans: ScanRequest[] = [];
  readonly reads: Key[] = [];

  constructor(world: Scripted, { limits, traits, isDownloaded = true }: Options) {
    this.scripted = world;
    this.reading = limits
      ? consistentReading(plainReading, limits)
      : consistentReading(plainReading);
    const { remote, store } = world;
    if (traits) remote.traits = traits;
    fill(world, ["a", "b", "c", "d"]);
    if (isDownloaded)
      store.transact((draft) => updateScanState(draft, everything, { watermark: 1n }));
    const { read, scan } = remote;
    remote.scan = (request) => {
      this.scans.push(request);
      return scan(request);
    };
    remote.read = (of) => {
      this.reads.push(of);
      return read(of);
    };
  }

  static async open(options: Options = {}): Promise<World> {
    return new World(await scripted(options.rules), options);
  }

  get view() {
    return this.scripted.store.view;
  }

  get marks(): readonly string[] {
    return this.scripted.store.keys("marks");
  }

  /** The ETags that the store has. */
  etags(...names: readonly string[]): (string | undefined)[] {
    return names.map((name) => this.view.get("rows", key(name))?.version?.etag);
  }

  write(...names: readonly string[]): void {
    for (const name of names) this.scripted.remote.rows.set(key(name), remoteRow(1, `new ${name}`));
  }

  mark(...keys: readonly Key[]): void {
    this.scripted.store.transact((draft) => {
      for (const of of keys) markKey(draft, of);
    });
  }

  /** A local write that waits. */
  dirty(name: string): void {
    this.scripted.store.transact((draft) => {
      const row = { properties: properties(0), etag: name, timestamp: 1n };
      draft.put("bases", key(name), { kind: "row", row });
      draft.put("rows", key(name), { properties: properties(5), version: undefined });
    });
  }

  /** Changes the page of each scan. */
  onScan(change: (page: ScanAnswer & { kind: "page" }, count: number) => ScanAnswer): void {
    const { remote } = this.scripted;
    const { scan } = remote;
    let count = 0;
    remote.scan = async (request) => {
      const page = await scan(request);
      count += 1;
      return page.kind === "page" ? change(page, count) : page;
    };
  }

  async ended<T>(work: Promise<T>): Promise<T> {
    const { scheduler } = this.scripted;
    let isDone = false;
    const end = () => {
      isDone = true;
    };
    work.then(end, end);
    for (let turn = 0; turn < 100 && !isDone; ++turn) {
      scheduler.after(0, () => {});
      await scheduler.run(scheduler.now + 100);
    }
    assert(isDone, "it has not ended");
    return await work;
  }

  readMarked(): Promise<boolean> {
    const { context, requests } = this.scripted;
    return this.ended(this.reading.readMarked(context, requests));
  }

  readPartition(partition = "p"): Promise<boolean> {
    const { context, requests } = this.scripted;
    return this.ended(this.reading.readPartition(context, requests, partition));
  }

  /** Applies a page of a scan by Timestamp. */
  page(
    rows: readonly (readonly [Key, RemoteRow])[],
    { next, ...asked }: Partial<ScanRequest> & { next?: string; sentAt?: number } = {},
  ): void {
    const { store } = this.scripted;
    const request = { range: everything, since: 1n, keysOnly: false, isFiltered: false, ...asked };
    store.transact((draft) => {
      const scanned = rows.map(([of, row]) => ({ key: of, row }));
      const sentAt = asked.sentAt ?? store.commit;
      this.reading.applyPage(draft, scanned, sentAt, keeps, request, next);
    });
  }
}

const rowsOf = (...names: readonly string[]): [Key, RemoteRow][] =>
  names.map((name) => [key(name), remoteRow(1, `new ${name}`)]);

const inQ = (name: string): [Key, RemoteRow] => [key(name, "q"), remoteRow(1, `new ${name}`)];

describe("a page of a scan by Timestamp", () => {
  test("is applied where it has all that has changed in a partition", async () => {
    const world = await World.open();
    world.page([...rowsOf("a", "b"), inQ("a")]);
    assert.deepEqual(world.etags("a", "b"), ["new a", "new b"]);
    assert.deepEqual(world.marks, []);
  });

  test("brings only marks of its first partition if it continues another page", async () => {
    const world = await World.open();
    world.page([...rowsOf("a"), inQ("a")], { token: "1" });
    assert.deepEqual(world.marks, [key("a")]);
    assert.deepEqual(world.etags("a"), ["a"]);
    assert(world.view.get("rows", key("a", "q")));
  });

  test("brings only marks of its last partition if another page follows", async () => {
    const world = await World.open();
    world.page([...rowsOf("a"), inQ("a")], { next: "1" });
    assert.deepEqual(world.marks, [key("a", "q")]);
    assert.deepEqual(world.etags("a"), ["new a"]);
  });

  test("brings only marks of a partition that its key range cuts", async () => {
    const cuts: KeyRange[] = [{ from: key("a") }, { from: "", to: key("c") }];
    for (const range of cuts) {
      const world = await World.open();
      world.page(rowsOf("a", "b"), { range });
      assert.deepEqual(world.marks, [key("a"), key("b")]);
    }
    const world = await World.open();
    world.page(rowsOf("a"), { range: { from: "", to: "q" } });
    assert.deepEqual(world.marks, []);
  });

  test("of the first download is applied as it comes", async () => {
    const world = await World.open();
    world.page(rowsOf("a"), { since: undefined, next: "1" });
    assert.deepEqual(world.etags("a"), ["new a"]);
  });

  test("has no receipts", async () => {
    const world = await World.open();
    world.page([[receiptKey("p", "c"), remoteRow(1, "r")], ...rowsOf("a")]);
    assert.deepEqual(world.marks, []);
    assert.equal(world.view.get("rows", receiptKey("p", "c")), undefined);
  });

  test("is not applied in part: a key was changed since it was asked for", async () => {
    const world = await World.open();
    const sentAt = world.scripted.store.commit;
    world.page(rowsOf("b"));
    const newer: [Key, RemoteRow] = [key("b"), remoteRow(2, "newer b")];
    world.page([...rowsOf("a"), newer, inQ("a")], { sentAt });
    assert.deepEqual(world.marks, [key("a"), key("b")]);
    assert.deepEqual(world.etags("a", "b"), ["a", "new b"]);
    assert(world.view.get("rows", key("a", "q")));
  });

  test("is not applied while another key is marked", async () => {
    const world = await World.open();
    world.mark(key("d"), key("d", "q"));
    world.page(rowsOf("a"));
    assert.deepEqual(world.marks, [key("a"), key("d"), key("d", "q")]);
    world.page(rowsOf("a", "d"));
    assert.deepEqual(world.etags("a", "d"), ["new a", "new d"]);
    assert.deepEqual(world.marks, [key("d", "q")]);
  });

  test("does not wait for keys that are dirty", async () => {
    const world = await World.open();
    world.dirty("b");
    world.dirty("d");
    world.mark(key("d"));
    world.page(rowsOf("a", "b"));
    assert.deepEqual(world.etags("a"), ["new a"]);
    assert.deepEqual(world.marks, [key("b"), key("d")]);
  });
});

describe("a partition with marked keys", () => {
  test("is read by one page if it has all of them", async () => {
    const world = await World.open();
    world.write("a", "b");
    world.mark(key("a"));
    assert.equal(await world.readMarked(), true);
    assert.deepEqual(world.etags("a", "b", "c"), ["new a", "new b", "c"]);
    assert.deepEqual(world.marks, []);
    const range = { from: "p\0", to: "p\u0001" };
    assert.deepEqual(
      world.scans.map((request) => [request.range, typeof request.since]),
      [[range, "bigint"]],
    );
    assert.deepEqual(world.reads, []);
  });

  test("is read twice if a key is read by itself", async () => {
    const world = await World.open();
    world.write("a");
    world.scripted.remote.rows.delete(key("b"));
    world.mark(key("a"), key("b"));
    assert.equal(await world.readMarked(), true);
    assert.deepEqual(world.etags("a", "b"), ["new a", undefined]);
    assert.equal(world.scans.length, 2);
    assert.deepEqual(world.reads, [key("b")]);
  });

  test("is read again until two readings are the same", async () => {
    const world = await World.open();
    world.mark(key("a"));
    world.onScan((page, count) => {
      // Two pages, of which the second changes between the first two readings.
      const rows = page.rows.filter(({ key: of }) => of < key("c") === (count % 2 === 1));
      if (count === 2) world.write("a", "d");
      return { ...page, rows, token: count % 2 === 1 ? "1" : undefined };
    });
    assert.equal(await world.readMarked(), true);
    assert.equal(world.scans.length, 8);
    assert.deepEqual(world.etags("a", "d"), ["new a", "new d"]);
  });

  test("waits for the next poll if it is written all the time", async () => {
    const world = await World.open();
    world.mark(key("a"));
    let version = 0;
    world.onScan((page, count) => {
      version += 1;
      world.scripted.remote.rows.set(key("b"), remoteRow(version, `${version}`));
      return { ...page, token: count % 2 === 1 ? "1" : undefined };
    });
    assert.equal(await world.readMarked(), false);
    assert.equal(world.scans.length, 5 * 4);
    assert.deepEqual(world.marks, [key("a")]);
  });

  test("is read again if a key is changed here meanwhile", async () => {
    const world = await World.open();
    const touched = { properties: properties(3), version: { etag: "3", timestamp: 1n } };
    world.write("a", "b");
    world.mark(key("a"));
    world.onScan((page, count) => {
      if (count === 1)
        world.scripted.store.transact((draft) => draft.put("rows", key("b"), touched));
      return page;
    });
    assert.equal(await world.readMarked(), true);
    assert.equal(world.scans.length, 2);
    assert.deepEqual(world.etags("a", "b"), ["new a", "new b"]);
  });

  test("does not wait for a key that the credential does not show", async () => {
    const world = await World.open();
    const { remote } = world.scripted;
    remote.isForbidden = (of) => of === key("b");
    world.write("a");
    world.mark(key("a"), key("b"));
    assert.equal(await world.readMarked(), true);
    assert.deepEqual(world.etags("a", "b"), ["new a", "b"]);
    assert.deepEqual(world.marks, [key("b")]);
  });

  test("does not wait for a key that could not be read twice while others could", async () => {
    const world = await World.open();
    const { remote } = world.scripted;
    const { read } = remote;
    world.write("a");
    remote.rows.delete(key("b"));
    world.mark(key("a"), key("b"));
    remote.read = () => Promise.resolve({ kind: "failed" });
    assert.equal(await world.readMarked(), false);
    assert.deepEqual(world.etags("a", "b"), ["a", "b"]);
    assert.equal(await world.readMarked(), false);
    assert.deepEqual(world.etags("a", "b"), ["new a", "b"]);
    assert.deepEqual(world.marks, [key("b")]);
    assert.equal(await world.readPartition(), true);
    remote.read = read;
    assert.equal(await world.readMarked(), true);
    assert.deepEqual(world.etags("b"), [undefined]);
    // What could be read begins anew.
    remote.rows.delete(key("c"));
    world.mark(key("b"), key("c"));
    remote.read = () => Promise.resolve({ kind: "failed" });
    assert.equal(await world.readPartition(), false);
  });

  test("is not read at all during an outage, and no more than some others", async () => {
    const world = await World.open();
    const partitions = Array.from({ length: 30 }, (_, at) => `p${at}`);
    world.mark(...partitions.map((partition) => key("a", partition)));
    const asked = new Set<Key>();
    world.scripted.remote.scan = ({ range }) => {
      asked.add(range.from);
      return Promise.resolve({ kind: "failed" });
    };
    assert.equal(await world.readMarked(), false);
    assert(asked.size <= 10, `${asked.size}`); // eight at once
  });

  test("is not applied if the second reading fails or is too large", async () => {
    for (const answer of ["failed", "large"] as const) {
      const world = await World.open({ limits: { rows: 4, bytes: 1000 } });
      world.scripted.remote.rows.delete(key("b"));
      world.write("a");
      world.mark(key("a"), key("b"));
      world.onScan((page, count) => {
        if (count === 1) return page;
        return answer === "failed" ? { kind: "failed" } : { ...page, bytes: 1001 };
      });
      assert.equal(await world.readMarked(), answer === "large");
      assert.deepEqual(
        world.etags("a", "b"),
        answer === "large" ? ["new a", undefined] : ["a", "b"],
      );
    }
  });

  test("is left to the first download until that has ended", async () => {
    const world = await World.open({ isDownloaded: false });
    world.write("a", "b");
    world.mark(key("a"));
    assert.equal(await world.readMarked(), true);
    assert.deepEqual(world.etags("a", "b"), ["new a", "b"]);
    assert.deepEqual(world.scans, []);
  });

  test("is read with many others", async () => {
    const world = await World.open();
    const partitions = Array.from({ length: 250 }, (_, at) => `p${at}`);
    for (const partition of partitions) {
      world.scripted.remote.rows.set(key("a", partition), remoteRow(1, partition));
      world.mark(key("a", partition));
    }
    assert.equal(await world.readMarked(), true);
    assert.deepEqual(world.marks, []);
    assert.equal(world.scans.length, 250);
  });

  test("can have many marked keys, also dirty ones, which are not read", async () => {
    const world = await World.open();
    const names = Array.from({ length: 2500 }, (_, at) => `x${String(at).padStart(4, "0")}`);
    world.scripted.store.transact((draft) => {
      for (const name of names) {
        markKey(draft, key(name));
        if (name < "x1200") draft.put("bases", key(name), { kind: "absent" });
      }
    });
    assert.equal(await world.readMarked(), true);
    assert.equal(world.reads.length, 1300);
    assert.equal(world.marks.length, 1200);
  });
});

describe("more than can be applied in one commit", () => {
  const limits = { rows: 2, bytes: 1000 };

  test("is applied as it comes", async () => {
    const world = await World.open({ limits });
    world.write("a", "b", "c");
    world.scripted.remote.rows.delete(key("d"));
    world.mark(key("a"), key("d"));
    assert.equal(await world.readMarked(), true);
    assert.deepEqual(world.etags("a", "b", "c", "d"), ["new a", "new b", "new c", undefined]);
    assert.deepEqual(world.marks, []);
  });

  test("waits for the next time if it cannot be read", async () => {
    const world = await World.open({ limits });
    world.mark(key("a"));
    world.onScan((page, count) => (count === 1 ? page : { kind: "failed" }));
    assert.equal(await world.readMarked(), false);
    assert.deepEqual(world.marks, [key("a")]);
  });

  test("is applied but for keys that cannot be read", async () => {
    const world = await World.open({ limits });
    world.write("a", "b", "c");
    world.scripted.remote.rows.delete(key("d"));
    world.mark(key("d"));
    world.scripted.remote.read = () => Promise.resolve({ kind: "failed" });
    assert.equal(await world.readMarked(), false);
    assert.deepEqual(world.etags("a", "d"), ["new a", "d"]);
    assert.deepEqual(world.marks, [key("d")]);
  });

  test("is read key by key if the remote cannot tell what has changed", async () => {
    const world = await World.open({ limits, traits: cosmos });
    world.write("a", "b");
    world.mark(key("a"));
    assert.equal(await world.readMarked(), true);
    assert.deepEqual(world.etags("a", "b"), ["new a", "b"]);
  });
});

test("without a Timestamp filter, the whole partition is read twice", async () => {
  const world = await World.open({ traits: cosmos });
  world.write("a", "b");
  world.mark(key("a"));
  world.onScan((page, count) => {
    if (count === 1) world.write("c");
    return page;
  });
  assert.equal(await world.readPartition(), true);
  assert.deepEqual(
    world.scans.map(({ since }) => since),
    [undefined, undefined, undefined, undefined],
  );
  assert.deepEqual(world.etags("a", "b", "c"), ["new a", "new b", "new c"]);
});

test("these tests run every branch", async () => {
  const url = import.meta.resolve("../../web/src/sync/consistent-reading.ts");
  assert.deepEqual(await coverage.uncovered([url]), []);
});
