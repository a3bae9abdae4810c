// Several requests at once, but not too many.

const mostAtOnce = 8;

/** Begins with each item as soon as the one some places before it has ended. */
export function someAtOnce<T>(
  items: readonly T[],
  work: (item: T) => Promise<boolean>,
): readonly Promise<boolean>[] {
  const results: Promise<boolean>[] = [];
  for (const [index, item] of items.entries()) {
    const next = () => work(item);
    results.push(results[index - mostAtOnce]?.then(next, next) ?? next());
  }
  return results;
}

/**
 * Returns whether all have returned true. Returns or rejects when all have ended, so that none is
 * still running when the next begins.
 */
export async function allEnded(work: readonly Promise<boolean>[]): Promise<boolean> {
  const results = await Promise.allSettled(work);
  for (const result of results) if (result.status === "rejected") throw result.reason;
  return results.every((result) => result.status === "fulfilled" && result.value);
}
