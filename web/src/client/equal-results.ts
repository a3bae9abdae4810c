// Whether two results of a function are equal, so that the first of them can go on being shown.

type Pair = [unknown, unknown];
type Properties = Record<string, unknown>;

/**
 * Returns whether the results consist of equal values in arrays, bytes and plain objects. Dates are
 * values. Other objects are equal if they are the same. Of an array, only the elements count; of a
 * plain object, only the properties whose keys are strings. An object that occurs twice is not
 * equal to two objects. `isDate`: util/platform-objects.ts.
 */
export function isEqualResult(
  a: unknown,
  b: unknown,
  isDate: (value: unknown) => boolean,
): boolean {
  const pairs: Pair[] = [[a, b]];
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
    if (isList(one) && isList(other)) {
      if (!addElements(pairs, one, other)) return false;
    } else if (!isPlain || !addProperties(pairs, one, other)) return false;
  }
  return true;
}

// The following two add the pairs that must be compared. They return false if the objects differ.

// By index: the names of the elements would take far longer to make than the comparison.
function addElements(pairs: Pair[], one: ArrayLike<unknown>, other: ArrayLike<unknown>): boolean {
  const { length } = one;
  if (length !== other.length) return false;
  for (let i = 0; i < length; ++i) if (!addPair(pairs, one[i], other[i])) return false;
  return true;
}

function addProperties(pairs: Pair[], one: Properties, other: Properties): boolean {
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every(
    (name) => Object.hasOwn(other, name) && addPair(pairs, one[name], other[name]),
  );
}

function addPair(pairs: Pair[], one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  pairs.push([one, other]);
  return isObject(one);
}

function isObject(value: unknown): value is Properties {
  return typeof value === "object" && value !== null;
}

function isList(value: object): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && "length" in value);
}
