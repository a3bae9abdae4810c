// Reads the keys that are marked (PROTOCOL.md, Pulling): many that are close together by a scan of
// the stretch in which they are, and the others one by one.

import { applyAnswer } from "./apply-answer.ts";
import { applyPage } from "./apply-page.ts";
import type { SyncContext } from "./context.ts";
import type { TableView } from "./draft.ts";
import { isInRange, type Key, keyAfter } from "./keys.ts";
import { isUnread } from "./partition-log.ts";
import type { ReadAnswer, ScanAnswer } from "./remote.ts";
import type { Requests } from "./requests.ts";
import { allEnded, someAtOnce } from "./some-at-once.ts";

const failuresMax = 3; // keys, until the rest is left for the next time
const marksPerStep = 1000;
const togetherMin = 5; // keys that are worth a scan
const rowsPerKeyMax = 20; // that are worth a scan: a page takes about as long as so many reads

/**
 * Reads every key that is marked, but for dirty ones: their push brings the news itself, or leaves
 * the key marked. Returns whether all of them could be read.
 */
export async function readMarked(context: SyncContext, requests: Requests): Promise<boolean> {
  let failures = 0;
  const isRead = async (key: Key): Promise<boolean> => {
    if (failures >= failuresMax) return false;
    if (await readKey(context, requests, key)) return true;
    failures += 1;
    return false;
  };
  for (let from: Key | undefined = ""; from !== undefined; ) {
    const first: Key = from;
    const { keys, next } = await context.store.read((view) => markedKeys(view, first));
    const left = new Set(keys);
    for (const range of context.rules.ranges) {
      const inRange = keys.filter((key) => isInRange(key, range));
      if (inRange.length >= togetherMin) await readTogether(context, requests, inRange, left);
    }
    await allEnded(someAtOnce([...left], isRead));
    if (failures >= failuresMax) return false;
    from = next;
  }
  return failures === 0;
}

/** Returns the marked keys that are not dirty, and where to continue. */
function markedKeys(view: TableView, from: Key): { keys: Key[]; next: Key | undefined } {
  const keys: Key[] = [];
  let count = 0;
  for (const [key] of view.entries("marks", from)) {
    if (count === marksPerStep) return { keys, next: key };
    count += 1;
    if (view.get("bases", key) === undefined || isUnread(view, key)) keys.push(key);
  }
  return { keys, next: undefined };
}

/**
 * Scans the stretch of the keys until a page has few of them. Takes those that a page has from
 * `left`. The others may be absent, or the remote does not answer.
 */
async function readTogether(
  { remote, rules, store }: SyncContext,
  requests: Requests,
  keys: readonly Key[],
  left: Set<Key>,
): Promise<void> {
  const range = { from: keys[0] as Key, to: keyAfter(keys.at(-1) as Key) };
  const request = { range, keysOnly: false, isFiltered: rules.sendsFilter };
  for (let token: string | undefined; ; ) {
    const scan = () => remote.scan({ ...request, token });
    const { answer, sentAt } = await requests.triedRead<ScanAnswer>(scan);
    if (answer.kind !== "page") return;
    const rows = answer.rows.filter(({ key }) => left.delete(key));
    await store.transact((draft) => {
      applyPage(draft, rows, sentAt, rules.keeps);
      requests.clock.store(draft);
    });
    token = answer.token;
    if (token === undefined || rows.length * rowsPerKeyMax < answer.rows.length) return;
  }
}

/** Returns false if the remote cannot be reached. */
async function readKey(
  { remote, rules, store }: SyncContext,
  requests: Requests,
  key: Key,
): Promise<boolean> {
  const { answer, sentAt } = await requests.triedRead<ReadAnswer>(() => remote.read(key));
  if (answer.kind === "failed" || answer.kind === "unauthorized") return false;
  if (answer.kind !== "found" && answer.kind !== "absent") return true; // never deletes
  const row = answer.kind === "found" ? answer.row : undefined;
  await store.transact((draft) => {
    applyAnswer(draft, key, row, sentAt, rules.keeps);
    requests.clock.store(draft);
  });
  return true;
}
