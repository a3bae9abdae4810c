// What sync tells the user: whether all changes are saved, and which changes were lost because
// another user had changed the same item.

import type { LostWrite, Sync, SyncStatus } from "entitable/sync";
import { useCallback, useEffect, useState, useSyncExternalStore } from "react";

// A whole transaction loses: perhaps another user has changed only one of its items.
const lostText = "Another user was faster. These changes are not in the shared list:";

export function SyncBar({ sync }: { sync: Sync }) {
  const subscribe = useCallback((listener: () => void) => sync.subscribe(listener), [sync]);
  const status = useSyncExternalStore(subscribe, () => sync.status);
  const [problem, setProblem] = useState("");
  const attempt = useCallback(async (work: () => Promise<unknown>) => {
    const message = await work().then(() => "", String);
    setProblem(message);
  }, []);
  const { conflicts, problem: unread } = useConflicts(sync, status);
  return (
    <aside aria-label="Sync">
      <p>
        <output>{describeStatus(status)}</output>{" "}
        <button type="button" onClick={() => attempt(() => sync.now())}>
          Sync now
        </button>
      </p>
      {(problem || unread) !== "" && <p role="alert">{problem || unread}</p>}
      {conflicts.length > 0 && <p>{lostText}</p>}
      <ul>
        {conflicts.map((writes) => (
          <Conflict key={writes[0]?.id} sync={sync} writes={writes} attempt={attempt} />
        ))}
      </ul>
    </aside>
  );
}

/** Shows the error if the work fails. */
type Attempt = (work: () => Promise<unknown>) => Promise<void>;

interface Conflicts {
  conflicts: LostWrite[][];
  problem: string; // why they cannot be read, or ""
}

/** Returns the lost writes, grouped by the item. */
function useConflicts(sync: Sync, status: SyncStatus): Conflicts {
  const [state, setState] = useState<Conflicts>({ conflicts: [], problem: "" });
  useEffect(() => {
    let isCurrent = true;
    lostByItem(sync)
      .then((conflicts) => ({ conflicts, problem: "" }))
      .catch((error) => ({ conflicts: [], problem: String(error) }))
      .then((next) => isCurrent && setState(next));
    return () => {
      isCurrent = false;
    };
  }, [sync, status]);
  return state;
}

async function lostByItem(sync: Sync): Promise<LostWrite[][]> {
  const items = new Map<string, LostWrite[]>();
  for await (const write of sync.lost()) {
    const writes = items.get(write.rowKey) ?? [];
    items.set(write.rowKey, [...writes, write]);
  }
  return [...items.values()];
}

interface ConflictProperties {
  sync: Sync;
  writes: LostWrite[];
  attempt: Attempt;
}

/** `writes`: of one item, in the order in which the user made them. */
function Conflict({ sync, writes, attempt }: ConflictProperties) {
  const [isDeciding, setDeciding] = useState(false);
  const { isRemoteKnown, local: mine, remote: theirs, rowKey } = writes.at(-1) as LostWrite;
  const name = String((mine ?? theirs)?.["name"] ?? rowKey);
  const resolve = async (decide: (id: string) => Promise<void>) => {
    setDeciding(true);
    await attempt(async () => {
      for (const { id } of writes) await decide(id);
    });
    setDeciding(false);
  };
  return (
    <li aria-label={`Conflict: ${name}`}>
      {name}: yours {describeItem(mine)}, theirs{" "}
      {isRemoteKnown ? describeItem(theirs) : "not known"}{" "}
      <button type="button" disabled={isDeciding} onClick={() => resolve((id) => sync.restore(id))}>
        Use mine
      </button>{" "}
      <button type="button" disabled={isDeciding} onClick={() => resolve((id) => sync.discard(id))}>
        Keep theirs
      </button>
    </li>
  );
}

function describeItem(item: LostWrite["local"]): string {
  if (item === undefined) return "none";
  return `${item["amount"]}${item["done"] === true ? ", ticked" : ""}`;
}

function describeStatus({ error, online, pending, phase }: SyncStatus): string {
  const changes = pending === 1 ? "1 change is waiting." : `${pending} changes are waiting.`;
  const waiting = pending === 0 ? "" : ` ${changes}`;
  // Without a connection, there is no new signature either.
  if (error !== undefined && error.code !== "NoCredential") return `${error.message}${waiting}`;
  if (online === false) return `You are offline.${waiting}`;
  if (phase === "connecting" || phase === "downloading") return `Loading the list…${waiting}`;
  return waiting.trim() || "All changes are saved.";
}
