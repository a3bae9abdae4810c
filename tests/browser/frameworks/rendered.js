// Counts how often each component has rendered, and lists the statuses that were shown.

const counts = new Map();
const statuses = [];

export function rendered(label) {
  counts.set(label, (counts.get(label) ?? 0) + 1);
}

/** Returns the counts since the last call. */
export function takeRendered() {
  const taken = Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  counts.clear();
  return taken;
}

/** Called where a status is rendered. Returns it. */
export function shown(id, status) {
  const text = `${id} ${status}`;
  if (statuses.at(-1) !== text) statuses.push(text);
  return status;
}

/** Returns the statuses since the last call, without repetitions. */
export function takeShown() {
  return statuses.splice(0);
}
