// Random bytes and GUIDs, from the platform or from the option OpenOptions.random.

import type { RandomSource } from "../types.ts";

export const platformRandom: RandomSource = {
  // crypto.randomUUID() would be simpler, but exists only in secure contexts.
  fill: (bytes) => void crypto.getRandomValues(bytes),
};

export function randomGuid(random = platformRandom): string {
  const b = new Uint8Array(16);
  random.fill(b);
  b[6] = ((b[6] as number) & 0x0f) | 0x40;
  b[8] = ((b[8] as number) & 0x3f) | 0x80;
  const hex = Array.from(b, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
