// Builds requests.

import type { EdmType, Key, Step } from "./request.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { Member } from "./values.ts";

const json = "application/json";
export const metadataLevels = [
  `${json};odata=nometadata`,
  `${json};odata=minimalmetadata`,
  `${json};odata=fullmetadata`,
  json,
];

// The last of these versions does not exist.
const versions = ["2019-02-02", "2018-03-28", "2020-12-06", "2099-01-01"];

export type Header = readonly [string, string];

export function makeStep(
  parts: Pick<Step, "operation" | "method" | "target"> & Partial<Step>,
): Step {
  const nothing = { types: [], headers: [], entities: [], tables: [], writes: false };
  return { ...nothing, tags: new Set(), ...parts };
}

// Headers that any request may have.
export function commonHeaders(random: SeededRandom): Header[] {
  const headers: Header[] = [["Accept", random.pick(metadataLevels)]];
  if (!random.oneIn(5)) headers.push(["x-ms-version", random.pick(versions)]);
  if (random.oneIn(4)) headers.push(["x-ms-client-request-id", `id-${random.below(1000)}`]);
  if (random.oneIn(4)) headers.push(["DataServiceVersion", "3.0"]);
  return headers;
}

export function encodeKey(text: string): string {
  return encodeURIComponent(text.replaceAll("'", "''"));
}

export function entityPath(table: string, { pk, rk }: Key): string {
  return `/${table}(PartitionKey='${encodeKey(pk)}',RowKey='${encodeKey(rk)}')`;
}

// Encodes text for the query of a URL.
export function encodeQueryValue(text: string): string {
  return encodeURIComponent(text).replaceAll("'", "%27");
}

export interface Named extends Member {
  name: string;
}

// Returns an entity as JSON. Keys that are undefined are left out.
export function entityBody(
  random: SeededRandom,
  keys: Partial<Key>,
  members: readonly Named[],
): string {
  const out: string[] = [];
  if (keys.pk !== undefined) out.push(`"PartitionKey":${JSON.stringify(keys.pk)}`);
  if (keys.rk !== undefined) out.push(`"RowKey":${JSON.stringify(keys.rk)}`);
  for (const { name, json: value, annotation } of members) {
    const pair = [`${JSON.stringify(name)}:${value}`];
    if (annotation !== undefined) {
      const type = `${JSON.stringify(`${name}@odata.type`)}:"Edm.${annotation}"`;
      if (random.oneIn(4)) pair.push(type);
      else pair.unshift(type);
    }
    out.push(...pair);
  }
  return `{${out.join(",")}}`;
}

// The name of a property. Properties with the same name have the same type in all tables, so that
// filters match some of them.
export const propertyName = (type: EdmType, n: number) => `${type.toLowerCase()}${n}`;
