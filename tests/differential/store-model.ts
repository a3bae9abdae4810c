// A model of what both backends contain, as far as the generator needs it. apply() updates it after
// each request that succeeded.

import type { Key, Step, TouchedEntity } from "./request.ts";
import type { SeededRandom } from "./seeded-random.ts";

const partitions = ["p1", "p2", "p3", "o'x", "\u00fc 1", "a,b", "", "(x)", "a%b&c=d+e"];
const rows = ["r1", "r2", "r3", "r4", "r5", "", "100%25", "\u{1f600}", "a:b;c", '"q"', " lead"];
const entitiesMax = 60; // a table with more gets no inserts, because they would slow down queries

const nameOf = ({ pk, rk }: Key) => JSON.stringify([pk, rk]);

export interface EntityAddress {
  table: string;
  key: Key;
}

export class StoreModel {
  readonly tables = new Map<string, Map<string, Key>>();
  #count = 0;

  // Returns a name whose order does not depend on upper and lower case.
  newName(random: SeededRandom): string {
    return `tab${++this.#count}${random.pick(["x", "X", "xX"])}`;
  }

  anyTable(random: SeededRandom): string | undefined {
    return this.tables.size === 0 ? undefined : random.pick([...this.tables.keys()]);
  }

  fullTable(): string | undefined {
    for (const [name, entities] of this.tables) if (entities.size > entitiesMax) return name;
    return undefined;
  }

  existing(random: SeededRandom): EntityAddress | undefined {
    const filled = [...this.tables].filter(([, entities]) => entities.size > 0);
    if (filled.length === 0) return undefined;
    const [table, entities] = random.pick(filled);
    return { table, key: random.pick([...entities.values()]) };
  }

  absent(random: SeededRandom, partition?: string): EntityAddress | undefined {
    const table = this.anyTable(random);
    if (table === undefined) return undefined;
    const pk = partition ?? (random.oneIn(3) ? random.pick(partitions) : `p${random.below(4)}`);
    const rk = random.oneIn(3) ? random.pick(rows) : `r${random.below(1000)}`;
    const key = { pk, rk };
    return this.tables.get(table)?.has(nameOf(key)) ? undefined : { table, key };
  }

  inPartition(table: string, pk: string): Key[] {
    return [...(this.tables.get(table)?.values() ?? [])].filter((key) => key.pk === pk);
  }

  apply(step: Step): void {
    if (step.tags.has("filling")) return; // the table for paged queries is not in the model
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

  #touch(table: string, { pk, rk, isDeleted }: TouchedEntity): void {
    if (isDeleted) this.forget(table, { pk, rk });
    else this.tables.get(table)?.set(nameOf({ pk, rk }), { pk, rk });
  }
}
