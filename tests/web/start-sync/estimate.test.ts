// Tests the estimate of requests against those that are counted on the way to the remote.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { SyncOptions } from "../../../web/src/start-sync/types.ts";
import { credential, openLocalAndRemote, startSync } from "../support/synced-store.ts";

const url = `http://127.0.0.1:10002/${credential.name}`;
const hour = 3_600_000;

for (const [partitions, rows] of [
  [1, 10],
  [18, 50],
  [30, 400],
] as const) {
  test(`the requests for ${partitions * rows} entities are estimated within 10 %`, async (t) => {
    const { local, remote } = await openLocalAndRemote(t);
    const people = remote.table("people");
    await people.createTable();
    for (let partition = 0; partition < partitions; ++partition)
      for (let from = 0; from < rows; from += 100)
        await people.submitTransaction(
          Array.from({ length: Math.min(100, rows - from) }, (_, row) => [
            "create",
            { partitionKey: `${partition}`.padStart(3, "0"), rowKey: `${from + row}` },
          ]),
        );
    // A poll and a comparison may run several times, so each of their requests counts once. What
    // was written within the overlap of scans comes in further pages, which idle polls do not have.
    const requests = new Set<string>();
    const send: typeof fetch = (input, init) => {
      const { pathname, search } = new URL(String(input));
      const isPage = search.includes("Timestamp%20ge") && search.includes("NextPartitionKey");
      if (!isPage) requests.add(pathname + search.replace(/Timestamp%20ge[^&]*/, "Timestamp"));
      return (remote.fetch as typeof fetch)(input, init);
    };
    const options: SyncOptions = {
      remote: { url, credential, fetch: send },
      tables: { people: { maxAgeMs: hour } },
      schedule: { minMs: hour, maxMs: hour },
      budget: { entitiesPerSecond: 1_000_000 },
    };
    const sync = await startSync(local, options);
    await sync.now();
    requests.clear();
    await sync.now(); // a poll and a comparison, as in each hour
    const { transactionsPerMonth } = await sync.estimate();
    const estimated = transactionsPerMonth / (30 * 24);
    const counted = requests.size;
    t.diagnostic(`${counted} requests, ${estimated} estimated`);
    assert(Math.abs(estimated - counted) <= 0.1 * counted, `${counted}, not ${estimated}`);
  });
}
