// What each contender does in a round, and how long it takes.

export interface Workload {
  readonly entities: number; // that are downloaded; a multiple of 100
  readonly edits: number; // of the first of them
  readonly budgetMs: number; // of each step of a peer, which is stopped if it takes longer
}

export interface Times {
  readonly downloadMs?: number;
  readonly pushMs?: number;
  /** In which step it was stopped. */
  readonly stopped?: string;
}

/** An edit sets this version. Before, it is 0. */
export const editedVersion = 1;

export function requireEdits(found: number, expected: number): void {
  if (found !== expected) throw new Error(`${found} edits are at the remote, not ${expected}.`);
}
