// Whether two results of a function are equal, so that the first of them can go on being shown.

import { isEqual } from "./live-rows.ts";

/**
 * Returns whether the results consist of equal values in arrays and plain objects. Dates and bytes
 * are values. Other objects are equal if they are the same. `isDate`: util/platform-objects.ts.
 */
export function isEqualResult(
  a: unknown,
  b: unknown,
  isDate: (value: unknown) => boolean,
): boolean {
  const isValue = (value: unknown) => isDate(value) || ArrayBuffer.isView(value);
  const pairs: [unknown, unknown][] = [[a, b]];
  const compared = new Map<unknown, unknown>(); // results may have cycles
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const [one, other] = pair;
    if (Object.is(one, other)) continue;
    if (compared.has(one)) {
      if (compared.get(one) !== other) return false;
      continue;
    }
    if (isValue(one) && isValue(other)) {
      if (!isEqual(one, other)) return false;
      continue;
    }
    if (!isCollection(one) || !isCollection(other)) return false;
    compared.set(one, other);
    const names = Object.keys(one);
    if (Array.isArray(one) !== Array.isArray(other) || one["length"] !== other["length"])
      return false;
    if (names.length !== Object.keys(other).length) return false;
    for (const name of names) {
      if (!Object.hasOwn(other, name)) return false;
      pairs.push([one[name], other[name]]);
    }
  }
  return true;
}

// Returns whether it is an array or a plain object.
function isCollection(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Array.isArray(value);
}
