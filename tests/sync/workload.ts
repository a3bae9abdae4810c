// What users, other writers and accidents do in a simulation.

import { baseOf } from "../../web/src/sync/base.ts";
import { isReceiptKey, type Key, keyOf } from "../../web/src/sync/keys.ts";
import { operationFor } from "../../web/src/sync/operation.ts";
import type { RowFilter } from "../../web/src/sync/partition-log.ts";
import { discardParked, retryParked } from "../../web/src/sync/plan-push.ts";
import type { Properties } from "../../web/src/sync/properties.ts";
import type { Value } from "../../web/src/sync/value.ts";
import type { Client, World } from "./client.ts";
import type { Config } from "./config.ts";
import { StorageFailure } from "./fake-store.ts";
import { type Edit, Undo } from "./undo.ts";

export const int32 = (value: number): Value => ({ type: "Int32", value });

/** Values of which the remote returns another text. */
function valuesWithTwoTexts(id: number): [string, Value][] {
  const guid = `${id.toString(16).padStart(8, "0")}-0000-4000-8000-00000000abcd`;
  return [
    ["long", { type: "Int64", value: `00${id}` }],
    [
      "time",
      { type: "DateTime", value: `2026-01-01T00:00:${String(id % 60).padStart(2, "0")}.000Z` },
    ],
    ["guid", { type: "Guid", value: guid }],
  ];
}

/** Numbers of groups and of written values: each is unique in a simulation, unless it is undone. */
export class Workload {
  readonly #world: World;
  readonly #config: Config;
  readonly #keeps: RowFilter;
  #number = 0;

  constructor(world: World, config: Config, keeps: RowFilter) {
    this.#world = world;
    this.#config = config;
    this.#keeps = keeps;
  }

  get #isOver(): boolean {
    return this.#world.scheduler.now > this.#config.durationMs;
  }

  #every(ms: number, mostMs: number, step: () => void): void {
    const { scheduler } = this.#world;
    const again = () => {
      if (this.#isOver) return;
      step();
      scheduler.after(ms + scheduler.fraction(mostMs), again);
    };
    scheduler.after(scheduler.fraction(mostMs), again);
  }

  // ---- Users -----------------------------------------------------------------------------------

  startUser(client: Client): void {
    const { scheduler } = this.#world;
    const undo = new Undo(client, scheduler);
    this.#every(5, 120, () => {
      if (!client.isRunning) return;
      const id = ++this.#number;
      const undone = this.#config.undoes ? undo.edits() : undefined;
      const rowOf = (key: Key) => client.store.view.get("rows", key)?.properties;
      undo.write(id, undone ?? this.#someEdits(id, rowOf));
    });
    if (scheduler.chance(0.8)) {
      this.#every(100, this.#config.crashMs - 100, () => {
        if (!client.isRunning) return;
        const isSending = client.store.keys("pushes").length > 0;
        if (this.#config.zombies && (isSending || scheduler.chance(0.2))) {
          client.replace(300 + scheduler.fraction(2000));
        } else client.crash(scheduler.fraction(100));
      });
      if (this.#config.freezes) {
        this.#every(100, 900, () => {
          if (client.isRunning) client.freeze(scheduler.fraction(500));
        });
      }
    }
    if (this.#config.restores) {
      const at = scheduler.fraction(this.#config.durationMs * 0.9);
      scheduler.after(at * scheduler.fraction(), () => client.backUp());
      scheduler.after(at, () => client.restore());
    }
    this.#every(50, 300, () => this.#decideParked(client, false));
    if (this.#config.clockJumps) {
      this.#every(100, 800, () => {
        // Two days behind, all Timestamps of the remote are from the future.
        if (scheduler.chance(0.1)) client.wallOffsetMs = -2 * 86_400_000;
        else client.wallOffsetMs = (scheduler.fraction(2) - 1) * 5000;
      });
    }
  }

  /** At rest, poisoned groups are discarded, and the others sent again. */
  decideParkedAtRest(client: Client): void {
    if (!this.#config.keepsParked) this.#decideParked(client, true);
  }

  #decideParked(client: Client, isAtRest: boolean): void {
    const { scheduler } = this.#world;
    if (!client.isRunning) return;
    const [first] = [...client.store.view.entries("parked", "")];
    if (first === undefined) return;
    const [key, { group, reason }] = first;
    const partition = key.slice(0, key.indexOf("\0"));
    const isPermanent = reason === "PropertyValueTooLarge" || reason === "RejectedByProxy";
    const discards = isAtRest ? isPermanent : scheduler.chance(0.3);
    const decide = discards ? discardParked : retryParked;
    client.store
      .transact((draft) => decide(draft, partition, group, this.#keeps))
      .catch((error) => {
        if (!(error instanceof StorageFailure)) scheduler.fail(error);
      });
  }

  /** A user who knows whether the entities are really gone, and needs some time to say so. */
  startConfirming(client: Client): void {
    const { scheduler, table } = this.#world;
    const again = () => {
      const isGone = (key: Key) => {
        const row = table.current(key);
        return row === undefined || !this.#keeps(key, row.properties);
      };
      for (const { id, keys } of client.status.suspects) {
        if (!client.isRunning || !keys.every(isGone)) continue;
        scheduler.after(scheduler.fraction(400), () => {
          if (client.isRunning) client.confirmDeletes(id);
        });
      }
      scheduler.after(50 + scheduler.fraction(100), again);
    };
    scheduler.after(0, again);
  }

  // ---- Edits -----------------------------------------------------------------------------------

  /**
   * A group of edits. Rows 0 and 1 of a partition are always written together. `rowOf`: as they are
   * when the edits are made.
   */
  #someEdits(
    id: number,
    rowOf: (key: Key) => Properties | undefined,
    isForeign = false,
  ): Map<Key, Edit> {
    const { scheduler } = this.#world;
    const partition =
      this.#config.partitions[scheduler.below(this.#config.partitions.length)] ?? "";
    const key = (row: number) => keyOf(partition, String(row));
    const other = () => 2 + scheduler.below(this.#config.rowKeys - 2);
    const set =
      (name: string): Edit =>
      (row) =>
        new Map([...(row ?? []), [name, int32(id)]]);
    const someProperty = () => (scheduler.chance(0.5) ? "a" : "b");
    const kind = scheduler.fraction();
    const { deletesPairs } = this.#config;
    if (kind < 0.25) {
      const pair = [key(0), key(1)];
      const deletes = deletesPairs && scheduler.chance(0.4);
      let areThere: boolean | undefined; // a store refuses to delete what is not there
      const edit: Edit = (row) => {
        areThere ??= deletes && pair.every((of) => rowOf(of) !== undefined);
        return areThere ? undefined : set("pair")(row);
      };
      return new Map(pair.map((of) => [of, edit]));
    }
    if (kind < 0.45) return new Map([[key(other()), () => undefined]]);
    if (kind < 0.6) {
      return new Map([
        [key(2 + scheduler.below(2)), set("a")],
        [key(4 + scheduler.below(2)), set("b")],
      ]);
    }
    if (kind < 0.7) return new Map([[key(other()), this.#unusualEdit(id, isForeign)]]);
    const row = deletesPairs ? other() : scheduler.below(this.#config.rowKeys);
    return new Map([[key(row), set(someProperty())]]);
  }

  #unusualEdit(id: number, isForeign: boolean): Edit {
    const { scheduler } = this.#world;
    if (this.#config.poisons && !isForeign && scheduler.chance(0.5)) {
      return (row) => new Map([...(row ?? []), ["poison", int32(id)]]);
    }
    if (this.#config.proxy === "picky" && !isForeign && scheduler.chance(0.5)) {
      return (row) => new Map([...(row ?? []), ["virus", int32(id)]]);
    }
    if (this.#config.filter !== "none" && scheduler.chance(0.7)) {
      const isHidden = scheduler.chance(0.5);
      return (row) => {
        const after = new Map([...(row ?? []), ["a", int32(id)]]);
        if (isHidden) after.set("hidden", int32(1));
        else after.delete("hidden");
        return after;
      };
    }
    if (scheduler.chance(0.4)) return (row) => new Map([...(row ?? []), ...valuesWithTwoTexts(id)]);
    return () => new Map([["b", int32(id)]]); // a replace, which removes the other properties
  }

  // ---- Other writers and accidents -------------------------------------------------------------

  /** Rows that the table has before the first client. Most of them are never changed. */
  fillTable(): void {
    const { table } = this.#world;
    for (const partition of this.#config.partitions) {
      for (const row of ["2", "3", "30", "31", "32", "33", "34", "4", "5"]) {
        const properties = new Map([["a", int32(++this.#number)]]);
        const insert = { kind: "insert", key: keyOf(partition, row), properties } as const;
        table.execute([insert], table.stamp(partition), true);
      }
    }
  }

  startForeignWriter(): void {
    const { ledger, scheduler, table } = this.#world;
    this.#every(20, 150, () => {
      const id = ++this.#number;
      const edits = this.#someEdits(id, (key) => table.current(key)?.properties, true);
      const [partition = ""] = [...edits.keys()].map((key) => key.slice(0, key.indexOf("\0")));
      const stamp = table.stamp(partition);
      scheduler.after(scheduler.fraction(this.#config.visibleMs), () => {
        const operations = [...edits].flatMap(([key, edit]) => {
          const row = table.current(key);
          const member = { key, base: baseOf(row), intended: edit(row?.properties) };
          return operationFor(member) ?? [];
        });
        const { execution } = table.execute(operations, stamp, true);
        scheduler.trace("other", id, operations.map(({ kind, key }) => kind[0] + key).join());
        if (execution) ledger.onExecuted(execution, "other");
      });
    });
  }

  startAccidents(): void {
    const { scheduler, table, ledger, network } = this.#world;
    const { durationMs, dropsTable, expires, narrowsScope, portals } = this.#config;
    const during = (begin: () => void, end: () => void, mostMs = 300) => {
      const at = scheduler.fraction(durationMs * 0.8);
      scheduler.after(at, begin);
      scheduler.after(at + 20 + scheduler.fraction(mostMs), end);
    };
    if (dropsTable) {
      during(
        () => {
          table.drop();
          ledger.onDropped();
          scheduler.trace("drop");
        },
        () => {
          table.isMissing = false;
        },
      );
    }
    for (let times = portals ? 3 : 0; times > 0; --times) {
      during(
        () => {
          network.hasPortal = true;
        },
        () => {
          network.hasPortal = false;
        },
      );
    }
    if (expires)
      during(
        () => (table.isExpired = true),
        () => (table.isExpired = false),
      );
    if (narrowsScope) {
      const first = keyOf("q", String(scheduler.below(4)));
      const narrow = () => {
        table.isForbidden = (key) => key >= first && !isReceiptKey(key);
      };
      const widen = () => {
        table.isForbidden = undefined;
      };
      during(narrow, widen, 800);
      during(narrow, widen);
    }
  }
}
