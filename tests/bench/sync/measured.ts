// A row of the table of sync.ts.

export interface Measured {
  readonly what: string;
  readonly target: string;
  /** By place. What does not depend on the place is in the first column. */
  readonly values: Readonly<Partial<Record<"node" | "chromium", string>>>;
}

/** Merges the rows of several places that have the same name. */
export function merged(rows: readonly Measured[]): Measured[] {
  const all = new Map<string, Measured>();
  for (const row of rows) {
    const values = { ...all.get(row.what)?.values, ...row.values };
    all.set(row.what, { ...row, values });
  }
  return [...all.values()];
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
