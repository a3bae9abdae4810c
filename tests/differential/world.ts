// What both sides hold, as far as the generator must know to ask for it. Kept true by `apply`, which hears of what succeeded.

import type { Dice } from "./dice.ts";
import type { Key, Step, Touched } from "./request.ts";

const partitions = ["p1", "p2", "p3", "o'x", "\u00fc 1", "a,b", "", "(x)", "a%b&c=d+e"];
const rows = ["r1", "r2", "r3", "r4", "r5", "", "100%25", "\u{1f600}", "a:b;c", '"q"', " lead"];
const entitiesMax = 60; // a table with more is full: queries would only get slower

const nameOf = ({ pk, rk }: Key) => JSON.stringify([pk, rk]);

export interface Place {
  table: string;
  key: Key;
}

export class World {
  readonly tables = new Map<string, Map<string, Key>>();
  #count = 0;

  // In an order that does not depend on case.
  newName(dice: Dice): string {
    return `tab${++this.#count}${dice.pick(["x", "X", "xX"])}`;
  }

  anyTable(dice: Dice): string | undefined {
    return this.tables.size === 0 ? undefined : dice.pick([...this.tables.keys()]);
  }

  fullTable(): string | undefined {
    for (const [name, entities] of this.tables) if (entities.size > entitiesMax) return name;
    return undefined;
  }

  existing(dice: Dice): Place | undefined {
    const filled = [...this.tables].filter(([, entities]) => entities.size > 0);
    if (filled.length === 0) return undefined;
    const [table, entities] = dice.pick(filled);
    return { table, key: dice.pick([...entities.values()]) };
  }

  absent(dice: Dice, partition?: string): Place | undefined {
    const table = this.anyTable(dice);
    if (table === undefined) return undefined;
    const pk = partition ?? (dice.oneIn(3) ? dice.pick(partitions) : `p${dice.below(4)}`);
    const rk = dice.oneIn(3) ? dice.pick(rows) : `r${dice.below(1000)}`;
    const key = { pk, rk };
    return this.tables.get(table)?.has(nameOf(key)) ? undefined : { table, key };
  }

  inPartition(table: string, pk: string): Key[] {
    return [...(this.tables.get(table)?.values() ?? [])].filter((key) => key.pk === pk);
  }

  apply(step: Step): void {
    if (step.about.has("filling")) return; // of the table that is only queried
    if (step.operation === "create table") {
      for (const name of step.tables) this.tables.set(name, new Map());
    } else if (step.operation === "delete table") {
      for (const name of step.tables) this.tables.delete(name);
    } else if (step.writes && step.table !== undefined) {
      for (const touched of step.entities) this.#touch(step.table, touched);
    }
  }

  forget(table: string, key: Key): void {
    this.tables.get(table)?.delete(nameOf(key));
  }

  #touch(table: string, { pk, rk, gone }: Touched): void {
    if (gone) this.forget(table, { pk, rk });
    else this.tables.get(table)?.set(nameOf({ pk, rk }), { pk, rk });
  }
}
