// Entities for databases that store JSON. Values that JSON does not have become numbers or texts.

import type { Entity } from "./workload.ts";

export interface JsonEntity extends Omit<Entity, "when" | "big" | "bytes"> {
  when: number; // milliseconds since 1970
  big: string; // decimal
  bytes: string; // base64
}

export const toBase64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));
export const fromBase64 = (text: string) =>
  Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

export function toJson(entity: Entity): JsonEntity {
  return {
    ...entity,
    when: entity.when.getTime(),
    big: entity.big.toString(),
    bytes: toBase64(entity.bytes),
  };
}

export function fromJson(row: JsonEntity): Entity {
  const { partitionKey, rowKey, name, city, note, count, rank, ratio, active, version } = row;
  const values = { when: new Date(row.when), big: BigInt(row.big), bytes: fromBase64(row.bytes) };
  const scalars = { name, city, note, count, rank, ratio, active, version };
  return { partitionKey, rowKey, ...scalars, ...values };
}
