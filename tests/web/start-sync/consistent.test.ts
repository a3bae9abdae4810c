// Tests `consistent: "partition"` with stores as remotes: of a batch of another client, the store
// never has a part, whether it arrives by polls, after a refused push, or by the feed of a server.
// Each of these tests also shows that without the option, it does.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { ServeOptions } from "../../../web/src/server/serve.ts";
import type { SyncOptions, SyncTableOptions } from "../../../web/src/start-sync/types.ts";
import type { Store } from "../../../web/src/types.ts";
import { packageFolder } from "../support/package.ts";
import { credential, openLocalAndRemote, startSync } from "../support/synced-store.ts";

const { serve }: typeof import("../../../web/src/server/serve.ts") = await import(
  new URL("dist/server/serve.js", packageFolder).href
);

// The rows of the partition q. A page has 1,000 of them.
const rowKeys = Array.from({ length: 1100 }, (_, at) => String(at).padStart(4, "0"));
const first = "0000";
const last = "1099";

const consistent: SyncTableOptions = { consistent: "partition" };
const always = { minMs: 100, maxMs: 100 };
const never = { minMs: 3_600_000 };

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 120_000;
  while (!(await holds())) {
    assert(performance.now() < end, "it does not hold within two minutes");
    await delay(5);
  }
}

/** What a store has shown after each commit: the numbers of the first and the last row of q. */
interface Shown {
  readonly first: unknown;
  readonly last: unknown;
}

class World {
  readonly #t: TestContext;
  readonly local: Store;
  readonly remote: Store;
  readonly shown: Shown[] = [];
  /** Called before each request of the local store is sent. */
  onRequest: (url: URL) => Promise<void> = async () => {};

  private constructor(t: TestContext, local: Store, remote: Store) {
    this.#t = t;
    this.local = local;
    this.remote = remote;
  }

  static async open(t: TestContext): Promise<World> {
    const { local, remote } = await openLocalAndRemote(t);
    const people = remote.table("people");
    await people.createTable();
    for (let from = 0; from < rowKeys.length; from += 100) {
      const batch = rowKeys.slice(from, from + 100);
      await people.submitTransaction(
        batch.map((rowKey) => ["create", { partitionKey: "q", rowKey, n: 0 }]),
      );
    }
    return new World(t, local, remote);
  }

  /** Syncs with the remote in this process, until the table is downloaded. */
  async start(options: SyncTableOptions, schedule: SyncOptions["schedule"] = always) {
    const send: typeof fetch = async (input, init) => {
      await this.onRequest(new URL(String(input)));
      return await (this.remote.fetch as typeof fetch)(input, init);
    };
    const url = `http://127.0.0.1:10002/${credential.name}`;
    return await this.#start({ url, credential, fetch: send }, options, schedule);
  }

  /** Syncs with a server, and follows its feed. */
  async follow(options: SyncTableOptions) {
    const settings: ServeOptions = { port: 0, feed: true };
    const server = await serve(this.remote, settings);
    this.#t.after(() => server.close());
    const url = `${server.url}/${credential.name}`;
    const sync = await this.#start({ url, credential }, options, undefined);
    await until(() => sync.status.following);
    return sync;
  }

  async #start(
    remote: SyncOptions["remote"],
    options: SyncTableOptions,
    schedule: SyncOptions["schedule"],
  ) {
    const tables = { people: options };
    const sync = await startSync(this.local, { remote, tables, ...(schedule && { schedule }) });
    this.#t.after(() => sync.stop());
    assert.equal((await sync.now()).complete, true);
    void this.#watch();
    return sync;
  }

  async #watch(): Promise<void> {
    const changes = this.local.changes({ tables: ["people"], partitionKey: "q" });
    this.#t.after(() => changes.return());
    let shown: Shown = { first: 0, last: 0 };
    for await (const { changes: all } of changes) {
      for (const { rowKey, after } of all) {
        if (rowKey === first) shown = { ...shown, first: after?.["n"] };
        if (rowKey === last) shown = { ...shown, last: after?.["n"] };
      }
      this.shown.push(shown);
    }
  }

  /** Another client changes the first and the last row of q in one batch. */
  async write(n: number): Promise<void> {
    const entities = [first, last].map((rowKey) => ({ partitionKey: "q", rowKey, n }));
    await this.remote
      .table("people")
      .submitTransaction(entities.map((entity) => ["update", entity, "Merge"]));
  }

  /** Of the first row, which has the remote's ETag here once it is pushed. */
  async etagOf(side: "local" | "remote"): Promise<string> {
    return (await this[side].table("people").getEntity("q", first)).etag;
  }

  /** Waits until both rows have arrived. */
  async arrived(n: number): Promise<void> {
    await until(() => this.shown.some((one) => one.first === n && one.last === n));
  }

  get torn(): Shown[] {
    return this.shown.filter((one) => one.first !== one.last);
  }
}

/** Of options with and without whole partitions, calls `run` with both. */
async function withAndWithout(run: (options: SyncTableOptions) => Promise<number>): Promise<void> {
  assert.equal(await run(consistent), 0);
  assert((await run({})) > 0, "without the option, a part is seen, too");
}

test("polls never bring a part of a batch, also if it is made between two pages", async (t) => {
  await withAndWithout(async (options) => {
    const world = await World.open(t);
    await world.start({ ...options, partitions: ["q"] }); // otherwise key ranges cut it
    let written = 0;
    world.onRequest = async ({ searchParams }) => {
      if (!searchParams.has("NextPartitionKey") || written === 5) return;
      written += 1;
      await world.write(written);
    };
    await until(() => written === 5);
    await world.arrived(5);
    return world.torn.length;
  });
});

test("a refused push never brings a part of a batch", async (t) => {
  await withAndWithout(async (options) => {
    const world = await World.open(t);
    const sync = await world.start(options, never);
    for (const n of [1, 2, 3]) {
      await world.write(n);
      const entity = { partitionKey: "q", rowKey: first, mine: n };
      await world.local.table("people").updateEntity(entity, "Merge");
      await until(() => world.shown.at(-1)?.first === n && sync.status.pending === 0);
    }
    // A row with a local write may be older than the other, but never newer.
    return world.shown.filter((one) => Number(one.first) > Number(one.last)).length;
  });
});

test("a feed never brings a part of a batch", async (t) => {
  await withAndWithout(async (options) => {
    const world = await World.open(t);
    await world.follow(options);
    for (const n of [1, 2, 3]) {
      // What was pushed after the feed was opened is read again when the feed changes it.
      const entity = { partitionKey: "q", rowKey: first, mine: n };
      await world.local.table("people").updateEntity(entity, "Merge");
      await until(async () => (await world.etagOf("local")) === (await world.etagOf("remote")));
      await world.write(n);
      await world.arrived(n);
    }
    return world.torn.length;
  });
});
