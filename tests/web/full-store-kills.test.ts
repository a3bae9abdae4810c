// Kills processes that fill a store on a small disk and empty it again. Whenever that happens, the
// store can be opened and emptied, and nothing that was acknowledged is lost.

import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { AcknowledgedRows, emptyFullStore } from "./support/full-store-load.ts";
import { openStore } from "./support/package.ts";
import { seededRandom } from "./support/random.ts";
import { mountSmallDisk, unmount } from "./support/small-disk.ts";

const rounds = Number(process.env["ENTITABLE_ROUNDS"] ?? 2);
const root = mkdtempSync(join(tmpdir(), "entitable-full-"));
const disk = join(root, "disk");
mkdirSync(disk);
const mounted = mountSmallDisk(disk, 12 * 1024 * 1024);

after(() => {
  if (mounted) unmount(disk);
  rmSync(root, { recursive: true, force: true });
});

test(`a process that fills its disk is killed ${rounds} times`, {
  skip: mounted ? false : "no right to mount a file system",
  timeout: 60_000 + rounds * 60_000,
}, async (t) => {
  const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const random = seededRandom(seed);
  const rows = new AcknowledgedRows();
  for (let round = 0; round < rounds; ++round) {
    const events = join(root, `events-${round}`);
    const writer = new URL("support/full-store-writer.ts", import.meta.url);
    const child = fork(writer, [disk, events, `r${round}`]);
    const exited = once(child, "exit");
    const isFull = () =>
      existsSync(events) && /"full"|"problem"/.test(readFileSync(events, "utf8"));
    while (!isFull()) await sleep(20);
    await sleep(random.below(1500));
    child.kill("SIGKILL");
    await exited;
    const lines = readFileSync(events, "utf8").split("\n").slice(0, -1);
    for (const line of lines) rows.add(JSON.parse(line));
    const store = await openStore({ persistence: "file", path: disk });
    rows.check(await emptyFullStore(store, `r${round}`, 10_000));
    await store.close();
  }
  t.diagnostic(`${rows.acknowledged} acknowledged writes, full ${rows.timesFull} times`);
});
