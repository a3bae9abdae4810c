import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { DeltaRow, Row } from "../../web/src/client/changes-decoder.ts";
import { LiveRows, newDelta } from "../../web/src/client/live-rows.ts";

const keyAt = (i: number) => ({ partitionKey: "p", rowKey: String(i).padStart(5, "0") });
const rowAt = (i: number, version: number) => ({ ...keyAt(i), version }) as unknown as Row;
const change = (i: number, version: number | undefined): DeltaRow =>
  ({ key: keyAt(i), row: version === undefined ? undefined : rowAt(i, version) }) as DeltaRow;

interface Case {
  title: string;
  rows: readonly number[];
  changes: readonly DeltaRow[]; // at once; most have more moves than are spliced
}

const span = (first: number, count: number, step = 1) =>
  Array.from({ length: count }, (_, k) => first + k * step);

const cases: readonly Case[] = [
  {
    title: "behind all rows",
    rows: span(0, 10),
    changes: span(10, 100).map((i) => change(i, 1)),
  },
  {
    title: "before all rows",
    rows: span(100, 10),
    changes: span(0, 100).map((i) => change(i, 1)),
  },
  { title: "into no rows", rows: [], changes: span(0, 100).map((i) => change(i, 1)) },
  {
    title: "between rows, with updates",
    rows: span(1, 200, 2),
    changes: span(101, 120).map((i) => change(i, 2)),
  },
  {
    title: "deletes and inserts",
    rows: span(0, 200),
    changes: span(50, 200).map((i) => change(i, i % 3 === 0 ? 2 : undefined)),
  },
];

const converters = [
  ["rows as they are", undefined],
  ["converted rows", (row: Row) => ({ version: (row as unknown as { version: number }).version })],
] as const;

for (const [kind, toEntity] of converters)
  for (const isGivenOut of [false, true])
    describe(`many changes at once, ${kind}, ${isGivenOut ? "" : "not "}given out`, () => {
      for (const { title, rows, changes } of cases)
        test(title, () => {
          const create = () => {
            const live = new LiveRows(toEntity, true);
            live.append(rows.map((i) => rowAt(i, 0)));
            return live;
          };
          const [atOnce, oneByOne] = [create(), create()];
          const before = isGivenOut ? atOnce.giveOut() : [];
          const copy = [...before];
          const delta = newDelta(1n);
          atOnce.apply(changes, delta);
          for (const each of changes) oneByOne.apply([each]);
          const expected = oneByOne.giveOut();
          assert.deepEqual(atOnce.giveOut(), expected);
          assert.deepEqual(before, copy); // an array that was given out does not change
          for (const { index, entity } of [...delta.inserted, ...delta.updated])
            assert.equal(atOnce.giveOut()[index], entity);
          assert.equal(rows.length + delta.inserted.length - delta.deleted.length, expected.length);
          const single = change(20_000, 3); // the keys are still in order
          for (const live of [atOnce, oneByOne]) live.apply([single]);
          assert.deepEqual(atOnce.giveOut(), oneByOne.giveOut());
        });
    });

const namedConverter = (row: Row) => ({ text: JSON.stringify(row) });

// Applies each change to a map, too, and compares the rows with those of the map, in order.
function compareWithModel(toEntity: ((row: Row) => object) | undefined, isGivenOut: boolean): void {
  const live = new LiveRows(toEntity, true);
  const model = new Map<string, object>();
  const apply = (changes: readonly DeltaRow[]) => {
    const before = isGivenOut ? live.giveOut() : [];
    const copy = [...before];
    live.apply(changes);
    for (const { key, row } of changes)
      if (row === undefined) model.delete(key.rowKey);
      else model.set(key.rowKey, toEntity?.(row) ?? row);
    const sorted = [...model].sort(([a], [b]) => (a < b ? -1 : 1));
    assert.equal(live.size, sorted.length);
    assert.deepEqual(before, copy);
    if (isGivenOut)
      assert.deepEqual(
        live.giveOut(),
        sorted.map(([, entity]) => entity),
      );
  };
  apply(span(0, 100, 2).map((i) => change(i, 1))); // into no rows
  apply(span(200, 100, 2).map((i) => change(i, 1))); // after the last row
  apply([change(202, 2)]);
  apply([change(204, undefined), change(398, 3)]);
  apply([change(201, 1), change(203, 1)]); // between appended rows
  apply(span(300, 60).map((i) => change(i, i % 3 === 0 ? undefined : 4)));
  const sorted = [...model].sort(([a], [b]) => (a < b ? -1 : 1));
  assert.deepEqual(
    live.giveOut(),
    sorted.map(([, entity]) => entity),
  );
}

describe("rows equal a sorted map after appended rows have changed", () => {
  for (const isGivenOut of [false, true]) {
    const state = `${isGivenOut ? "" : "not "}given out`;
    test(`rows as they are, ${state}`, () => compareWithModel(undefined, isGivenOut));
    test(`converted rows, ${state}`, () => compareWithModel(namedConverter, isGivenOut));
  }
});

test("rows that are appended to a copy are not added to the original", () => {
  const original = new LiveRows(namedConverter, true);
  original.append([rowAt(0, 0), rowAt(1, 0)]);
  const copy = original.copy();
  copy.append([rowAt(2, 0)]);
  copy.apply([change(1, undefined), change(2, 5)]);
  const entities = (...rows: Row[]) => rows.map(namedConverter);
  assert.deepEqual(original.giveOut(), entities(rowAt(0, 0), rowAt(1, 0)));
  assert.deepEqual(copy.giveOut(), entities(rowAt(0, 0), rowAt(2, 5)));
});

test("if an appended row cannot be converted, nothing has changed", () => {
  const live = new LiveRows((row) => {
    if ((row as unknown as { version: number }).version === 13) throw new Error("unlucky");
    return namedConverter(row);
  }, true);
  live.append([rowAt(0, 0)]);
  const shown = live.giveOut();
  const delta = newDelta(1n);
  const changes = [change(1, 1), change(2, 13), change(3, 1)];
  assert.throws(() => live.apply(changes, delta), /unlucky/);
  assert.throws(() => live.append([rowAt(1, 1), rowAt(2, 13), rowAt(3, 1)]), /unlucky/);
  assert.equal(live.giveOut(), shown);
  assert.deepEqual(delta, newDelta(1n));
  live.apply([change(0, 1), change(1, 1)]); // finds the first row and does not find the second
  assert.deepEqual(live.giveOut(), [rowAt(0, 1), rowAt(1, 1)].map(namedConverter));
});
