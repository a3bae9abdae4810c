// Tests tabs that share a store: one of them syncs, the others show its status and call it.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StoreError } from "../../../web/src/errors.ts";
import { Emitter } from "../../../web/src/host/emitter.ts";
import { settingsOf } from "../../../web/src/start-sync/options.ts";
import { sumOf, unknownStatus } from "../../../web/src/start-sync/status.ts";
import type { StoreSync } from "../../../web/src/start-sync/store-sync.ts";
import { TabSync } from "../../../web/src/start-sync/tab-sync.ts";
import type { LostWrite, SyncStatus } from "../../../web/src/start-sync/types.ts";
import type { ChannelFactory } from "../../../web/src/tabs/channel.ts";
import type { Store, StoreEvents } from "../../../web/src/types.ts";
import { Scheduler } from "../../sync/scheduler.ts";

const settingsFor = (table: string) =>
  settingsOf({
    remote: { url: "https://lamps.table.core.windows.net" },
    tables: { [table]: {} },
  });
const lost = { id: "lost/people/p/1", table: "people" } as LostWrite;

/** What the owner's sessions do, and what they were told. */
class FakeSync {
  readonly tab: FakeTab;
  readonly calls: string[] = [];
  pending = 0;
  lostWrites = 1;
  lostRead = 0;
  hasEnded = false;
  phase: SyncStatus["phase"] = "idle";
  #listeners: (() => void)[] = [];
  /** When the requests on their way have ended. */
  stopped = Promise.resolve();
  /** Ends the calls of `now`. */
  finish = (): void => {};

  constructor(tab: FakeTab, isPaused: boolean) {
    this.tab = tab;
    if (isPaused) this.pause();
  }

  get status(): SyncStatus {
    if (this.hasEnded) return sumOf({});
    return sumOf({ people: { ...unknownStatus(this.phase), pending: this.pending } });
  }

  subscribe(listener: () => void): void {
    this.#listeners.push(listener);
  }

  change(pending: number): void {
    this.pending = pending;
    for (const listener of this.#listeners) listener();
  }

  #show(phase: SyncStatus["phase"]): void {
    this.phase = phase;
    for (const listener of this.#listeners) listener();
  }

  async endTable(table: string, { pending }: { pending?: string } = {}) {
    this.calls.push(`end ${table} ${pending}`);
    this.hasEnded = true;
    for (const listener of this.#listeners) listener();
  }

  async now() {
    this.calls.push("now");
    await new Promise<void>((resolve) => {
      this.finish = resolve;
    });
    return { complete: true, pending: 0, parked: 0, lost: 0 };
  }

  async *lost() {
    for (let number = 1; number <= this.lostWrites; ++number) {
      this.lostRead += 1;
      yield lost;
    }
  }

  async restore(id: string) {
    this.calls.push(`restore ${id}`);
    if (id === "") throw new StoreError("ValidationFailed", "no id");
  }

  pause(): void {
    this.calls.push("pause");
    this.#show("paused");
  }

  resume(): void {
    this.calls.push("resume");
    this.#show("idle");
  }

  async stop() {
    this.calls.push("stop");
    this.#show("stopped");
    await this.stopped;
  }
}

/** A tab with a store. Its messages reach the other tabs after a moment. */
class FakeTab {
  readonly #world: World;
  readonly events = new Emitter<StoreEvents>();
  owner: "self" | "other-tab" = "other-tab";
  own: FakeSync | undefined;
  readonly released: string[] = [];
  sync: TabSync | undefined;
  fails = 0;
  /** Called while sync begins in this tab. */
  whileOpening = (): void => {};
  readonly receivers = new Map<string, (message: unknown) => void>(); // by their channel

  constructor(world: World) {
    this.#world = world;
  }

  async start(table = "people"): Promise<TabSync> {
    const store = {
      name: "shop",
      status: this.#status(),
      on: this.events.on.bind(this.events),
    };
    const channels: ChannelFactory = (channel, onMessage) => {
      this.receivers.set(channel, onMessage);
      return {
        post: (message) => this.#world.post(this, channel, message),
        close: () => {
          this.receivers.delete(channel);
        },
      };
    };
    this.sync = await TabSync.open({
      store: store as unknown as Store,
      settings: settingsFor(table),
      clock: this.#world.clock,
      channels,
      open: ({ tables }, { isPaused }) => this.#open([...tables.keys()], isPaused),
      release: (name) => void this.released.push(name ?? "all"),
    });
    return this.sync;
  }

  #status() {
    const tab = this;
    return {
      get owner() {
        return tab.owner;
      },
    };
  }

  async #open(tables: readonly string[], isPaused: boolean): Promise<StoreSync> {
    if (this.fails-- > 0) throw new StoreError("StoreClosed", "The store is closed.");
    this.own = new FakeSync(this, isPaused);
    this.own.hasEnded = tables.length === 0;
    this.whileOpening();
    return this.own as unknown as StoreSync;
  }

  /** The store has an owner: this tab, or another one. */
  become(owner: "self" | "other-tab"): void {
    this.owner = owner;
    this.events.emit("owner", { owner });
  }
}

class World {
  readonly #scheduler = new Scheduler(1);
  readonly tabs: FakeTab[] = [];
  #tokens = 0;
  readonly clock = {
    now: () => ({ monotonicMs: this.#scheduler.now, wallMs: this.#scheduler.now }),
    after: (ms: number, run: () => void) => {
      let isCancelled = false;
      this.#scheduler.after(ms, () => {
        if (!isCancelled) run();
      });
      return () => {
        isCancelled = true;
      };
    },
    random: () => 0.5,
    token: () => `tab ${++this.#tokens}`,
  };

  post(from: FakeTab, channel: string, message: unknown): void {
    const copy = structuredClone(message);
    this.#scheduler.after(1, () => {
      for (const tab of this.tabs) if (tab !== from) tab.receivers.get(channel)?.(copy);
    });
  }

  tab(): FakeTab {
    const tab = new FakeTab(this);
    this.tabs.push(tab);
    return tab;
  }

  async pass(ms = 20): Promise<void> {
    this.#scheduler.after(0, () => {});
    await this.#scheduler.run(this.#scheduler.now + ms);
  }
}

/** Starts sync in a tab that does not own the store. */
async function startLater(world: World, tab: FakeTab, ms = 20, table = "people"): Promise<TabSync> {
  return await resultAfter(world, tab.start(table), ms);
}

async function resultAfter(world: World, starting: Promise<TabSync>, ms = 20): Promise<TabSync> {
  let started: TabSync | undefined;
  void starting.then((sync) => {
    started = sync;
  });
  await world.pass(ms);
  assert(started, "it has not started");
  return started;
}

/** The first tab is the owner, and both sync. */
async function openTwo() {
  const world = new World();
  const [a, b] = [world.tab(), world.tab()];
  a.owner = "self";
  const syncs = [await a.start(), await startLater(world, b)] as const;
  return { world, a, b, syncs };
}

describe("a tab that does not own the store", () => {
  test("shows the owner's status", async () => {
    const { a, syncs, world } = await openTwo();
    assert.equal(syncs[1].status.phase, "idle");
    const seen: number[] = [];
    syncs[1].subscribe(({ pending }) => seen.push(pending));
    a.own?.change(3);
    await world.pass();
    assert.deepEqual([syncs[1].status.pending, seen], [3, [3]]);
    assert.equal(syncs[1].status, syncs[1].status);
  });

  test("sends its calls to the owner, and gets results and errors", async () => {
    const { a, syncs, world } = await openTwo();
    const results = new Map<string, unknown>();
    const note = (name: string) => (result: unknown) => results.set(name, result ?? "done");
    void listOf(syncs[1].lost()).then(note("list"));
    void syncs[1].restore(lost.id).then(note("restore"));
    void syncs[1].restore("").catch(note("error"));
    await world.pass();
    assert.deepEqual(a.own?.calls, [`restore ${lost.id}`, "restore "]);
    assert.deepEqual([results.get("list"), results.get("restore")], [[lost], "done"]);
    const error = results.get("error");
    assert(error instanceof StoreError && error.code === "ValidationFailed");
  });

  test("gets no more of a list than it asks for", async () => {
    const { a, syncs, world } = await openTwo();
    const owner = a.own as FakeSync;
    owner.lostWrites = 10_000;
    const counts: number[] = [];
    for (const sync of syncs)
      void listOf(sync.lost({ top: 3 })).then(({ length }) => counts.push(length));
    for (let passes = 0; passes < 3; ++passes) await world.pass();
    assert.deepEqual([counts, owner.lostRead], [[3, 3], 6]);
  });

  test("pauses and resumes the owner", async () => {
    const { a, syncs, world } = await openTwo();
    syncs[1].pause();
    await world.pass();
    assert.equal(syncs[0].status.phase, "paused");
    syncs[1].resume();
    await world.pass();
    assert.deepEqual(a.own?.calls, ["pause", "resume"]);
  });

  test("continues when it becomes the owner, also with calls that wait", async () => {
    const { a, b, syncs, world } = await openTwo();
    syncs[0].pause();
    await world.pass();
    const reports: unknown[] = [];
    void syncs[1].now().then((report) => reports.push(report));
    await world.pass();
    a.become("other-tab");
    b.become("self");
    await world.pass();
    assert.deepEqual(a.own?.calls, ["pause", "now", "stop"]);
    assert.deepEqual(b.own?.calls, ["pause", "now"]);
    b.own?.finish();
    await world.pass();
    assert.equal(reports.length, 1);
    b.own?.change(2);
    await world.pass();
    assert.equal(syncs[0].status.pending, 2);
  });

  test("sends calls again if a third tab becomes the owner", async () => {
    const { a, syncs, world } = await openTwo();
    const c = world.tab();
    await startLater(world, c);
    let report: unknown;
    void syncs[1].now().then((result) => {
      report = result;
    });
    await world.pass();
    a.become("other-tab");
    c.become("self");
    await world.pass();
    assert.deepEqual(c.own?.calls, ["now"]);
    c.own?.finish();
    await world.pass();
    assert(report);
  });

  test("tries again if it cannot begin as the owner", async () => {
    const { a, b, world } = await openTwo();
    b.fails = 2;
    a.become("other-tab");
    b.become("self");
    await world.pass();
    assert.equal(b.own, undefined);
    await world.pass(20_000);
    assert(b.own);
  });

  test("rejects calls if no tab syncs, and when it is stopped", async () => {
    const world = new World();
    const tab = world.tab();
    const sync = await startLater(world, tab, 11_000);
    assert.equal(sync.status.phase, "connecting");
    const errors: string[] = [];
    const note = ({ message }: Error) => errors.push(message);
    sync.now().catch(note);
    await world.pass(11_000);
    sync.now().catch(note);
    await world.pass();
    await sync.stop();
    sync.now().catch(note);
    await world.pass();
    assert.match(errors[0] ?? "", /does not sync/);
    assert.deepEqual(errors.slice(1), ["Sync was stopped.", "Sync was stopped."]);
    assert.equal(sync.status.phase, "stopped");
  });
});

describe("the status", () => {
  test("is told in full to a tab that has missed how it began", async () => {
    const { a, b, syncs, world } = await openTwo();
    const receivers = [...b.receivers];
    b.receivers.clear();
    a.become("other-tab");
    a.become("self");
    await world.pass();
    for (const [channel, receive] of receivers) b.receivers.set(channel, receive);
    a.own?.change(3);
    await world.pass();
    assert.equal(syncs[1].status.pending, 3);
  });
});

test("a tab ends the sync of a table, and no tab begins it again", async () => {
  const { a, b, syncs, world } = await openTwo();
  const c = world.tab();
  const third = await startLater(world, c);
  const ending = syncs[1].endTable("people", { pending: "discard" });
  await world.pass();
  await ending;
  assert.deepEqual(a.own?.calls, ["end people discard"]);
  assert.deepEqual(
    [a, b, c].map(({ released }) => released.join()),
    ["people", "people", "people"],
  );
  assert.deepEqual(
    [syncs[0], third].map(({ status }) => status.tables),
    [{}, {}],
  );
  a.become("other-tab");
  c.become("self");
  await world.pass();
  assert.deepEqual([c.own?.hasEnded, third.status.tables], [true, {}]);
});

test("tabs may name a table in different cases", async () => {
  const world = new World();
  const [a, b] = [world.tab(), world.tab()];
  a.owner = "self";
  await a.start("people");
  const sync = await startLater(world, b, 20, "People");
  assert.deepEqual(b.released, []);
  const ending = sync.endTable("PEOPLE");
  await world.pass();
  await ending;
  assert.deepEqual(a.own?.calls, ["end people undefined"]);
  assert.deepEqual([a.released, b.released], [["people"], ["People"]]);
});

test("a tab that starts before the owner waits for it", async () => {
  const world = new World();
  const [a, b] = [world.tab(), world.tab()];
  a.owner = "self";
  let isStarted = false;
  void b.start().then(() => {
    isStarted = true;
  });
  await world.pass();
  assert.equal(isStarted, false);
  await a.start();
  await world.pass();
  assert.equal(isStarted, true);
  assert.equal(b.sync?.status.phase, "idle");
});

test("a tab that loses the store while sync begins follows the new owner", async () => {
  const { a, b, world } = await openTwo();
  b.whileOpening = () => {
    b.become("other-tab");
    a.become("self");
  };
  a.become("other-tab");
  b.become("self");
  await world.pass();
  assert.deepEqual(b.own?.calls, ["stop"]);
  a.own?.change(4);
  await world.pass();
  assert.equal(b.sync?.status.pending, 4);

  const c = world.tab();
  c.owner = "self";
  c.whileOpening = () => c.become("other-tab");
  const sync = await startLater(world, c);
  assert.equal(sync.status.pending, 4);
});

describe("a call of a tab that does not own the store", () => {
  test("gets its result also if the owner begins to sync later", async () => {
    const world = new World();
    const [a, b] = [world.tab(), world.tab()];
    a.owner = "self";
    const sync = await startLater(world, b, 11_000);
    let report: unknown;
    void sync.now().then((result) => {
      report = result;
    });
    await world.pass();
    await a.start();
    await world.pass();
    a.own?.finish();
    await world.pass(20_000);
    assert(report);
  });

  test("is sent again if the owner has lost the store and got it again", async () => {
    const { a, syncs, world } = await openTwo();
    let report: unknown;
    void syncs[1].now().then((result) => {
      report = result;
    });
    await world.pass();
    a.become("other-tab");
    await world.pass();
    a.become("self");
    await world.pass();
    assert.deepEqual(a.own?.calls, ["now"]);
    a.own?.finish();
    await world.pass();
    assert(report);
  });

  test("is rejected if the owner stops to sync, and waits for the next one", async () => {
    const { a, b, syncs, world } = await openTwo();
    const errors: string[] = [];
    const note = ({ message }: Error) => errors.push(message);
    syncs[1].now().catch(note);
    await world.pass();
    await syncs[0].stop();
    await world.pass();
    assert.equal(syncs[1].status.phase, "connecting");
    await world.pass(11_000);
    assert.equal(errors.length, 1);
    assert.match(errors[0] ?? "", /does not sync/);
    syncs[1].now().catch(note);
    await world.pass();
    b.become("self");
    await world.pass(11_000);
    assert.deepEqual(b.own?.calls, ["now"]);
    assert.equal(errors.length, 1);
    assert.deepEqual(a.own?.calls.at(-1), "stop");
  });
});

test("two calls of startSync() in a tab do not affect each other", async () => {
  const { a, syncs, world } = await openTwo();
  const people = a.own;
  const lamps = await a.start("lamps");
  const [, b] = world.tabs as [FakeTab, FakeTab];
  const other = await resultAfter(world, b.start("lamps"));
  other.pause();
  await world.pass();
  assert.deepEqual([people?.calls, a.own?.calls], [[], ["pause"]]);
  assert.deepEqual([lamps.status.phase, syncs[1].status.phase], ["paused", "idle"]);
  assert.deepEqual(Object.keys(other.status.tables), ["people"]); // FakeSync has no others
});

test("a tab that is paused stays paused when another one begins to sync", async () => {
  const world = new World();
  const [a, b] = [world.tab(), world.tab()];
  a.owner = "self";
  const sync = await startLater(world, b, 11_000);
  sync.pause();
  await world.pass();
  await a.start();
  await world.pass();
  assert.equal(sync.status.phase, "paused");
  assert.deepEqual(a.own?.calls, ["pause"]);
});

test("each listener gets each change, also if another one is added meanwhile", async () => {
  const { a, syncs } = await openTwo();
  const seen: number[] = [];
  syncs[0].subscribe(({ pending }) => seen.push(pending));
  if (a.own) a.own.pending = 5;
  syncs[0].subscribe(() => {});
  a.own?.change(5);
  assert.deepEqual(seen, [5]);
});

test("a tab that has the store and cannot begin says why", async () => {
  const { a, b, syncs, world } = await openTwo();
  b.fails = 1;
  a.become("other-tab");
  b.become("self");
  await world.pass();
  const { error } = syncs[1].status;
  assert.equal(error?.code, "StoreFailed");
  assert.match(error?.message ?? "", /The store is closed/);
  await world.pass(6000);
  assert.equal(syncs[1].status.error, undefined);
});

test("a tab that gets the store again does not wait for its old requests", async () => {
  const { a, world } = await openTwo();
  const old = a.own as FakeSync;
  old.stopped = new Promise(() => {});
  a.become("other-tab");
  await world.pass();
  a.become("self");
  await world.pass();
  assert.notEqual(a.own, old);
});

test("stop() waits for what begins in this moment", async () => {
  const { a, b, syncs, world } = await openTwo();
  a.become("other-tab");
  let stopping: Promise<void> | undefined;
  b.whileOpening = () => {
    stopping = syncs[1].stop();
  };
  b.become("self");
  await world.pass();
  await stopping;
  assert.deepEqual(b.own?.calls, ["stop"]);
});

test("a tab that owns the store and cannot begin rejects", async () => {
  const tab = new World().tab();
  tab.owner = "self";
  tab.fails = 1;
  await assert.rejects(tab.start(), /is closed/);
});

test("stopping in the owner ends its sessions, and tells its listeners", async () => {
  const { a, syncs, world } = await openTwo();
  const phases: string[] = [];
  syncs[0].subscribe(({ phase }) => phases.push(phase));
  await syncs[0].stop();
  await world.pass();
  assert.deepEqual(a.own?.calls, ["stop"]);
  assert.deepEqual(phases, ["stopped"]);
});

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
