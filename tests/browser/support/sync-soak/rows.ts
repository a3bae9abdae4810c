// Entities as texts that can be compared: as a store or a service returns them in JSON, and as a
// write sends them.

/** Keys of entities as one text. */
export type RowKey = string;

export const rowKeyOf = (partition: string, row: string): RowKey => `${partition}/${row}`;

export const partitionOf = (key: RowKey): string => key.slice(0, key.indexOf("/"));

export interface Row {
  readonly etag: string;
  readonly timestamp: string;
  /** Each value with its type. */
  readonly properties: ReadonlyMap<string, string>;
}

export type Rows = ReadonlyMap<RowKey, Row>;

/** A value as the clients take it. */
export type WrittenValue = string | number | boolean | { type: string; value: string };

/** A row that sync keeps for itself. */
const isReceipt = (row: string): boolean => row.startsWith("~entitable~");

/** Returns the rows of a page in the form `odata=minimalmetadata`, without receipts. */
export function rowsOfPage(json: string): Map<RowKey, Row> {
  const { value } = JSON.parse(json) as { value: Record<string, unknown>[] };
  const rows = new Map<RowKey, Row>();
  for (const { PartitionKey, RowKey, Timestamp, ...rest } of value) {
    if (isReceipt(String(RowKey))) continue;
    const names = Object.keys(rest).filter((name) => !name.includes("odata."));
    const properties = names
      .sort()
      .map((name): [string, string] => [name, textOf(rest[name], rest[`${name}@odata.type`])]);
    rows.set(rowKeyOf(String(PartitionKey), String(RowKey)), {
      etag: withoutZeros(String(rest["odata.etag"])),
      timestamp: withoutZeros(String(Timestamp)),
      properties: new Map(properties),
    });
  }
  return rows;
}

/** Azurite writes all digits of a time, and a store only those that it needs. */
const withoutZeros = (text: string): string =>
  text.replace(/\.(\d*?)0+Z/, ".$1Z").replace(".Z", "Z");

function textOf(value: unknown, annotation: unknown): string {
  const type = annotation === undefined ? inferredType(value) : String(annotation).slice(4);
  return `${type} ${String(value)}`;
}

export function textOfWritten(value: WrittenValue): string {
  return typeof value === "object"
    ? `${value.type} ${value.value}`
    : `${inferredType(value)} ${value}`;
}

function inferredType(value: unknown): string {
  if (typeof value === "boolean") return "Boolean";
  if (typeof value === "number") return Number.isInteger(value) ? "Int32" : "Double";
  return "String";
}

export function areSameProperties(
  a: ReadonlyMap<string, string> | undefined,
  b: ReadonlyMap<string, string> | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.size === b.size && [...a].every(([name, text]) => b.get(name) === text);
}

/** Returns what is different, for a message. */
export function differences(a: Rows, b: Rows): string[] {
  const keys = [...new Set([...a.keys(), ...b.keys()])].sort();
  return keys.flatMap((key) => {
    const [first, second] = [a.get(key), b.get(key)];
    const isSame =
      first?.etag === second?.etag &&
      first?.timestamp === second?.timestamp &&
      areSameProperties(first?.properties, second?.properties);
    return isSame ? [] : [`${key}: ${describeRow(first)}, and ${describeRow(second)}`];
  });
}

export function describeRow(row: Row | undefined): string {
  if (row === undefined) return "absent";
  return JSON.stringify([row.etag, row.timestamp, Object.fromEntries(row.properties)]);
}
