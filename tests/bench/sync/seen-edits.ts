// How long it takes until an edit in one browser is seen in another one: by the feed of the server,
// and by polls. Beside the feed, the least that this can take: pages without sync, of which one
// puts a row at the server and the other reads the feed.

import { setTimeout as delay } from "node:timers/promises";
import { BenchServer } from "./bench-server.ts";
import type { Measured } from "./measured.ts";
import { PagePlace } from "./places.ts";

const table = "people";
const plainTable = "plain"; // not synced
const rows = 1000;
const pauseMs = 20; // between two edits that the feed brings

interface Browsers {
  readonly server: BenchServer;
  readonly a: PagePlace;
  readonly b: PagePlace;
}

/** `pollMs`: how often each browser asks for changes, if there is no feed. */
export async function seenEdits(edits: number, pollMs: number): Promise<Measured[]> {
  return [
    ...(await withBrowsers(true, {}, (browsers) => byFeed(browsers, edits))),
    ...(await withBrowsers(false, { minMs: pollMs, maxMs: pollMs, hiddenMs: pollMs }, (browsers) =>
      byPolls(browsers, edits, pollMs),
    )),
  ];
}

async function withBrowsers(
  hasFeed: boolean,
  schedule: object,
  measure: (browsers: Browsers) => Promise<Measured[]>,
): Promise<Measured[]> {
  const server = await BenchServer.start({ hasFeed });
  const [a, b] = [await PagePlace.start(), await PagePlace.start()];
  try {
    await server.call("load", table, rows, rows);
    for (const place of [a, b]) {
      await place.open({ url: await server.call("url"), table, schedule });
      await place.run("download", rows);
    }
    return await measure({ server, a, b });
  } finally {
    await a.close();
    await b.close();
    await server.stop();
  }
}

/** The two ways take turns. */
async function byFeed({ server, a, b }: Browsers, edits: number): Promise<Measured[]> {
  await server.call("load", plainTable, 100, 100);
  await a.run("follow");
  await b.run("follow");
  const [synced, plain]: [number[], number[]] = [[], []];
  for (let edit = 0; edit <= edits; ++edit) {
    const rowKey = `edit ${edit}`;
    const isFirst = edit === 0; // connects, and asks what the server allows
    const seen = b.run("seen", rowKey, edit);
    await delay(pauseMs);
    const made = await a.run("editOne", rowKey, edit);
    const took = (await seen) - made;
    const heard = b.run("hear", plainTable, rowKey);
    await delay(isFirst ? 1000 : pauseMs);
    const put = await a.run("putRow", plainTable, rowKey);
    const least = (await heard) - put;
    if (isFirst) continue;
    synced.push(took);
    plain.push(least);
  }
  return [
    row("an edit seen in another browser by the feed: p50, p95", "≤ 50 ms p95", synced),
    row("a row put by a page without sync, heard in another by the feed", "", plain),
  ];
}

async function byPolls({ a, b }: Browsers, edits: number, pollMs: number): Promise<Measured[]> {
  const times: number[] = [];
  for (let edit = 1; edit <= edits; ++edit) {
    const rowKey = `edit ${edit}`;
    const seen = b.run("seen", rowKey, edit);
    await delay(Math.random() * pollMs);
    const made = await a.run("editOne", rowKey, edit);
    times.push((await seen) - made);
  }
  const what = `an edit seen in another browser that polls every ${pollMs} ms: p50, p95`;
  return [row(what, `≤ ${pollMs + 1000} ms`, times)];
}

function row(what: string, target: string, times: readonly number[]): Measured {
  const sorted = [...times].sort((x, y) => x - y);
  const at = (share: number) =>
    `${(sorted[Math.floor(share * times.length)] as number).toFixed(0)}`;
  return { what, target, values: { chromium: `${at(0.5)} ms, ${at(0.95)} ms` } };
}
