// The typed filter builder: where((f) => f.and(f.eq("age", 31), f.startsWith("rowKey", "a"))).

import { serviceName } from "../edm/service-name.ts";
import { prefixRange } from "../keys/range.ts";
import type { Edm, EdmTypes, Filter, PropertyValue } from "../types.ts";
import { literal } from "./odata.ts";

/** The properties by which entities of type T can be filtered. */
export type FilterName<T> =
  | (T extends unknown ? keyof T & string : never)
  | "partitionKey"
  | "rowKey"
  | "timestamp";

/** What a property can be compared with: a value of its type, or a value with its Edm type. */
export type FilterValue<T, K extends string> =
  | Edm<EdmTypes>
  | (K extends "partitionKey" | "rowKey"
      ? string
      : K extends "timestamp"
        ? Date
        : T extends unknown
          ? K extends keyof T
            ? unknown extends T[K]
              ? PropertyValue
              : Exclude<T[K], null | undefined>
            : never
          : never);

type TextName<T, K extends string> = K extends unknown
  ? string extends FilterValue<T, K>
    ? K
    : Extract<FilterValue<T, K>, string> extends never
      ? never
      : K
  : never;

type Comparison<T extends object> = <K extends FilterName<T>>(
  name: K,
  value: FilterValue<T, K>,
) => Filter<T>;

/** Creates the conditions of a filter for entities of type T. */
export interface FilterBuilder<T extends object = Record<string, unknown>> {
  eq: Comparison<T>;
  ne: Comparison<T>;
  gt: Comparison<T>;
  ge: Comparison<T>;
  lt: Comparison<T>;
  le: Comparison<T>;
  /** The text begins with the prefix. On a key, the query reads no other keys of that range. */
  startsWith: <K extends FilterName<T>>(name: TextName<T, K> & K, prefix: string) => Filter<T>;
  and: (first: Filter<T>, ...others: Filter<T>[]) => Filter<T>;
  or: (first: Filter<T>, ...others: Filter<T>[]) => Filter<T>;
  not: (condition: Filter<T>) => Filter<T>;
}

/**
 * Returns a `$filter`, which the official client accepts too. `T` is the type of the entities; in
 * the options of a Table<T>, it is the table's. Values become literals as with `odata`, but a whole
 * number beyond Int32 becomes a Double.
 */
export function where<T extends object = Record<string, unknown>>(
  build: (f: FilterBuilder<T>) => Filter<T>,
): Filter<T> {
  return build(builder as unknown as FilterBuilder<T>);
}

// The results of all methods but or() can be operands of `and` without parentheses.
const builder: Record<keyof FilterBuilder, (...operands: never[]) => string> = {
  eq: (name: string, value: unknown) => comparison(name, "eq", value),
  ne: (name: string, value: unknown) => comparison(name, "ne", value),
  gt: (name: string, value: unknown) => comparison(name, "gt", value),
  ge: (name: string, value: unknown) => comparison(name, "ge", value),
  lt: (name: string, value: unknown) => comparison(name, "lt", value),
  le: (name: string, value: unknown) => comparison(name, "le", value),
  startsWith(name: string, prefix: string) {
    const { from, to } = prefixRange(prefix);
    const start = comparison(name, "ge", from);
    return to === undefined ? start : `${start} and ${comparison(name, "lt", to)}`;
  },
  and: (...conditions: string[]) => conditions.join(" and "),
  or: (...conditions: string[]) =>
    conditions.length === 1 ? (conditions[0] as string) : `(${conditions.join(" or ")})`,
  not: (condition: string) => `not (${condition})`,
};

function comparison(name: string, operator: string, value: unknown): string {
  return `${serviceName(name)} ${operator} ${operand(value)}`;
}

function operand(value: unknown): string {
  const text = literal(value, " ");
  // The service rejects a whole number beyond Int32 without a decimal point.
  const isLong = typeof value === "number" && (value | 0) !== value && /^-?\d+$/.test(text);
  return isLong ? `${text}.0` : text;
}
