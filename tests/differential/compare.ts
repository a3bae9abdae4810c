// Finds the differences between two responses.

import type { Difference, NormalisedResponse } from "./request.ts";

export const outcome = ({ status, code, parts }: NormalisedResponse): string => {
  const inside = parts?.map((part) => outcome(part)) ?? [];
  return `${status}${parts === undefined && code !== "" ? ` ${code}` : ""}${inside.length > 0 ? ` [${inside}]` : ""}`;
};

// Returns the differences. If the outcomes differ, returns only this difference, because it causes
// all others.
export function compare(ours: NormalisedResponse, theirs: NormalisedResponse): Difference[] {
  const [a, b] = [outcome(ours), outcome(theirs)];
  if (a !== b) return [{ path: "outcome", ours: a, theirs: b }];
  const out: Difference[] = [];
  compareTrees(
    "",
    { headers: ours.headers, body: ours.body },
    { headers: theirs.headers, body: theirs.body },
    out,
  );
  for (const [i, part] of (ours.parts ?? []).entries()) {
    const other = theirs.parts?.[i] as NormalisedResponse;
    compareTrees(
      `.parts.${i}`,
      { headers: part.headers, body: part.body },
      { headers: other.headers, body: other.body },
      out,
    );
  }
  return out;
}

const isTree = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !("number" in value);

function compareTrees(path: string, ours: unknown, theirs: unknown, out: Difference[]): void {
  if (isTree(ours) && isTree(theirs) && Array.isArray(ours) === Array.isArray(theirs)) {
    // If two lists have different rows, comparing them row by row is useless.
    if (Array.isArray(ours) && namesOf(ours) !== namesOf(theirs)) {
      out.push({ path: `${path.slice(1)}.rows`, ours: namesOf(ours), theirs: namesOf(theirs) });
      return;
    }
    for (const name of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
      compareTrees(`${path}.${name}`, ours[name], theirs[name], out);
    }
  } else if (JSON.stringify(ours) !== JSON.stringify(theirs)) {
    out.push({ path: path.slice(1), ours, theirs });
  }
}

// Returns a name for a row: its keys, or the table's name.
export function rowName(row: unknown): string {
  const { PartitionKey: pk, RowKey: rk, TableName: table } = (row ?? {}) as Record<string, unknown>;
  return String(table ?? `${pk}|${rk}`);
}

const namesOf = (rows: unknown) => JSON.stringify((rows as unknown[]).map(rowName));
