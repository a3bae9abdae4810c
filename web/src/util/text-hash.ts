// FNV-1a over the code units of a text.

const basis = 0x811c9dc5;
const prime = 0x01000193;

/** Returns a whole number below 2 ** 32. Another `start` gives another hash of the same text. */
export function textHash(text: string, start = basis): number {
  let bits = start;
  for (let i = 0; i < text.length; ++i) bits = Math.imul(bits ^ text.charCodeAt(i), prime);
  return bits >>> 0;
}
