// Reading expected rows together must show the same as reading each by itself, and the memory of
// touched keys must forget none of the last commits.

import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestEncoder } from "../../web/src/client/request-encoder.ts";
import { applyPage } from "../../web/src/sync/apply-page.ts";
import { byCodeUnit, type Draft } from "../../web/src/sync/draft.ts";
import type { TableName } from "../../web/src/sync/hidden-tables.ts";
import { type Key, keyOf } from "../../web/src/sync/keys.ts";
import type { Properties } from "../../web/src/sync/properties.ts";
import type { Value } from "../../web/src/sync/value.ts";
import { DecisionFailed, EngineStore } from "../../web/src/sync-store/engine-store.ts";
import { TouchedKeys } from "../../web/src/sync-store/touched-keys.ts";
import { createEngine, type Engine, PartsNeeded } from "../../web/src/wasm/engine.ts";
import { seededRandom } from "./support/random.ts";

const table = "people";
const nowMs = 1_800_000_000_000;
const ticks = 17_000_000_000_000_000n;
const encoder = new RequestEncoder(false);

async function open(): Promise<[Engine, EngineStore]> {
  const engine = await createEngine();
  engine.recover(undefined);
  engine.finishRecovery();
  await engine.loadDeferredModule("sync");
  engine.enableSync();
  encoder.createTable(table, (request) => engine.stageAndPublish([request], nowMs));
  engine.setSynced(table, "begin", true, nowMs);
  return [engine, new EngineStore(engine, table)];
}

const remoteRow = (n: number, etag: string) => ({
  properties: new Map([["n", { type: "Int32", value: n } as const]]),
  etag,
  timestamp: ticks + BigInt(n),
});

function local(engine: Engine, key: Key): void {
  const [partitionKey = "", rowKey = ""] = key.split("\0");
  const write = { kind: "insertOrReplace", partitionKey, rowKey, entity: { n: 1 } } as const;
  encoder.write(table, [write], false, undefined, (request) =>
    engine.stageAndPublish([request.slice()], nowMs),
  );
}

function apply(store: EngineStore, change: Parameters<EngineStore["apply"]>[0]): void {
  assert(!(store.apply(change, true, nowMs) instanceof PartsNeeded));
}

const seen = (store: EngineStore, keys: readonly Key[], isExpected: boolean): unknown => {
  const read = store.read((view) => {
    if (isExpected) view.expect(keys);
    const names: TableName[] = ["rows", "bases", "marks"];
    return keys.map((key) => names.map((name) => view.get(name, key)));
  });
  assert(!(read instanceof PartsNeeded));
  return read.result;
};

/** A store that counts what it reads. */
function countedStore(engine: Engine) {
  const count = { reads: 0, bytes: 0 };
  const store = new EngineStore(
    {
      get lastCommit() {
        return engine.lastCommit;
      },
      applySynced: engine.applySynced.bind(engine),
      readSynced: (...call) => {
        const response = engine.readSynced(...call);
        count.reads += 1;
        if (!(response instanceof PartsNeeded)) count.bytes += response.length;
        return response;
      },
    },
    table,
  );
  return { store, count };
}

const numberedKeys = (from: number, to: number): Key[] =>
  Array.from({ length: to - from }, (_, i) => keyOf("p", `${from + i}`));

function putRows(store: EngineStore, keys: readonly Key[], properties: Properties): void {
  const version = { etag: 'W/"x"', timestamp: ticks };
  apply(store, (draft) => {
    for (const key of keys) draft.put("rows", key, { properties, version });
  });
}

test("rows that are expected are those that are there", async () => {
  const [engine, store] = await open();
  const random = seededRandom(1);
  const key = () => keyOf(["p", "q"][random.below(2)] as string, `${random.below(400)}`);
  for (let i = 0; i < 30; ++i) local(engine, key());
  apply(store, (draft) => {
    for (let i = 0; i < 300; ++i) {
      const { properties, ...version } = remoteRow(i, i % 3 === 0 ? "foreign" : 'W/"x"');
      const at = key();
      if (draft.get("bases", at) === undefined) draft.put("rows", at, { properties, version });
      if (i % 5 === 0) draft.put("marks", key(), { at: i });
    }
  });
  for (const count of [1, 15, 16, 40, 400]) {
    const keys = [...new Set(Array.from({ length: count }, key))].sort(byCodeUnit);
    assert.deepEqual(seen(store, keys, true), seen(store, keys, false), `${count} keys`);
  }
  engine.close();
});

test("keys that are far apart do not make it read what is between them", async () => {
  const [engine, store] = await open();
  putRows(store, numberedKeys(1000, 4000), remoteRow(1, "").properties);
  const whole = countedStore(engine);
  whole.store.read((view) => [...view.entries("rows", "")]);
  const { store: counted, count } = countedStore(engine);
  const keys = Array.from({ length: 20 }, (_, i) => keyOf("p", `${1000 + 150 * i}`));
  const far = seen(counted, keys, true);
  assert(count.bytes < whole.count.bytes / 8, `${count.bytes} of ${whole.count.bytes} bytes`);
  assert.deepEqual(far, seen(store, keys, false));
  engine.close();
});

test("keys that are next to each other are read together", async () => {
  const [engine, store] = await open();
  const keys = numberedKeys(100, 120);
  putRows(store, keys, remoteRow(1, "").properties);
  const { store: counted, count } = countedStore(engine);
  const together = seen(counted, keys, true);
  assert(count.reads <= 12, `${count.reads} reads`);
  assert.deepEqual(together, seen(store, keys, false));
  engine.close();
});

test("only a few megabytes of large rows are in memory together", async () => {
  const [engine, store] = await open();
  const keys = numberedKeys(100, 300);
  const photo: Value = { type: "String", value: "x".repeat(30_000) };
  for (let at = 0; at < keys.length; at += 20)
    putRows(store, keys.slice(at, at + 20), new Map([["photo", photo]]));
  const { store: counted, count } = countedStore(engine);
  counted.read((view) => view.expect(keys));
  assert(count.bytes > 2 * 1024 * 1024 && count.bytes < 5.5 * 1024 * 1024, `${count.bytes} bytes`);
  assert.deepEqual(seen(counted, keys, true), seen(store, keys, false));
  engine.close();
});

test("rows that were expected are forgotten at the end of a look, however it ends", async () => {
  const [engine, other] = await open();
  const keys = numberedKeys(100, 140);
  const at = (i: number) => keys[i] as Key;
  putRows(other, keys, remoteRow(1, "").properties);
  let isMissing = false;
  const store = new EngineStore(
    {
      get lastCommit() {
        return engine.lastCommit;
      },
      applySynced: engine.applySynced.bind(engine),
      readSynced: (...call) => (isMissing ? new PartsNeeded([1]) : engine.readSynced(...call)),
    },
    table,
  );
  const ends: Record<string, () => void> = {
    read: () => void seen(store, keys, true),
    apply: () => apply(store, (draft) => draft.expect(keys)),
    failure: () => {
      const decide = (draft: Draft) => {
        draft.expect(keys);
        throw new Error("stop");
      };
      assert.throws(() => store.apply(decide, true, nowMs), DecisionFailed);
    },
    missing: () => {
      const read = store.read((view) => {
        view.expect(keys);
        isMissing = true;
        return [...view.entries("rows", "")];
      });
      assert(read instanceof PartsNeeded);
      isMissing = false;
    },
  };
  for (const [i, [name, end]] of Object.entries(ends).entries()) {
    end();
    local(engine, at(4 * i));
    apply(other, (draft) => {
      const { properties, ...version } = remoteRow(i, 'W/"z"');
      draft.put("rows", at(4 * i + 1), { properties, version });
      draft.put("marks", at(4 * i + 2), { at: 1 });
    });
    const now = seen(store, keys, false);
    const fresh = new EngineStore(engine, table);
    assert.deepEqual(now, seen(fresh, keys, false), name);
  }
  engine.close();
});

test("a page changes no key that sync has touched since it was asked for", async () => {
  const [engine, store] = await open();
  const keys = numberedKeys(100, 200);
  const at = (i: number) => keys[i] as Key;
  const page = (from: number, to: number) =>
    keys.slice(from, to).map((key) => ({ key, row: remoteRow(5, 'W/"old"') }));
  const sentAt = engine.lastCommit;
  putRows(store, [at(10), at(60)], remoteRow(1, "").properties);
  local(engine, at(20));
  apply(store, (draft) => {
    for (const [number] of [...draft.entries("outbox", "")]) draft.delete("outbox", number);
    draft.delete("bases", at(20));
  });
  apply(store, (draft) => draft.delete("rows", at(60)));
  // The first page has keys that are there. Nothing of the second one is there.
  for (const rows of [page(0, 50), page(50, 100)])
    apply(store, (draft) => applyPage(draft, rows, sentAt, () => true));
  const read = store.read((view) => [...view.entries("marks", "")].map(([key]) => key));
  assert(!(read instanceof PartsNeeded));
  assert.deepEqual(read.result, [at(10), at(20), at(60)]);
  engine.close();
});

test("what is pending in a partition is read once for a page, not for each of its rows", async () => {
  const [engine] = await open();
  const { store, count } = countedStore(engine);
  const keys = numberedKeys(100, 200);
  const page = keys.map((key) => ({ key, row: remoteRow(5, 'W/"x"') }));
  const sentAt = engine.lastCommit;
  for (const key of numberedKeys(300, 600)) local(engine, key);
  apply(store, (draft) => {
    const pending = [...draft.entries("outbox", "")].slice(0, 100);
    for (const [number, op] of pending) {
      draft.delete("outbox", number);
      draft.put("parked", number, { group: op.group, reason: "x", ops: [op] });
    }
  });
  count.reads = 0;
  apply(store, (draft) => applyPage(draft, page, sentAt, () => true));
  assert(count.reads <= 40, `${count.reads} reads`);
  engine.close();
});

test("a page is applied as its rows would be, one by one", async () => {
  const page = Array.from({ length: 100 }, (_, i) => ({
    key: keyOf("p", String(i).padStart(3, "0")),
    row: remoteRow(i, 'W/"y"'),
  }));
  const contents: unknown[] = [];
  for (const rowsAtOnce of [1, 100]) {
    const [engine, store] = await open();
    for (const at of [3, 50]) local(engine, page[at]?.key as Key);
    const sentAt = engine.lastCommit;
    local(engine, page[70]?.key as Key);
    for (let at = 0; at < page.length; at += rowsAtOnce) {
      const rows = page.slice(at, at + rowsAtOnce);
      apply(store, (draft) => applyPage(draft, rows, sentAt, () => true));
    }
    const read = store.read((view) =>
      (["rows", "bases", "marks"] as const).map((name) =>
        [...view.entries(name, "")].map(([key, value]) =>
          name === "marks" ? key : view.get("bases", key) ? key : [key, value],
        ),
      ),
    );
    assert(!(read instanceof PartsNeeded));
    contents.push(read.result);
    engine.close();
  }
  assert.deepEqual(contents[0], contents[1]);
});

test("an older page changes no row of a large new page", async () => {
  const [engine, store] = await open();
  const keys = numberedKeys(10_000, 11_000);
  const pageOf = (etag: string) => keys.map((key, i) => ({ key, row: remoteRow(i, etag) }));
  const sentAt = engine.lastCommit;
  apply(store, (draft) => applyPage(draft, pageOf('W/"new"'), sentAt, () => true));
  apply(store, (draft) => applyPage(draft, pageOf('W/"old"'), sentAt, () => true));
  const stored = store.read((view) => ({
    marks: [...view.entries("marks", "")].length,
    etags: new Set([...view.entries("rows", "")].map(([, { version }]) => version?.etag)),
  }));
  assert(!(stored instanceof PartsNeeded));
  assert.deepEqual(stored.result, { marks: keys.length, etags: new Set(['W/"new"']) });
  engine.close();
});

test("what the last commits have touched is remembered, however much it is", () => {
  const touched = new TouchedKeys(10);
  assert(touched.isTouchedSince("k", 9), "nothing is known of earlier commits");
  assert(!touched.isTouchedSince("k", 10));
  for (let commit = 11; commit <= 300; ++commit) {
    for (let i = 0; i < 1000; ++i) touched.add(`${commit} ${i}`, commit);
    for (const ago of [0, 1, 50, 99]) {
      const key = `${commit - ago} 999`;
      if (commit - ago <= 10) continue;
      assert(touched.isTouchedSince(key, commit - ago - 1), key);
      assert(!touched.isTouchedSince(key, commit - ago), key);
      assert(!touched.isTouchedSince("other", commit - ago), key);
    }
  }
  assert(touched.isTouchedSince("other", 10), "the first keys are forgotten");
});

test("a page of new rows touches all keys from its first to its last", () => {
  const touched = new TouchedKeys(10);
  for (let commit = 11; commit <= 1500; ++commit) {
    const name = String(commit).padStart(5, "0");
    touched.addStretch({ from: `${name} a`, to: `${name} m`, commit });
    for (const key of [`${name} a`, `${name} f`, `${name} m`]) {
      assert(touched.isTouchedSince(key, commit - 1), key);
      assert(!touched.isTouchedSince(key, commit), key);
    }
    assert(!touched.isTouchedSince(`${name} n`, commit - 1));
    assert(touched.areUntouchedSince(`${name} n`, `${name} z`, commit - 1));
    assert(!touched.areUntouchedSince(`${name} m`, `${name} z`, commit - 1));
    assert(touched.areUntouchedSince("", "z", commit));
  }
  assert(touched.isTouchedSince("k", 11), "the first pages are forgotten");
  assert(!touched.isTouchedSince("k", 1400));
  touched.add("k", 1501);
  assert(!touched.areUntouchedSince("a", "b", 1500), "single keys are not searched");
  assert(touched.areUntouchedSince("a", "z", 1501));
});
