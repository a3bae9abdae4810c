// How long it takes until an edit in one browser is seen in another one.

import { setTimeout as delay } from "node:timers/promises";
import { BenchServer } from "./bench-server.ts";
import type { Measured } from "./measured.ts";
import { PagePlace } from "./places.ts";

const edits = 60;
const table = "people";

/** `pollMs`: how often each browser asks for changes. */
export async function seenEdits(pollMs: number): Promise<Measured[]> {
  const server = await BenchServer.start();
  const [a, b] = [await PagePlace.start(), await PagePlace.start()];
  try {
    await server.call("load", table, 1000, 1000);
    const schedule = { minMs: pollMs, maxMs: pollMs, hiddenMs: pollMs };
    for (const place of [a, b]) {
      await place.open({ url: await server.call("url"), table, schedule });
      await place.run("download", 1000);
    }
    const times: number[] = [];
    for (let edit = 1; edit <= edits; ++edit) {
      const rowKey = `seen ${edit}`;
      const seen = b.run("seen", rowKey, edit);
      await delay(Math.random() * pollMs);
      const made = await a.run("editOne", rowKey, edit);
      times.push((await seen) - made);
    }
    times.sort((x, y) => x - y);
    const at = (share: number) => `${(times[Math.floor(share * edits)] as number).toFixed(0)} ms`;
    return [
      {
        what: `an edit seen in another browser that polls every ${pollMs} ms: p50, p95`,
        target: `≤ ${pollMs + 1000} ms`,
        values: { chromium: `${at(0.5)}, ${at(0.95)}` },
      },
    ];
  } finally {
    await a.close();
    await b.close();
    await server.stop();
  }
}
