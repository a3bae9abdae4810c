// What sync tells the user: whether all changes are saved, and which changes were lost because
// another user had changed the same item.

import type { LostWrite, Sync, SyncStatus } from "entitable/sync";
import { useCallback, useEffect, useState, useSyncExternalStore } from "react";

// A whole transaction loses: perhaps another user has changed only one of its items.
const lostText = "Another user was faster. These changes are not in the shared list:";

export function SyncBar({ sync }: { sync: Sync }) {
  const subscribe = useCallback((listener: () => void) => sync.subscribe(listener), [sync]);
  const status = useSyncExternalStore(subscribe, () => sync.status);
  const conflicts = useConflicts(sync, status);
  return (
    <aside aria-label="Sync">
      <p>
        <output>{describeStatus(status)}</output>{" "}
        <button type="button" onClick={() => sync.now()}>
          Sync now
        </button>
      </p>
      {conflicts.length > 0 && <p>{lostText}</p>}
      <ul>
        {conflicts.map((writes) => (
          <Conflict key={writes[0]?.id} sync={sync} writes={writes} />
        ))}
      </ul>
    </aside>
  );
}

/** Returns the lost writes, grouped by the item. */
function useConflicts(sync: Sync, status: SyncStatus): LostWrite[][] {
  const [conflicts, setConflicts] = useState<LostWrite[][]>([]);
  useEffect(() => {
    let isCurrent = true;
    void lostByItem(sync).then((lost) => {
      if (isCurrent) setConflicts(lost);
    });
    return () => {
      isCurrent = false;
    };
  }, [sync, status]);
  return conflicts;
}

async function lostByItem(sync: Sync): Promise<LostWrite[][]> {
  const items = new Map<string, LostWrite[]>();
  for await (const write of sync.lost()) {
    const writes = items.get(write.rowKey) ?? [];
    items.set(write.rowKey, [...writes, write]);
  }
  return [...items.values()];
}

/** `writes`: of one item, in the order in which the user made them. */
function Conflict({ sync, writes }: { sync: Sync; writes: LostWrite[] }) {
  const { isRemoteKnown, local: mine, remote: theirs, rowKey } = writes.at(-1) as LostWrite;
  const name = String((mine ?? theirs)?.["name"] ?? rowKey);
  const resolve = async (decide: (id: string) => Promise<void>) => {
    for (const { id } of writes) await decide(id);
  };
  return (
    <li aria-label={`Conflict: ${name}`}>
      {name}: yours {describeItem(mine)}, theirs{" "}
      {isRemoteKnown ? describeItem(theirs) : "not known"}{" "}
      <button type="button" onClick={() => resolve((id) => sync.restore(id))}>
        Use mine
      </button>{" "}
      <button type="button" onClick={() => resolve((id) => sync.discard(id))}>
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
  if (error !== undefined) return `${error.message}${waiting}`;
  if (online === false) return `You are offline.${waiting}`;
  if (phase === "connecting" || phase === "downloading") return `Loading the list…${waiting}`;
  return waiting.trim() || "All changes are saved.";
}
