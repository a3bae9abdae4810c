// Validates keys when they are encoded, rather than when the store rejects them.

const keyUnitsMax = 512; // 1 KiB of UTF-16

export function requireText(value: unknown, what: string): asserts value is string {
  if (typeof value !== "string") {
    throw new TypeError(`${what} must be a string, not ${value === null ? "null" : typeof value}.`);
  }
  const lone = value.search(/\p{Surrogate}/u);
  if (lone >= 0) {
    throw new RangeError(`${what} is not well-formed text: half a surrogate pair at ${lone}.`);
  }
}

export function requireKeyLength(key: string): string {
  if (key.length <= keyUnitsMax) return key;
  throw new RangeError(
    `A key has at most ${keyUnitsMax} characters (UTF-16 units); this one has ${key.length}: ${key.slice(0, 40)}…`,
  );
}

export function keyDecodeError(maker: string, key: string): RangeError {
  return new RangeError(`${maker} never makes this key: ${JSON.stringify(key.slice(0, 80))}.`);
}
