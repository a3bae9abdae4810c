// Compares live queries with the table while other tasks run between the pages that they read:
// writes, also by listeners, queries that are opened and closed, feeds that are aborted, resets.
// ENTITABLE_SEED and ENTITABLE_STEPS choose the run.

import assert from "node:assert/strict";
import { after, describe, mock, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { LiveConnection } from "../../web/src/client/live-connection.ts";
import { OpenQuery } from "../../web/src/client/live-state.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { ChangeListener, Host, ListenerConnection } from "../../web/src/transport.ts";
import type { ChangeFeed, Store } from "../../web/src/types.ts";
import { requestKind } from "../../web/src/util/engine-message-kinds.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { openHost } from "./support/open-host.ts";
import { type Random, seededRandom } from "./support/random.ts";
import {
  type CheckedQuery,
  checkQuery,
  Observations,
  RandomItems,
  wrongResult,
} from "./support/random-live.ts";
import { until } from "./support/until.ts";

const seed = Number(process.env["ENTITABLE_SEED"] ?? 1);
const steps = Number(process.env["ENTITABLE_STEPS"] ?? 300);
const queryCount = 8;
const pageRowsMax = 6;
const pageRowsAt = 20; // in the request (core/rpc/LAYOUT.md): behind the header and the watch

// The host's listener, which reads small pages, and can be reset.
class SmallPages {
  pages = 0;
  readonly #listen: Host["listen"];
  readonly #random: Random;
  #listener: ChangeListener | undefined;
  #connection: ListenerConnection | undefined;

  constructor(host: Host, random: Random) {
    this.#listen = host.listen.bind(host);
    this.#random = random;
    host.listen = (listener) => {
      this.#listener = listener;
      this.#connection = this.#listen(listener);
      return {
        send: (request, respond, fail) => {
          this.#limitPage(request);
          this.#connection?.send(request, respond, fail);
        },
        close: () => this.#connection?.close(),
      };
    };
  }

  #limitPage(request: Uint8Array): void {
    if (request[0] !== requestKind.readWatch) return;
    this.pages += 1;
    const words = new DataView(request.buffer, request.byteOffset);
    words.setUint32(pageRowsAt, 1 + this.#random.below(pageRowsMax), true);
  }

  // As when another tab takes the store over, or memory runs out.
  reset(): void {
    const listener = this.#listener;
    if (listener === undefined) return;
    this.#connection?.close();
    this.#connection = this.#listen(listener);
    listener.onReset();
  }
}

class Run {
  readonly #random: Random;
  readonly #store: Store;
  readonly #items: RandomItems;
  readonly #pages: SmallPages;
  readonly #observations = new Observations();
  readonly #calls: Promise<void>[] = [];
  #listenerWrites = 0;
  #whole: ReturnType<RandomItems["openWhole"]> | undefined;
  #queries: CheckedQuery[] = [];

  constructor(random: Random, host: Host) {
    this.#random = random;
    this.#pages = new SmallPages(host, random);
    this.#store = new StoreHandle("test", host);
    this.#items = new RandomItems(this.#store, random);
  }

  #write(): void {
    this.#start(this.#items.write());
  }

  // Another error may end the run before finish() awaits the call.
  #start(call: Promise<void>): void {
    call.catch(() => {});
    this.#calls.push(call);
  }

  #openQueries(): void {
    this.#whole ??= this.#items.openWhole();
    const open = () => this.#items.openQuery();
    const added = Array.from({ length: queryCount - this.#queries.length }, open);
    this.#observations.observe(this.#whole.live, added);
    for (const { live } of added) live.subscribe(() => this.#onChange());
    this.#queries.push(...added);
  }

  #onChange(): void {
    if (this.#random.below(10) > 0 || this.#listenerWrites === steps) return;
    this.#listenerWrites += 1;
    this.#write();
  }

  #close(): void {
    this.#queries.splice(this.#random.below(this.#queries.length), 1)[0]?.live.close();
  }

  async #abortFeed(): Promise<void> {
    const abort = new AbortController();
    const feed: ChangeFeed = this.#store.changes({ signal: abort.signal, before: true });
    for (let left = this.#random.below(4); left > 0; --left) await turn();
    abort.abort();
    const reading = async () => {
      for await (const _ of feed);
    };
    // A reset or a restore may have ended it before.
    await assert.rejects(reading, (error: { name: string; code?: string }) =>
      ["AbortError", "FeedTruncated"].includes(error.code ?? error.name),
    );
  }

  async #step(snapshot: Uint8Array<ArrayBuffer>): Promise<void> {
    const random = this.#random;
    for (let left = random.below(3); left > 0; --left) this.#write();
    if (random.below(4) === 0) this.#openQueries();
    if (random.below(4) === 0) this.#close();
    if (random.below(30) === 0) this.#pages.reset();
    if (random.below(20) === 0) this.#start(this.#abortFeed());
    if (random.below(100) === 0) await this.#store.restore(snapshot);
    for (let left = random.below(30); left > 0; --left) await turn();
  }

  // Returns how many results were checked, and how many pages were read.
  async check(): Promise<{ checked: number; pages: number }> {
    await this.#items.table.createTable();
    for (let i = 0; i < 100; ++i) await this.#items.write();
    const snapshot = await this.#store.snapshot();
    for (let step = 0; step < steps; ++step) await this.#step(snapshot);
    await this.#finish();
    const checked = this.#observations.check();
    await this.#store.close();
    return { checked, pages: this.#pages.pages };
  }

  // Waits until all queries show the last state. Throws if one does not.
  async #finish(): Promise<void> {
    for (let written = 0; written < this.#calls.length; ) {
      written = this.#calls.length;
      await Promise.all(this.#calls);
      for (let turns = 0; turns < 500; ++turns) await turn();
    }
    const all = await this.#items.list();
    checkQuery(this.#whole as CheckedQuery, all);
    for (const query of this.#queries) checkQuery(query, all);
  }
}

async function check(): Promise<{ checked: number; pages: number }> {
  const host = await openHost({
    engine: await createEngine(),
    storage: new MemoryStorage(),
    durability: "deferred",
  });
  return await new Run(seededRandom(seed), host).check();
}

describe("live queries of which each page is read in a task of its own", () => {
  let now = performance.now();
  mock.method(performance, "now", () => (now += 1000));
  after(() => mock.restoreAll());

  test(`show the truth (seed ${seed})`, async (t) => {
    const { checked, pages } = await check();
    t.diagnostic(`${checked} results, ${pages} pages`);
    assert(checked >= steps / 2 && pages >= steps * 2, `${checked} ${pages}`);
  });

  test("the check fails if changes to rows that were read are ignored meanwhile", async (t) => {
    const { apply } = OpenQuery.prototype;
    t.mock.method(
      OpenQuery.prototype,
      "apply",
      function (this: OpenQuery, ...args: Parameters<typeof apply>) {
        if (!this.mustRead || args[0].isReset) apply.apply(this, args);
      },
    );
    await assert.rejects(check(), { message: wrongResult });
  });

  test("the check fails if observed queries learn late that a read has changed", async (t) => {
    const { openQuery } = LiveConnection.prototype;
    t.mock.method(
      LiveConnection.prototype,
      "openQuery",
      function (this: LiveConnection, ...[source, listener, attach]: Parameters<typeof openQuery>) {
        const onChange: typeof listener.onChange = async (deltas) => {
          for (let left = 5; left > 0; --left) await turn();
          listener.onChange(deltas);
        };
        return openQuery.call(this, source, { onChange, wantsDeltas: false }, attach);
      },
    );
    await assert.rejects(check(), { message: /observed .*:\n {2}actual/ });
  });
});

test("an observed query shows no result while a read has yet to show an error", async (t) => {
  const { openQuery } = LiveConnection.prototype;
  t.mock.method(
    LiveConnection.prototype,
    "openQuery",
    function (this: LiveConnection, ...[source, ...others]: Parameters<typeof openQuery>) {
      const rejectWith: typeof source.rejectWith = async (error) => {
        for (let left = 20; left > 0; --left) await turn(); // as if the hint had to be loaded
        return await source.rejectWith(error);
      };
      return openQuery.call(this, { ...source, rejectWith }, ...others);
    },
  );
  const storage = new MemoryStorage();
  const host = await openHost({ engine: await createEngine(), storage, durability: "deferred" });
  const store: Store = new StoreHandle("test", host);
  const [lamps, rooms] = [store.table<{ stock: number }>("lamps"), store.table("rooms")];
  const put = (stock: number) =>
    lamps.upsertEntity({ partitionKey: "desk", rowKey: "1", stock }, "Replace");
  await lamps.createTable();
  await put(2);
  const snapshot = await store.snapshot();
  await put(1);
  await rooms.createTable();
  const live = store.observe(async (read) => {
    const found = await read.count(rooms).catch((error) => error.code);
    return `${found} ${(await read.entity(lamps, "desk", "1"))?.stock}`;
  });
  assert.equal(await live.ready, "0 1");
  const seen: unknown[] = [];
  live.subscribe(() => seen.push(live.getSnapshot().data));
  await store.restore(snapshot);
  await until(() => seen.at(-1) === "TableNotFound 2");
  assert.deepEqual(seen, ["TableNotFound 2"]);
  await store.close();
});
