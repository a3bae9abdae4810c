// Tests which segments of the log are read for readers of the change feed, over a scripted engine.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type PastChangesOptions, readPastChanges } from "../../web/src/host/past-changes.ts";
import { requestKind, responseKind } from "../../web/src/util/engine-message-kinds.ts";
import { PartsNeeded } from "../../web/src/wasm/parts-needed.ts";

const segmentBytes = 64 * 1024;
const segmentsOfLog = 60;
const KiB = 1024;

/** Of the log, from this segment on. */
interface Read {
  readonly first: number;
  bytes: number;
}

const firstOf = (reads: readonly Read[]) => reads.map(({ first }) => first);

/** The engine's response: it needs the log from a segment on, or it has answered (0). */
function response(needed: number): Uint8Array {
  const bytes = new Uint8Array(16 + 5 * 4);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, responseKind.pastChanges | (1 << 8), true);
  view.setUint32(4, bytes.length, true);
  view.setUint32(16, needed === 0 ? 0 : 2, true);
  view.setBigUint64(24, BigInt(needed), true);
  return bytes;
}

/** A log, and an engine that needs it from the segment `needed` on, and then has all of it. */
class Log {
  needed = 1;
  isCurrent = true;
  readonly reads: Read[] = [];
  readonly engine = { stats: () => ({ epoch: 1, lastCommit: 1 }) as never };
  readonly options: PastChangesOptions = {
    environment: {
      PartsNeeded,
      requestKind,
      responseKind,
      nextRetryMs: () => 1,
      mayRetry: () => false,
    },
    engine: this.engine,
    storage: {
      readSegments: async (first, onSegment) => {
        const read = { first, bytes: 0 };
        this.reads.push(read);
        for (let sequence = first; sequence <= segmentsOfLog; ++sequence) {
          read.bytes += segmentBytes;
          if (!onSegment(sequence, new Uint8Array(segmentBytes))) break;
        }
      },
    },
    parts: { loadAndRetry: () => assert.fail("no parts are needed") },
    listen: (message) => {
      const hasSegments = message.length > segmentBytes;
      return response(hasSegments ? 0 : this.needed);
    },
    clientId: [0, 0, 0, 0],
    isCurrent: () => this.isCurrent,
  };

  /** A feed asks for what begins in this segment. Returns what was read from the storage for it. */
  async ask(needed: number): Promise<Read[]> {
    this.needed = needed;
    const before = this.reads.length;
    const request = new Uint8Array(16 + 20);
    new DataView(request.buffer).setUint32(4, request.length, true);
    await readPastChanges(request, this.options, () => {});
    return this.reads.slice(before);
  }
}

test("a feed that reads the log reads each segment once, and some ahead", async () => {
  const log = new Log();
  const first = await log.ask(1);
  assert.deepEqual(firstOf(first), [1, 13]);
  const next = await log.ask(13);
  assert.deepEqual(firstOf(next), [25]);
});

test("what was read ahead is forgotten, also if the client has gone meanwhile", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const log = new Log();
  const asking = log.ask(1);
  log.isCurrent = false;
  await asking;
  assert.deepEqual(firstOf(log.reads), [1, 13]);
  log.isCurrent = true;
  t.mock.timers.tick(10_000);
  await Promise.resolve();
  assert.deepEqual(firstOf(await log.ask(13)), [13, 25]);
});

test("feeds at different positions read little in vain", async () => {
  const log = new Log();
  await log.ask(1);
  // The engine keeps the segments of one feed only, so each asks again where it was.
  let bytes = 0;
  for (const needed of [40, 1, 40, 1, 41, 2])
    for (const read of await log.ask(needed)) bytes += read.bytes;
  assert(bytes <= 6 * 320 * KiB, `${bytes / KiB} KiB`);
  // What was read ahead for the first one is still used.
  assert.deepEqual(firstOf(await log.ask(13)), [25]);
});
