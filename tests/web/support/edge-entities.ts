// Entities whose keys and values are at the edges of the data model, for any remote.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Member } from "../../../web/src/sync/hidden-tables.ts";
import { type Key, keyAfter, keyOf } from "../../../web/src/sync/keys.ts";
import type { Properties } from "../../../web/src/sync/properties.ts";
import type { Remote } from "../../../web/src/sync/remote.ts";
import { isSameValue } from "../../../web/src/sync/value.ts";

const texts = [
  "",
  " ",
  "'",
  "''",
  "%",
  "%25%2F",
  '+&=;,@!$()*:[]{}|^`"<>~',
  ".",
  "..",
  "ü",
  "\u20ac",
  "\u{1f600}",
  "\uff5e",
  "e\u0301",
  "a".repeat(512),
  "'".repeat(512),
  "\u20ac".repeat(512),
  "\u{1f600}".repeat(256),
];

const properties: Properties = new Map([
  ["int32", { type: "Int32", value: -2147483648 }],
  ["int64", { type: "Int64", value: "-9223372036854775808" }],
  ["large", { type: "Int64", value: "9223372036854775807" }],
  ["whole", { type: "Double", value: 3 }],
  ["zero", { type: "Double", value: -0 }],
  ["small", { type: "Double", value: 5e-324 }],
  ["huge", { type: "Double", value: -1.7976931348623157e308 }],
  ["nan", { type: "Double", value: Number.NaN }],
  ["infinite", { type: "Double", value: -Infinity }],
  ["time", { type: "DateTime", value: "2020-01-02T03:04:05.1234567Z" }],
  ["first", { type: "DateTime", value: "1601-01-01T00:00:00Z" }],
  ["guid", { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" }],
  ["binary", { type: "Binary", value: "AAEC/w==" }],
  ["no", { type: "Boolean", value: false }],
  ["text", { type: "String", value: ':3.0,"\\\u{1f600}\r\n--batch' }],
] as const);

/**
 * Writes, reads and scans all of them. `isKnown`: whether the remote is known to have no such key;
 * `changed`: the properties that it is known to change.
 */
export async function checkEdgeEntities(
  remote: Remote,
  isKnown: (text: string) => boolean = () => false,
  changed: readonly string[] = [],
): Promise<void> {
  const allowed = texts.filter((text) => !isKnown(text));
  for (const [at, partition] of allowed.entries()) {
    const rows = new Set([partition, allowed[(at + 1) % allowed.length] as string, "a"]);
    const keys = [...rows].map((row) => keyOf(partition, row)).sort();
    const insert = (key: Key): Member => ({ key, base: { kind: "absent" }, intended: properties });
    const push = { partition, token: randomUUID(), upTo: 1, groups: 1, idleKeys: [] };
    const answer = await remote.push({ ...push, members: keys.map(insert) }, Infinity);
    assert.equal(answer.kind, "applied", JSON.stringify([partition, answer], bigints));
    const scanned = await scan(remote, { from: keys[0] as Key, to: keyAfter(keys.at(-1) as Key) });
    assert.deepEqual(scanned, keys);
    for (const key of keys) {
      const read = await remote.read(key);
      assert(read.kind === "found", JSON.stringify([read.kind, key]));
      assert.deepEqual(differences(read.row.properties), changed, JSON.stringify(key));
      const none = await remote.read(`${key.slice(0, -1)}none`);
      assert.equal(none.kind, "absent", JSON.stringify(key));
    }
  }
}

const differences = (found: Properties): string[] =>
  [...new Set([...found.keys(), ...properties.keys()])].filter(
    (name) => !isSameValue(found.get(name), properties.get(name)),
  );

const bigints = (_: string, value: unknown) => (typeof value === "bigint" ? `${value}` : value);

async function scan(remote: Remote, range: { from: Key; to: Key }): Promise<Key[]> {
  const keys: Key[] = [];
  for (let token: string | undefined; ; ) {
    const request = { range, keysOnly: true, isFiltered: false, needsOrder: true, token };
    const page = await remote.scan(request);
    assert.equal(page.kind, "page", JSON.stringify(range));
    keys.push(...page.rows.map(({ key }) => key));
    ({ token } = page);
    if (token === undefined) return keys;
  }
}
