// Finds what in an entity breaks a rule of the service (core/model/limits.h). The store has
// rejected the entity; these functions only look for the cause, and find none where they know too
// little.

import { quoted, shortened, visibleCharacter } from "./text.ts";

export interface TypedValue {
  type: string;
  value: unknown;
}

export const keyUnitsMax = 512;
const textUnitsMax = 32_768;
const binaryBytesMax = 65_536;
const systemNames = ["partitionKey", "rowKey", "timestamp", "etag"];

/** Returns the entity's properties, except those that are not stored as such. */
export function propertiesOf(entity: object): [name: string, value: unknown][] {
  return Object.entries(entity).filter(
    ([name, value]) => !systemNames.includes(name) && value !== undefined && value !== null,
  );
}

// ---- Keys -------------------------------------------------------------------------------------

export function forbiddenCharacterOf(key: unknown): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are forbidden
  return typeof key === "string" ? /[/\\#?\x00-\x1f\x7f-\x9f]/.exec(key)?.[0] : undefined;
}

/** Returns a property whose name is `name` in another form, such as PartitionKey. */
export function otherSpellingOf(name: string, entity: object): string | undefined {
  const folded = fold(name);
  return Object.keys(entity).find((other) => other !== name && fold(other) === folded);
}

/** Returns the name without what differs between spellings: letter case, _. */
export function fold(name: string): string {
  return name.toLowerCase().replaceAll("_", "");
}

// ---- Names ------------------------------------------------------------------------------------

const nameStart = /^[\p{L}\p{Nl}_]$/u;
const namePart = /^[\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}\p{Cf}]$/u;

/** Says what is wrong with the first name that is not valid. */
export function invalidNameIn(entity: object): string | undefined {
  for (const [name] of propertiesOf(entity)) {
    const bad = [...name].find((one, i) => !(i === 0 ? nameStart : namePart).test(one));
    if (name === "") return "A property has the empty name.";
    if (bad === undefined) continue;
    const what = name.startsWith(bad) ? "begins with" : "contains";
    return `The property name ${quoted(name)} ${what} ${visibleCharacter(bad)}.`;
  }
  return undefined;
}

export function longestNameOf(entity: object): string {
  const names = propertiesOf(entity).map(([name]) => name);
  return names.reduce((longest, name) => (name.length > longest.length ? name : longest), "");
}

// ---- Values -----------------------------------------------------------------------------------

/** Says which value is too large. */
export function tooLargeValueIn(entity: object): string | undefined {
  for (const [name, value] of propertiesOf(entity)) {
    const size = sizeOf(value);
    const isText = typeof untyped(value) === "string" && typeOf(value) !== "Binary";
    if (size <= (isText ? textUnitsMax * 2 : binaryBytesMax)) continue;
    const amount = isText
      ? `${size / 2} characters; at most ${textUnitsMax}`
      : `${size} bytes; at most ${binaryBytesMax}`;
    return `The property ${shortened(name)} has ${amount} are possible.`;
  }
  return undefined;
}

export function largestPropertyOf(entity: object): string | undefined {
  const sizes = propertiesOf(entity).map(([name, value]): [string, number] => [
    name,
    sizeOf(value),
  ]);
  const [largest] = sizes.sort(([, a], [, b]) => b - a);
  return largest?.[0];
}

/** Returns the bytes of a string or of Binary, and 0 for other values, which are small. */
export function sizeOf(value: unknown): number {
  const content = untyped(value);
  if (typeof content === "string")
    return typeOf(value) === "Binary" ? Math.floor((content.length * 3) / 4) : content.length * 2;
  return (Object(content) as { byteLength?: number }).byteLength ?? 0;
}

/** Says which value does not have the form of its type. */
export function invalidValueIn(entity: object): string | undefined {
  for (const [name, value] of propertiesOf(entity)) {
    const type = typeOf(value);
    if (type === undefined) continue;
    const isValid = Object.hasOwn(forms, type) ? forms[type] : undefined;
    const what = `The property ${shortened(name)} has the value ${quoted(untyped(value))}`;
    if (isValid === undefined)
      return `${what} and the type ${quoted(type)}, which does not exist. The types are ${Object.keys(forms).join(", ")}.`;
    if (!isValid(untyped(value))) return `${what}, which is not a value of the type ${type}.`;
  }
  return undefined;
}

const guid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

const forms: Readonly<Record<string, (value: unknown) => boolean>> = {
  String: (value) => typeof value === "string",
  Binary: (value) => typeof value !== "string" || /^[\w+/-]*={0,2}$/.test(value),
  Boolean: (value) => /^(?:true|false)$/i.test(String(value)),
  DateTime: (value) => !Number.isNaN(Date.parse(String(value))),
  Double: (value) => /^-?Infinity$|^NaN$/.test(String(value)) || isNumber(value),
  Guid: (value) => guid.test(String(value)),
  Int32: (value) => isNumber(value) && (Number(value) | 0) === Number(value),
  Int64: (value) =>
    /^[+-]?\d+$/.test(String(value)) &&
    BigInt.asIntN(64, BigInt(String(value))) === BigInt(String(value)),
};

function isNumber(value: unknown): boolean {
  return String(value).trim() !== "" && Number.isFinite(Number(value));
}

function untyped(value: unknown): unknown {
  return typeOf(value) === undefined ? value : (value as TypedValue).value;
}

function typeOf(value: unknown): string | undefined {
  const { type, value: content } = Object(value) as Partial<TypedValue>;
  return typeof type === "string" && content !== undefined ? type : undefined;
}
