// The store over the real engine must do what the store of the simulation does: random drafts and
// local writes on both, after which both have the same in all tables, also in a new process.

import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestEncoder } from "../../web/src/client/request-encoder.ts";
import { ResponseDecoder } from "../../web/src/client/response-decoder.ts";
import type { Draft } from "../../web/src/sync/draft.ts";
import type { Base, OutboxOp, TableName } from "../../web/src/sync/hidden-tables.ts";
import { keyOf } from "../../web/src/sync/keys.ts";
import { outboxKey } from "../../web/src/sync/partition-log.ts";
import type { Properties } from "../../web/src/sync/properties.ts";
import type { Value } from "../../web/src/sync/value.ts";
import { EngineStore } from "../../web/src/sync-store/engine-store.ts";
import { etagOf, ticksOf } from "../../web/src/sync-store/timestamps.ts";
import { createEngine, type Engine, PartsNeeded } from "../../web/src/wasm/engine.ts";
import { Disk, type FakeStore } from "../sync/fake-store.ts";
import { Scheduler } from "../sync/scheduler.ts";

const table = "people";
const nowMs = 1_800_000_000_000;
const encoder = new RequestEncoder();
const decoder = new ResponseDecoder();
const int32 = (value: number): Value => ({ type: "Int32", value });
const remoteTicks = 17_000_000_000_000_000n;

const tables: readonly TableName[] = [
  "rows",
  "bases",
  "outbox",
  "parked",
  "pushes",
  "tries",
  "receipts",
  "settling",
  "marks",
  "scans",
  "lost",
  "server",
  "overlap",
];

async function openEngine(segments: readonly Uint8Array[]): Promise<Engine> {
  const engine = await createEngine();
  engine.recover(undefined);
  for (const [index, segment] of segments.entries()) engine.replaySegment(index + 1, segment);
  engine.finishRecovery();
  engine.enableSync();
  return engine;
}

class Pair {
  readonly fake: FakeStore;
  readonly segments: Uint8Array[] = [];
  engine: Engine;
  real: EngineStore;

  constructor(fake: FakeStore, engine: Engine) {
    this.fake = fake;
    this.engine = engine;
    this.real = new EngineStore(engine, table);
  }

  /** A new process: it has what is stored. */
  async reopen(): Promise<void> {
    const sealed = this.engine.seal();
    if (sealed) {
      this.segments.push(...sealed.segments);
      this.engine.markStored(sealed.sequence + sealed.segments.length - 1);
    }
    this.engine.close();
    this.engine = await openEngine(this.segments);
    assert(this.engine.hasSyncedTables);
    this.real = new EngineStore(this.engine, table);
  }

  async transact(decide: (draft: Draft) => void): Promise<void> {
    await this.fake.transact(decide);
    assert(!(this.real.apply(decide, true, nowMs) instanceof PartsNeeded));
    this.compare();
  }

  /** A local write, as a client of the store makes it. */
  write(rows: ReadonlyMap<string, Properties | undefined>): void {
    const operations = [...rows].map(([key, properties]) => {
      const [partitionKey = "", rowKey = ""] = key.split("\0");
      if (properties === undefined)
        return { kind: "delete", partitionKey, rowKey, etag: "*" } as const;
      const entity = Object.fromEntries(properties);
      return { kind: "insertOrReplace", partitionKey, rowKey, entity } as const;
    });
    const request = encoder.write(table, operations, true, undefined, (bytes) => bytes.slice());
    const staged = this.engine.stageAndPublish([request], nowMs);
    assert(!(staged instanceof PartsNeeded));
    decoder.etagsOfWrite(staged.responses[0] as Uint8Array);
    const edits = new Map([...rows].map(([key, properties]) => [key, () => properties]));
    this.fake.write(this.engine.lastCommit, edits);
    this.compare();
  }

  compare(): void {
    assert.equal(this.real.view.commit, this.fake.commit + commitsBefore);
    for (const name of tables) {
      assert.deepEqual(contentOf(this.real.view, name), contentOf(this.fake.view, name), name);
    }
  }
}

/** Of the real store: the table is created, and begins to be synced. */
const commitsBefore = 2;

type View = Pick<FakeStore["view"], "entries" | "get">;

/** Without what the two stores choose differently: versions of dirty rows, numbers of commits. */
function contentOf(view: View, name: TableName): unknown {
  return [...view.entries(name, "")].map(([key, value]) => {
    assert.deepEqual(view.get(name, key), value, name);
    if (name === "outbox") return { ...(value as OutboxOp), number: 0, group: 0 };
    if (name !== "rows") return [key, withoutUndefined(value)];
    const isDirty = view.get("bases", key) !== undefined;
    return [key, isDirty ? { ...(value as object), version: undefined } : value];
  });
}

/** The real store does not keep members that are undefined. */
function withoutUndefined(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}

async function openPair(seed: number): Promise<[Pair, Scheduler]> {
  const scheduler = new Scheduler(seed);
  const engine = await openEngine([]);
  encoder.createTable(table, (request) => engine.stageAndPublish([request], nowMs));
  engine.setSynced(table, true, true, nowMs);
  return [new Pair(new Disk(scheduler, () => {}).open(), engine), scheduler];
}

test("Timestamps and ETags are those of the store", () => {
  const ticks = ticksOf("2020-07-24T14:34:48.4767123Z");
  assert.equal(etagOf(ticks), `W/"datetime'2020-07-24T14%3A34%3A48.4767123Z'"`);
  assert.equal(
    etagOf(ticksOf("2020-07-24T14:34:48.4767Z")),
    `W/"datetime'2020-07-24T14%3A34%3A48.4767Z'"`,
  );
  assert.equal(etagOf(ticksOf("2020-07-24T14:34:48Z")), `W/"datetime'2020-07-24T14%3A34%3A48Z'"`);
});

test("random drafts and writes have the same result as in the simulation's store", async () => {
  for (let seed = 1; seed <= 3; ++seed) {
    const [pair, scheduler] = await openPair(seed);
    const { below, chance } = {
      below: (n: number) => scheduler.below(n),
      chance: (probability: number) => scheduler.chance(probability),
    };
    const someKey = () => keyOf(chance(0.5) ? "p" : "q", String(below(4)));
    const someProperties = (): Properties => {
      const properties = new Map([["a", int32(below(3))]]);
      if (chance(0.3)) properties.set("b", { type: "String", value: "\ud800ä" });
      if (chance(0.3)) properties.set("c", { type: "Double", value: -0 });
      return properties;
    };
    for (let step = 0; step < 40; ++step) {
      const at = (ticks: number) => {
        const timestamp = remoteTicks + BigInt(ticks);
        return { timestamp, etag: ticks % 2 ? etagOf(timestamp) : `W/"${ticks}"` };
      };
      const kind = below(8);
      if (kind < 3) {
        const rows = new Map<string, Properties | undefined>();
        const partition = chance(0.5) ? "p" : "q";
        for (let row = 0; row < 4; ++row) {
          const key = keyOf(partition, String(row));
          if (!chance(0.4)) continue;
          const before = pair.fake.view.get("rows", key);
          const after = before && chance(0.3) ? undefined : someProperties();
          // Unlike the core, the simulation's store makes nothing of a write without a difference.
          const isSame =
            JSON.stringify([...(before?.properties ?? [])]) === JSON.stringify([...(after ?? [])]);
          if (!isSame) rows.set(key, after);
        }
        if (rows.size > 0) pair.write(rows);
      } else if (kind === 3) await pair.reopen();
      else {
        const key = someKey();
        const properties = someProperties();
        const version = at(step);
        const choice = below(4);
        const local = chance(0.1) ? large : properties;
        await pair.transact((draft) => {
          if (choice === 0 && draft.get("bases", key) === undefined)
            draft.put("rows", key, { properties, version });
          else if (choice === 1) {
            const bases: Base[] = [
              { kind: "absent" },
              { kind: "outdated", properties: undefined },
              { kind: "outdated", properties },
              { kind: "row", row: { properties, ...version } },
            ];
            if (draft.get("bases", key)) draft.put("bases", key, bases[step % 4] as Base);
          } else if (choice === 2) {
            for (const [outbox, op] of draft.entries("outbox", "")) {
              if (op.key !== key) continue;
              if (step % 2) draft.put("outbox", outbox, { ...op, wasResent: true });
              else draft.delete("outbox", outbox);
            }
          } else {
            const partition = key.slice(0, 1);
            draft.put("marks", key, { at: step });
            draft.put("tries", partition, step);
            draft.put("server", "time", BigInt(step));
            draft.put("overlap", "ms", step);
            draft.put("scans", step % 2 ? "" : key, { to: key, delta: undefined });
            const op = { number: step, group: step, key, change: { kind: "delete" } } as const;
            draft.put("lost", outboxKey(partition, step), {
              op,
              local,
              remote: undefined,
              outcome: "unknown",
            });
          }
        });
      }
    }
    pair.engine.close();
  }
});

const large: Properties = new Map(
  Array.from({ length: 12 }, (_, i) => [`p${i}`, { type: "String", value: "x".repeat(60_000) }]),
);
