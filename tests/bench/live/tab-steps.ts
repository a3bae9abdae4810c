// Steps of two tabs of one database: the first writes, and the second has a live query. Each reads
// its own clock; an exchange of messages shows by how much the clocks differ.

import { keyOf } from "../peers/workload.ts";
import { load } from "./list-steps.ts";
import type { LiveDatabase, OpenLive } from "./live-adapter.ts";
import { firstRows, leastCount } from "./workload.ts";

export const tabRows = 1000;
const intervalMs = 15; // between two writes
const row = keyOf(0); // is updated

// Milliseconds since 1970, with microseconds.
const clock = () => performance.timeOrigin + performance.now();
const sleep = (ms: number) => new Promise((over) => setTimeout(over, ms));

// When each number was sent or seen, by the clock of the tab.
export type Times = Record<number, number>;

// ---- The tab that writes ------------------------------------------------------------------------

export async function fillShared(db: LiveDatabase): Promise<void> {
  await load(db, tabRows);
}

export interface SharedWrites {
  written: Times; // when each update was called
  sent: Times; // when each message was sent
}

// Updates the row, and sends a message to the other tab between two updates.
//
// `first`: the first number that is written; each may be written only once.
export async function writeShared(
  db: LiveDatabase,
  first: number,
  count: number,
): Promise<SharedWrites> {
  const channel = new BroadcastChannel("pings");
  const [written, sent]: [Times, Times] = [{}, {}];
  for (let n = leastCount + first; n < leastCount + first + count; ++n) {
    written[n] = clock();
    await db.update(row, n);
    await sleep(intervalMs);
    sent[n] = clock();
    channel.postMessage(n);
    await sleep(intervalMs);
  }
  channel.close();
  return { written, sent };
}

// Sends messages to the other tab. Returns how far its clock is ahead, in milliseconds.
export async function clockOffset(count: number): Promise<number> {
  const channel = new BroadcastChannel("pings");
  const sent: Times = {};
  let best = { roundTrip: Number.POSITIVE_INFINITY, offset: 0 };
  let answered = 0;
  channel.onmessage = ({ data: { i, at } }: MessageEvent<{ i: number; at: number }>) => {
    const [from, to] = [sent[i] as number, clock()];
    if (to - from < best.roundTrip) best = { roundTrip: to - from, offset: at - (from + to) / 2 };
    answered += 1;
  };
  for (let i = 0; i < count; ++i) {
    sent[i] = clock();
    channel.postMessage(i);
    await sleep(intervalMs);
  }
  while (answered < count) await sleep(intervalMs);
  channel.close();
  return best.offset;
}

// ---- The tab that follows -----------------------------------------------------------------------

export class FollowingTab {
  readonly #seen: Times = {};
  readonly #heard: Times = {};
  #live: OpenLive | undefined;

  // Waits until all rows have arrived.
  async follow(db: LiveDatabase): Promise<void> {
    this.#live = await db.live(firstRows(tabRows), () => {
      const at = clock();
      const count = this.#count();
      if (count !== undefined && count >= leastCount) this.#seen[count] ??= at;
    });
    while (this.#live.read().length < tabRows) await sleep(20);
    const channel = new BroadcastChannel("pings");
    channel.onmessage = ({ data: i }: MessageEvent<number>) => {
      const at = clock();
      this.#heard[i] = at;
      channel.postMessage({ i, at });
    };
  }

  times(): { seen: Times; heard: Times } {
    return { seen: this.#seen, heard: this.#heard };
  }

  #count(): number | undefined {
    return this.#live?.read().find(({ rowKey }) => rowKey === row.rowKey)?.count;
  }
}
