// The filter of a table for a condition of a query of TanStack DB.
//
// The filter matches each row that the condition accepts, and possibly more: TanStack DB checks the
// condition again. A part of a condition that has no such filter becomes `undefined`: every row.

import type { IR } from "@tanstack/db";
import { type FilterBuilder, where } from "../filter/where.ts";
import { isDate } from "../util/platform-objects.ts";

export interface SubsetFilter {
  readonly text: string | undefined; // undefined: every row
  /** Whether the filter matches no other rows than those that the condition accepts. */
  readonly isExact: boolean;
}

/** Returns the name of an entity's property in filters; undefined: it cannot be filtered by. */
export type PropertyNames = (name: string) => string | undefined;

type Builder = FilterBuilder<Record<string, unknown>>;
type Operator = "eq" | "ne" | "gt" | "ge" | "lt" | "le";
type Expression = IR.BasicExpression;

const everyRow: SubsetFilter = { text: undefined, isExact: false };
const operators: Readonly<Record<string, Operator>> = {
  eq: "eq",
  gt: "gt",
  gte: "ge",
  lt: "lt",
  lte: "le",
};
const opposite = { eq: "ne", ne: "eq", gt: "le", ge: "lt", lt: "ge", le: "gt" } as const;
const mirrored = { eq: "eq", ne: "ne", gt: "lt", ge: "le", lt: "gt", le: "ge" } as const;
const orEqual = { eq: "eq", ne: "ne", gt: "ge", ge: "ge", lt: "le", le: "le" } as const;

// A longer list of values becomes the range from the smallest to the greatest one.
const valuesMax = 200;
const keyNames = ["partitionKey", "rowKey"];

/** `names`: which properties of a row are properties of its entity, with equal values. */
export function subsetFilter(
  condition: Expression | undefined,
  names: PropertyNames,
): SubsetFilter {
  if (condition === undefined) return { text: undefined, isExact: true };
  let filter = everyRow;
  where((f) => {
    filter = new Translator(f, names).filterOf(condition, false);
    return "";
  });
  return filter;
}

/** Returns whether the condition names the only partition key that it accepts. */
export function isOnePartition(condition: Expression | undefined, names: PropertyNames): boolean {
  if (condition?.type !== "func") return false;
  if (condition.name === "and") return condition.args.some((part) => isOnePartition(part, names));
  return (
    condition.name === "eq" && condition.args.some((part) => nameIn(part, names) === "partitionKey")
  );
}

/** Returns the name of the property that the expression is; undefined: it is none. */
export function nameIn(expression: Expression, names: PropertyNames): string | undefined {
  const [name, ...rest] = expression.type === "ref" ? expression.path : [];
  if (name === undefined || rest.length > 0) return undefined;
  const property = names(name);
  return property !== undefined && isFilterable(property) ? property : undefined;
}

function isFilterable(name: string): boolean {
  return (
    /^[A-Za-z_]\w*$/.test(name) &&
    !/^(etag|timestamp|not|true|false|null|NaN|INF|Infinity)$/.test(name)
  );
}

class Translator {
  readonly #f: Builder;
  readonly #names: PropertyNames;

  constructor(f: Builder, names: PropertyNames) {
    this.#f = f;
    this.#names = names;
  }

  filterOf(expression: Expression, isNegated: boolean): SubsetFilter {
    if (expression.type !== "func") return everyRow;
    const { name, args } = expression;
    const [first, second] = args as [Expression, Expression];
    switch (name) {
      case "not":
        return this.filterOf(first, !isNegated);
      case "and":
      case "or":
        return this.#joined(
          (name === "and") !== isNegated,
          args.map((part) => this.filterOf(part, isNegated)),
        );
      case "in":
        return isNegated ? everyRow : this.#oneOf(first, second);
      case "like":
        return isNegated ? everyRow : this.#prefix(first, second);
    }
    const operator = operators[name];
    return operator === undefined
      ? everyRow
      : this.#comparison(isNegated ? opposite[operator] : operator, first, second);
  }

  #joined(isAnd: boolean, parts: readonly SubsetFilter[]): SubsetFilter {
    const texts = parts.flatMap(({ text }) => text ?? []);
    const isExact = parts.every((part) => part.isExact);
    const [first, ...others] = texts;
    if (first === undefined || (!isAnd && texts.length < parts.length)) return everyRow;
    return { text: isAnd ? this.#f.and(first, ...others) : this.#f.or(first, ...others), isExact };
  }

  #comparison(operator: Operator, left: Expression, right: Expression): SubsetFilter {
    if (left.type === "val") return this.#comparison(mirrored[operator], right, left);
    const name = nameIn(left, this.#names);
    if (name === undefined || right.type !== "val") return everyRow;
    return this.#compared(name, operator, right.value);
  }

  #compared(name: string, operator: Operator, value: unknown): SubsetFilter {
    switch (typeof value) {
      case "string":
      case "boolean": {
        const isExact = operator === "eq" || keyNames.includes(name);
        return { text: this.#f[operator](name, value), isExact };
      }
      case "number":
      case "bigint":
        return { text: this.#numberText(name, operator, value), isExact: false };
      default:
        return isDate(value)
          ? { text: this.#dateText(name, operator, value), isExact: false }
          : everyRow;
    }
  }

  // A property counts as less than a number whose type cannot hold all its values. An Int32 literal
  // is compared by value with numbers of each type.
  #numberText(name: string, operator: Operator, value: number | bigint): string | undefined {
    if (operator === "ne") return undefined; // JavaScript's 0n and 0 differ
    const isLowest = operator === "gt" || operator === "ge"; // rather than the highest number
    if (typeof value === "number" && !Number.isInteger(value)) {
      if (!Number.isFinite(value)) return undefined;
      if (operator === "eq") return this.#f.eq(name, value); // only a Double is equal
      const whole = isLowest ? Math.floor(value) : Math.ceil(value);
      return this.#numberText(name, isLowest ? "gt" : "lt", whole);
    }
    const whole = BigInt(value);
    if (whole === BigInt.asIntN(32, whole)) return this.#number(operator, name, Number(whole));
    if (whole !== BigInt.asIntN(64, whole) || (isLowest && whole < 0n)) return undefined;
    // A Double is compared with the nearest Double.
    return this.#number(orEqual[operator], name, whole);
  }

  // TanStack DB counts NaN as greater than every number, but no comparison in a filter matches it.
  #number(operator: Operator, name: string, value: number | bigint): string {
    return operator === "gt" || operator === "ge"
      ? this.#f.not(this.#f[opposite[operator]](name, value))
      : this.#f[operator](name, value);
  }

  // A DateTime has more digits than a Date.
  #dateText(name: string, operator: Operator, value: Date): string | undefined {
    const time = value.getTime();
    const next = new Date(time + 1);
    if (!(value.getUTCFullYear() > 1601 && next.getUTCFullYear() < 9999)) return undefined;
    switch (operator) {
      case "eq":
        return this.#f.and(this.#f.ge(name, value), this.#f.lt(name, next));
      case "ne":
        return undefined;
      case "le":
        return this.#f.lt(name, next);
      default:
        return this.#f[operator](name, value);
    }
  }

  #oneOf(left: Expression, list: Expression): SubsetFilter {
    const name = nameIn(left, this.#names);
    if (name === undefined || list.type !== "val" || !Array.isArray(list.value)) return everyRow;
    const values = [
      ...new Set(list.value.filter((value) => value !== null && value !== undefined)),
    ];
    if (values.length === 0) return { text: "false", isExact: true };
    if (values.length > valuesMax) return this.#range(name, values);
    return this.#joined(
      false,
      values.map((value) => this.#compared(name, "eq", value)),
    );
  }

  #range(name: string, values: unknown[]): SubsetFilter {
    if (!values.every((value): value is string => typeof value === "string")) return everyRow;
    const [least, greatest] = values.reduce(
      ([low, high], value) => [value < low ? value : low, value > high ? value : high] as const,
      [values[0], values[0]] as readonly [string, string],
    );
    return {
      text: this.#f.and(this.#f.ge(name, least), this.#f.le(name, greatest)),
      isExact: false,
    };
  }

  #prefix(left: Expression, pattern: Expression): SubsetFilter {
    const name = nameIn(left, this.#names);
    if (name === undefined || pattern.type !== "val" || typeof pattern.value !== "string")
      return everyRow;
    const prefix = /^[^%_\\]*/.exec(pattern.value)?.[0];
    return prefix ? { text: this.#f.startsWith(name, prefix), isExact: false } : everyRow;
  }
}
