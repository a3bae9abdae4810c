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
  changes: readonly DeltaRow[]; // more moves than are spliced
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
