// Whether two results of a function are equal, so that the first of them can go on being shown.

/**
 * Returns whether the results consist of equal values in arrays, bytes and plain objects. Dates are
 * values. Other objects are equal if they are the same. `isDate`: util/platform-objects.ts.
 */
export function isEqualResult(
  a: unknown,
  b: unknown,
  isDate: (value: unknown) => boolean,
): boolean {
  const pairs: [unknown, unknown][] = [[a, b]];
  const compared = new Map<unknown, unknown>(); // results may have cycles
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const [one, other] = pair;
    if (Object.is(one, other)) continue;
    if (!isObject(one) || !isObject(other)) return false;
    if (compared.has(one)) {
      if (compared.get(one) !== other) return false;
      continue;
    }
    compared.set(one, other);
    const prototype = Object.getPrototypeOf(one);
    if (Object.getPrototypeOf(other) !== prototype) return false;
    if (isDate(one) && Number(one) === Number(other)) continue;
    const isPlain = prototype === null || prototype === Object.prototype;
    if (!isPlain && !Array.isArray(one) && !isTypedArray(one)) return false;
    const names = Object.keys(one);
    if (one["length"] !== other["length"] || names.length !== Object.keys(other).length)
      return false;
    for (const name of names) {
      if (!Object.hasOwn(other, name)) return false;
      pairs.push([one[name], other[name]]);
    }
  }
  return true;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isTypedArray(value: object): boolean {
  return ArrayBuffer.isView(value) && "length" in value;
}
