// Counts how often each component has rendered.

const counts = new Map();

export function rendered(label) {
  counts.set(label, (counts.get(label) ?? 0) + 1);
}

/** Returns the counts since the last call. */
export function takeRendered() {
  const taken = Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  counts.clear();
  return taken;
}
