// Names and values within hints.

const unitsMax = 60;

/** Returns the text, without its end if it is long. */
export function shortened(text: string): string {
  return text.length <= unitsMax ? text : `${text.slice(0, unitsMax)}…`;
}

/** Returns a value as in JavaScript code: a string in quotes. */
export function quoted(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(shortened(value)) : shortened(String(value));
}

/** Returns the character as text that can be read: `"/"` or U+000A. */
export function visibleCharacter(character: string): string {
  const point = character.codePointAt(0) as number;
  if (point > 0x20 && !(point >= 0x7f && point < 0xa0)) return JSON.stringify(character);
  if (point === 0x20) return "a blank";
  return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
}
