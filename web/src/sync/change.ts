// What one local write did to one entity.

import { areSameProperties, type Properties } from "./properties.ts";
import { isSameValue, type Value } from "./value.ts";

export type Change =
  | {
      readonly kind: "create";
      readonly properties: Properties;
      /**
       * It was an edit, and others have deleted the entity: the names of the properties that it did
       * not write.
       */
      readonly unwritten?: ReadonlySet<string>;
    }
  | { readonly kind: "edit"; readonly set: Properties; readonly unset: ReadonlySet<string> }
  | { readonly kind: "delete" };

/** Returns undefined if the two states are equal. An undefined state is an absent entity. */
export function changeBetween(
  before: Properties | undefined,
  after: Properties | undefined,
): Change | undefined {
  if (areSameProperties(before, after)) return undefined;
  if (after === undefined) return { kind: "delete" };
  if (before === undefined) return { kind: "create", properties: after };
  const set = new Map<string, Value>();
  for (const [name, value] of after) {
    if (!isSameValue(value, before.get(name))) set.set(name, value);
  }
  const unset = new Set([...before.keys()].filter((name) => !after.has(name)));
  return { kind: "edit", set, unset };
}

/** Returns the properties that the application has set. */
export function writtenBy({ properties, unwritten }: Change & { kind: "create" }): Properties {
  return new Map([...properties].filter(([name]) => !unwritten?.has(name)));
}

/** Returns whether the change has a meaning for an entity that is present, or absent. */
export const canApply = (before: Properties | undefined, change: Change): boolean =>
  change.kind === "create" || before !== undefined;

/** REQUIRES: canApply(). */
export function applyChange(
  before: Properties | undefined,
  change: Change,
): Properties | undefined {
  if (change.kind === "delete") return undefined;
  if (change.kind === "create") return change.properties;
  const after = new Map(before);
  for (const name of change.unset) after.delete(name);
  for (const [name, value] of change.set) after.set(name, value);
  return after;
}
