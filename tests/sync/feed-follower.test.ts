// Tests how a feed of changes is followed, event by event.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { consistentReading } from "../../web/src/sync/consistent-reading.ts";
import type { SyncRules } from "../../web/src/sync/context.ts";
import { FeedFollower } from "../../web/src/sync/feed-follower.ts";
import type { FeedState, RemoteRow } from "../../web/src/sync/hidden-tables.ts";
import { plainReading } from "../../web/src/sync/plain-reading.ts";
import type { FeedAnswer, FeedEvent, OpenFeedAnswer } from "../../web/src/sync/remote.ts";
import { fill, key, remoteRow, type Scripted, scripted } from "./scripted.ts";

/** A feed whose events a test sends. */
class ScriptedFeed {
  readonly kind = "open";
  head: bigint;
  store = "a";
  scope = "";
  #answers: FeedAnswer[] = [];
  #onNews = (): void => {};

  constructor(head: bigint, store = "a", scope = "") {
    Object.assign(this, { store, scope });
    this.head = head;
  }

  send(...events: FeedEvent[]): void {
    this.#add({ kind: "events", events });
  }

  #add(answer: FeedAnswer): void {
    this.#answers.push(answer);
    this.#onNews();
  }

  truncate(): void {
    this.#add({ kind: "truncated" });
  }

  close(): void {
    this.#add({ kind: "ended" });
  }

  async next(): Promise<FeedAnswer> {
    while (this.#answers.length === 0)
      await new Promise<void>((resolve) => {
        this.#onNews = resolve;
      });
    return this.#answers.shift() as FeedAnswer;
  }
}

class World {
  readonly scripted: Scripted;
  readonly follower: FeedFollower;
  readonly asked: (bigint | undefined)[] = [];
  marks = 0;
  answers: OpenFeedAnswer[] = [];

  constructor(scripted: Scripted) {
    this.scripted = scripted;
    Object.assign(scripted.remote, {
      openFeed: ({ since }: { since: bigint | undefined }) => {
        this.asked.push(since);
        return Promise.resolve(this.answers.shift() ?? { kind: "none" });
      },
    });
    const onMarked = () => {
      this.marks += 1;
    };
    const events = { onChange: () => {}, onMarked };
    this.follower = new FeedFollower(scripted.context, scripted.requests, events);
  }

  static async open(rules?: Partial<SyncRules>): Promise<World> {
    return new World(await scripted(rules));
  }

  /** Lets promises settle, and commits be stored. */
  async settle(): Promise<void> {
    const { scheduler } = this.scripted;
    scheduler.after(0, () => {});
    await scheduler.run(scheduler.now + 50);
  }

  /** Follows what these answers open. */
  async follow(...answers: OpenFeedAnswer[]) {
    this.answers = answers;
    const end = this.follower.follow();
    await this.settle();
    return end;
  }

  /** Follows a feed that stays open. */
  async begin(feed: ScriptedFeed): Promise<void> {
    this.answers = [feed];
    void this.follower.follow();
    await this.settle();
  }

  get state(): FeedState | undefined {
    return this.scripted.store.view.get("feed", "state");
  }

  value(name: string): unknown {
    return this.scripted.store.view.get("rows", key(name))?.properties.get("a")?.value;
  }

  isMarked(name: string): boolean {
    return this.scripted.store.view.get("marks", key(name)) !== undefined;
  }
}

const event = (sequence: bigint, name: string, row: RemoteRow | undefined): FeedEvent => ({
  sequence,
  changes: [{ key: key(name), row }],
  witness: `w${sequence}`,
});
const position = (sequence: bigint): FeedEvent => ({ sequence, changes: [] });

describe("a feed", () => {
  test("that begins is followed from its head, and not complete before all was read", async () => {
    const world = await World.open();
    await world.begin(new ScriptedFeed(5n));
    assert.deepEqual(world.asked, [undefined]);
    assert.equal(world.follower.isCaughtUp, true);
    assert.equal(world.follower.isComplete, false);
    assert.equal(world.state?.position, 5n);
    await world.follower.complete(world.follower.gap);
    assert.equal(world.follower.isComplete, true);
    assert.equal(world.state?.isComplete, true);
  });

  test("brings changes and deletes, with the position in the same commit", async () => {
    const world = await World.open();
    fill(world.scripted, ["1", "2"]);
    const feed = new ScriptedFeed(5n);
    await world.begin(feed);
    const before = world.scripted.store.commit;
    feed.send(event(6n, "1", remoteRow(7, "e7")), event(8n, "2", undefined));
    await world.settle();
    assert.deepEqual([world.value("1"), world.value("2")], [7, undefined]);
    assert.equal(world.scripted.store.commit, before + 1);
    assert.deepEqual(world.state?.witness, { sequence: 8n, text: "w8" });
    assert.equal(world.state?.position, 8n);
  });

  test("brings the second change of a key without a read", async () => {
    const world = await World.open();
    const feed = new ScriptedFeed(5n);
    await world.begin(feed);
    for (const value of [1, 2, 3]) {
      feed.send(event(5n + BigInt(value), "1", remoteRow(value, `e${value}`)));
      await world.settle();
      assert.equal(world.value("1"), value);
    }
    assert.equal(world.marks, 0);
  });

  test("makes a key be read that something else has touched since the request", async () => {
    const world = await World.open();
    const feed = new ScriptedFeed(5n);
    await world.begin(feed);
    fill(world.scripted, ["1"]);
    feed.send(event(6n, "1", remoteRow(1, "e1")));
    await world.settle();
    assert.deepEqual([world.value("1"), world.isMarked("1"), world.marks], [0, true, 1]);
  });

  test("does not store a position that moves without changes, but from time to time", async () => {
    const world = await World.open();
    const feed = new ScriptedFeed(5n);
    await world.begin(feed);
    feed.send(position(6n));
    await world.settle();
    assert.equal(world.state?.position, 5n);
    await world.scripted.scheduler.run(world.scripted.scheduler.now + 61_000);
    feed.send(position(7n));
    await world.settle();
    assert.equal(world.state?.position, 7n);
  });
});

describe("after an interruption, a feed", () => {
  const interrupted = async (): Promise<World> => {
    const world = await World.open();
    fill(world.scripted, ["1"]);
    const feed = new ScriptedFeed(5n);
    await world.begin(feed);
    feed.send(event(6n, "2", remoteRow(6, "e6")));
    await world.settle();
    await world.follower.complete(world.follower.gap);
    feed.close();
    await world.settle();
    return world;
  };

  test("continues at its position", async () => {
    const world = await interrupted();
    await world.begin(new ScriptedFeed(6n));
    assert.deepEqual(world.asked, [undefined, 6n]);
    assert.equal(world.follower.isCaughtUp && world.follower.isComplete, true);
  });

  test("brings what was missed at once, when the head is reached", async () => {
    const world = await interrupted();
    const feed = new ScriptedFeed(9n);
    await world.begin(feed);
    feed.send(event(7n, "1", remoteRow(7, "e7")), event(8n, "1", remoteRow(8, "e8")));
    await world.settle();
    assert.deepEqual([world.value("1"), world.follower.isCaughtUp], [0, false]);
    feed.send(position(9n));
    await world.settle();
    assert.deepEqual([world.value("1"), world.follower.isCaughtUp], [8, true]);
    assert.equal(world.marks, 0);
  });

  test("begins again if the remote does not know any more what has changed", async () => {
    const world = await interrupted();
    const feed = new ScriptedFeed(9n);
    feed.truncate();
    assert.deepEqual(await world.follow(feed), { kind: "gap" });
    assert.deepEqual([world.state], [undefined]);
    await world.begin(new ScriptedFeed(9n));
    assert.deepEqual(world.asked.slice(1), [6n, undefined]);
    assert.deepEqual([world.state?.position, world.follower.isComplete], [9n, false]);
  });

  test("begins again if the remote has not come as far", async () => {
    const world = await interrupted();
    assert.deepEqual(await world.follow(new ScriptedFeed(3n)), { kind: "gap" });
  });

  test("begins again if the credential shows other keys", async () => {
    const world = await interrupted();
    assert.deepEqual(await world.follow(new ScriptedFeed(6n, "a", "narrow")), { kind: "gap" });
  });

  test("continues in another process of the remote that has its last change", async () => {
    const world = await interrupted();
    const again = new ScriptedFeed(7n, "b");
    again.send(event(6n, "2", remoteRow(6, "e6")), event(7n, "1", remoteRow(7, "e7")));
    world.answers = [new ScriptedFeed(7n, "b"), again];
    void world.follower.follow();
    await world.settle();
    assert.deepEqual(world.asked.slice(1), [6n, 5n]);
    assert.deepEqual([world.value("1"), world.state?.store, world.marks], [7, "b", 0]);
    assert.equal(world.follower.isComplete, true);
  });

  test("of another process of the remote brings what its history has after the last change", async () => {
    const world = await interrupted();
    const feed = new ScriptedFeed(6n);
    await world.begin(feed);
    await world.scripted.scheduler.run(world.scripted.scheduler.now + 61_000);
    feed.send(position(8n)); // other tables have changed
    await world.settle();
    assert.equal(world.state?.position, 8n);
    feed.close();
    await world.settle();
    const again = new ScriptedFeed(9n, "b");
    again.send(event(6n, "2", remoteRow(6, "e6")), event(7n, "1", remoteRow(7, "e7")));
    again.send(position(9n));
    world.answers = [new ScriptedFeed(9n, "b"), again];
    void world.follower.follow();
    await world.settle();
    assert.deepEqual([world.value("1"), world.state?.position], [7, 9n]);
    assert.equal(world.follower.isComplete, true);
  });

  for (const [what, event6] of [
    ["has another change there", { ...event(6n, "2", remoteRow(6, "e6")), witness: "other" }],
    ["has no change there", position(7n)],
  ] as const) {
    test(`begins again if another process of the remote ${what}`, async () => {
      const world = await interrupted();
      const again = new ScriptedFeed(7n, "b");
      again.send(event6);
      const end = await world.follow(new ScriptedFeed(7n, "b"), again);
      assert.deepEqual(end, { kind: "gap" });
      assert.deepEqual([world.state], [undefined]);
    });
  }

  test("has a gap if too much was missed to be collected", async () => {
    const world = await interrupted();
    const feed = new ScriptedFeed(20_000n);
    await world.begin(feed);
    const events = Array.from({ length: 11_000 }, (_, index) =>
      event(7n + BigInt(index), `n${index}`, remoteRow(1, `e${index}`)),
    );
    feed.send(...events, position(20_000n));
    await world.settle();
    assert.deepEqual([world.state?.position, world.state?.isComplete], [20_000n, false]);
    assert.equal(world.follower.isCaughtUp, true);
  });

  test("collects as much as fits, of which only the last version of a key counts", async () => {
    for (const [names, isComplete] of [
      [10, true],
      [80, false],
    ] as const) {
      const world = await interrupted();
      await world.follower.complete(world.follower.gap);
      const feed = new ScriptedFeed(1000n);
      await world.begin(feed);
      const events = Array.from({ length: 200 }, (_, index) => ({
        ...event(7n + BigInt(index), `n${index % names}`, remoteRow(index, `e${index}`)),
        size: 2 ** 20,
      }));
      feed.send(...events, position(1000n));
      await world.settle();
      assert.equal(world.state?.isComplete, isComplete);
      assert.equal(world.value(`n${199 % names}`), 199);
    }
  });
});

describe("a follower that is closed", () => {
  test("before the request sends none", async () => {
    const world = await World.open();
    const end = world.follower.follow();
    world.follower.close();
    assert.deepEqual(await end, { kind: "ended" });
    assert.deepEqual(world.asked, []);
  });

  test("before the answer closes the feed, and stores nothing", async () => {
    const world = await World.open();
    let answer: (feed: ScriptedFeed) => void = () => {};
    const { remote } = world.scripted;
    Object.assign(remote, { openFeed: () => new Promise((resolve) => (answer = resolve)) });
    const end = world.follower.follow();
    await world.settle();
    world.follower.close();
    const feed = new ScriptedFeed(5n);
    answer(feed);
    assert.deepEqual(await end, { kind: "ended" });
    assert.deepEqual(await feed.next(), { kind: "ended" });
    assert.equal(world.state, undefined);
  });
});

test("what was read before a gap does not make the feed complete", async () => {
  const world = await World.open();
  const feed = new ScriptedFeed(5n);
  await world.begin(feed);
  const { gap } = world.follower;
  feed.send({ sequence: 6n, changes: [], hasGap: true });
  await world.settle();
  await world.follower.complete(gap);
  assert.equal(world.follower.isComplete, false);
  await world.follower.complete(world.follower.gap);
  assert.equal(world.follower.isComplete, true);
});

describe("if whole partitions are read, a feed", () => {
  const open = () => World.open({ consistent: consistentReading(plainReading) });
  const commitOf = (names: readonly string[]): FeedEvent => ({
    sequence: 6n,
    changes: names.map((name) => ({ key: key(name), row: remoteRow(6, "e6") })),
  });

  test("brings more than a step in one commit", async () => {
    const world = await open();
    const names = Array.from({ length: 1500 }, (_, index) => `n${index}`);
    const feed = new ScriptedFeed(5n);
    await world.begin(feed);
    await world.follower.complete(world.follower.gap);
    const before = world.scripted.store.commit;
    feed.send(commitOf(names));
    await world.settle();
    assert.equal(world.scripted.store.commit, before + 1);
    assert.deepEqual([world.value("n0"), world.value("n1499"), world.marks], [6, 6, 0]);
  });

  test("brings only marks of a partition of which a key was touched", async () => {
    const world = await open();
    const feed = new ScriptedFeed(5n);
    await world.begin(feed);
    await world.follower.complete(world.follower.gap);
    fill(world.scripted, ["1"]);
    feed.send(commitOf(["1", "2"]));
    await world.settle();
    assert.deepEqual([world.isMarked("1"), world.isMarked("2"), world.marks], [true, true, 1]);
  });

  test("brings only marks until all was read, and is not renewed for them", async () => {
    const world = await open();
    const names = Array.from({ length: 150 }, (_, index) => `n${index}`);
    const feed = new ScriptedFeed(5n);
    await world.begin(feed);
    feed.send(commitOf(names));
    await world.settle();
    assert.equal(world.isMarked("n0") && world.isMarked("n149"), true);
    assert.equal(world.value("n0"), undefined);
    assert.equal(world.follower.isCaughtUp, true);
  });
});

test("a connection is renewed when many keys had to be marked", async () => {
  const world = await World.open();
  const names = Array.from({ length: 101 }, (_, index) => `n${index}`);
  const feed = new ScriptedFeed(5n);
  world.answers = [feed];
  const end = world.follower.follow();
  await world.settle();
  fill(world.scripted, names);
  feed.send(...names.map((name, index) => event(6n + BigInt(index), name, remoteRow(1, "e"))));
  await world.settle();
  assert.deepEqual(await end, { kind: "renewed" });
});

test("a Timestamp far ahead ends the connection", async () => {
  const world = await World.open();
  const feed = new ScriptedFeed(5n);
  feed.send(event(6n, "1", { ...remoteRow(1, "e1"), timestamp: 10n ** 18n }));
  assert.deepEqual(await world.follow(feed), { kind: "failed" });
  assert.equal(world.scripted.context.status.error, "remoteClock");
  assert.equal(world.value("1"), undefined);
});
