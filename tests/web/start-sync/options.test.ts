// Tests the options of startSync(): each mistake has an error that names the option, and a hint
// that says what to write.

import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError } from "../../../web/src/errors.ts";
import { settingsOf } from "../../../web/src/start-sync/options.ts";
import type { SyncOptions } from "../../../web/src/start-sync/types.ts";

const remote = { url: "https://lamps.table.core.windows.net" };
const tables = { people: {} };

const mistakes: readonly [options: unknown, named: RegExp, hint: RegExp][] = [
  [undefined, /options/, /startSync\(store, \{/],
  [{ remote, tables, table: {} }, /no option table\./, /remote, tables/],
  [{ tables }, /remote must be an object/, /url/],
  [{ remote: { url: "lamps" }, tables }, /remote\.url/, /https:/],
  [{ remote: { url: "ftp://lamps" }, tables }, /remote\.url/, /https:/],
  [{ remote: { ...remote, credential: "sv=…" }, tables }, /remote\.credential/, /\{ signature \}/],
  [{ remote: { ...remote, fetch: 1 }, tables }, /remote\.fetch/, /Leave it out/],
  [{ remote: { ...remote, headers: {} }, tables }, /remote\.headers/, /url, credential, fetch/],
  [{ remote }, /tables must be an object/, /people/],
  [{ remote, tables: ["people"] }, /tables must be an object/, /people/],
  [{ remote, tables: {} }, /names no table/, /people/],
  [{ remote, tables: { "a b": {} } }, /"a b"/, /letters and digits/],
  [{ remote, tables: { people: true } }, /tables\.people must be an object/, /people/],
  [{ remote, tables: { people: { direction: "down" } } }, /people\.direction.*"down"/, /"pull"/],
  [{ remote, tables: { people: { conflict: "mine" } } }, /people\.conflict.*"mine"/, /function/],
  [{ remote, tables: { people: { receipts: "yes" } } }, /people\.receipts/, /true/],
  [{ remote, tables: { people: { maxAgeMs: 60 } } }, /maxAgeMs.*100/, /milliseconds/],
  [{ remote, tables: { people: { partitions: [] } } }, /people\.partitions/, /leave it out/],
  [{ remote, tables: { people: { partitions: "a" } } }, /people\.partitions/, /leave it out/],
  [{ remote, tables: { people: { filter: 1 } } }, /people\.filter/, /listEntities/],
  [{ remote, tables: { people: { consistent: true } } }, /people\.consistent/, /"partition" or/],
  [{ remote, tables: { people: { select: ["a"] } } }, /people\.select/, /direction/],
  [{ remote, tables: { people: { beacon: "a b" } } }, /people\.beacon/, /beacon: "beacons"/],
  [{ remote, tables: { people: { beacon: "People" } } }, /people\.beacon/, /another table/],
  [{ remote, tables, schedule: 5 }, /schedule must be an object/, /minMs/],
  [{ remote, tables: { people: {}, People: {} } }, /people and People/, /Leave one/],
  [{ remote, tables, schedule: { minMs: 15 } }, /schedule\.minMs.*100/, /milliseconds/],
  [{ remote, tables, schedule: { maxMs: 5000 } }, /schedule\.maxMs.*15000/, /milliseconds/],
  [{ remote, tables, schedule: { every: 5 } }, /schedule\.every/, /minMs/],
  [{ remote, tables, budget: { entitiesPerSecond: 0 } }, /budget\.entitiesPerSecond/, /Leave/],
  [{ remote, tables, budget: { transactionsPerDay: 1 } }, /transactionsPerDay.*24/, /Leave/],
  [{ remote, tables, onUnauthorized: "stop" }, /onUnauthorized.*"stop"/, /"pause"/],
];

for (const [options, named, hint] of mistakes) {
  test(`options like ${JSON.stringify(options)} are refused`, () => {
    assert.throws(
      () => settingsOf(options as SyncOptions),
      (error) => {
        assert(error instanceof StoreError);
        assert.equal(error.code, "ValidationFailed");
        assert.match(error.message, named);
        assert.match(error.hint, hint);
        return true;
      },
    );
  });
}

test("an account key is refused in a page, but for the emulator's", (t) => {
  const credential = { name: "lamps", key: "a2V5" };
  settingsOf({ remote: { ...remote, credential }, tables });
  Object.assign(globalThis, { document: {} });
  t.after(() => Reflect.deleteProperty(globalThis, "document"));
  assert.throws(() => settingsOf({ remote: { ...remote, credential }, tables }), /every/);
  const emulator = { ...credential, name: "devstoreaccount1" };
  settingsOf({ remote: { ...remote, credential: emulator }, tables });
});

test("there are defaults", () => {
  const settings = settingsOf({ remote, tables });
  assert.deepEqual(settings.poll, { minMs: 15_000, maxMs: 300_000, hiddenMs: 900_000 });
  assert.equal(settings.entitiesPerSecond, 2000);
  assert.equal(settings.transactionsPerDay, Number.POSITIVE_INFINITY);
  assert.equal(settings.pausesIfUnauthorized, false);
  const people = { conflict: "remote", direction: "both", receipts: false, maxAgeMs: 3_600_000 };
  assert.deepEqual(settings.tables.get("people"), people);
});

test("the option for whole partitions is kept", () => {
  const { tables: kept } = settingsOf({
    remote,
    tables: { people: { consistent: "partition" } },
  });
  assert.equal(kept.get("people")?.consistent, "partition");
});

test("a time between polls also limits the longer ones", () => {
  const { poll } = settingsOf({ remote, tables, schedule: { minMs: 1_000_000 } });
  assert.deepEqual(poll, { minMs: 1_000_000, maxMs: 1_000_000, hiddenMs: 1_000_000 });
});
