// Tests the pusher where one exact order of events matters.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Draft } from "../../web/src/sync/draft.ts";
import { type Key, partitionOf } from "../../web/src/sync/keys.ts";
import { areSameProperties, type Properties } from "../../web/src/sync/properties.ts";
import { Pusher } from "../../web/src/sync/pusher.ts";
import type { Remote } from "../../web/src/sync/remote.ts";
import { StorageFailure } from "./fake-store.ts";
import { fill, key, properties, remoteRow, type Scripted, scripted } from "./scripted.ts";

type PushAnswer = Awaited<ReturnType<Remote["push"]>>;

const refused = (status = 412): PushAnswer => ({ kind: "refused", index: 0, status, code: "Code" });
const failed: PushAnswer = { kind: "failed" };

/** The remote executes all pushes, and gives these answers to the first ones. */
function answering({ remote }: Scripted, ...answers: (PushAnswer | undefined)[]): Key[][] {
  const sent: Key[][] = [];
  remote.push = async ({ members }) => {
    sent.push(members.map(({ key: of }) => of));
    const answer = answers.shift();
    if (answer && answer !== failed) return answer;
    const versions = members.map(({ key: of, intended }, index) => {
      if (intended === undefined) remote.rows.delete(of);
      else
        remote.rows.set(of, {
          properties: intended,
          etag: `${sent.length}${index}`,
          timestamp: 1n,
        });
      return intended && { etag: `${sent.length}${index}`, timestamp: 1n };
    });
    return answer ?? { kind: "applied", receipt: undefined, versions };
  };
  return sent;
}

const write = ({ store }: Scripted, group: number, ...keys: Key[]) =>
  store.write(group, new Map(keys.map((of) => [of, () => properties(group)])));

/** Runs the pusher until this time. */
async function pushUntil(world: Scripted, pusher: Pusher, time: number): Promise<unknown> {
  let error: unknown;
  pusher.push().catch((reason: unknown) => {
    error = reason;
  });
  world.scheduler.after(0, () => {}); // promises are settled after events
  await world.scheduler.run(time);
  return error;
}

const lost = ({ store }: Scripted) =>
  [...store.view.entries("lost", "")].map(([, { op, outcome }]) => `${op.group} ${outcome}`);
const outbox = ({ store }: Scripted) => store.keys("outbox").map(partitionOf).join();

describe("a partition that waits", () => {
  test("does not stop the others", async () => {
    const world = await scripted({ pushesAtOnce: 1 });
    const { remote } = world;
    answering(world);
    const { push } = remote;
    remote.push = (frozen, sendBefore) =>
      frozen.partition === "p"
        ? Promise.resolve({ kind: "failed", retryAfterMs: 600_000 })
        : push(frozen, sendBefore);
    for (const [index, partition] of ["p", "q", "r"].entries()) {
      write(world, index + 1, key("1", partition));
    }
    await pushUntil(world, new Pusher(world.context, world.requests), 1000);
    assert.equal(outbox(world), "p");
  });

  test("for the application does not, either", async () => {
    let isAsked = false;
    const policy = () => {
      isAsked = true;
      return new Promise<never>(() => {});
    };
    const world = await scripted({ pushesAtOnce: 1, policy });
    fill(world, ["1"]);
    answering(world, refused());
    write(world, 1, key("1"));
    write(world, 2, key("1", "q"));
    world.remote.rows.set(key("1"), remoteRow(9, "9"));
    await pushUntil(world, new Pusher(world.context, world.requests), 1000);
    assert(isAsked);
    assert.equal(outbox(world), "p");
  });

  test("for the application ends with a parked write if the store refuses the answer", async () => {
    const answer = { kind: "store", properties: properties(5) } as const;
    const world = await scripted({ policy: () => Promise.resolve(answer) });
    fill(world, ["1"]);
    answering(world, refused());
    write(world, 1, key("1"));
    world.remote.rows.set(key("1"), remoteRow(9, "9"));
    const { transact } = world.store;
    world.store.transact = <T>(decide: (draft: Draft) => T) =>
      transact.call(world.store, (draft) => {
        const result = decide(draft);
        if (areSameProperties(draft.get("rows", key("1"))?.properties, answer.properties))
          throw Object.assign(new Error("The entity is too large."), { statusCode: 400 });
        return result;
      }) as Promise<T>;
    await pushUntil(world, new Pusher(world.context, world.requests), 1000);
    assert.equal([...world.store.view.entries("parked", "")].length, 1);
    assert.equal(outbox(world), "");
  });

  test("for a credential does not, either", async () => {
    const world = await scripted({ pushesAtOnce: 1 });
    answering(world, { kind: "unauthorized" });
    world.remote.refresh = () => new Promise<never>(() => {});
    write(world, 1, key("1"));
    write(world, 2, key("1", "q"));
    await pushUntil(world, new Pusher(world.context, world.requests), 1000);
    assert.equal(outbox(world), "p");
  });

  test("with a delete goes on when it may", async () => {
    const world = await scripted();
    fill(world, ["1"]);
    world.store.transact((draft) => draft.put("settling", key("1"), true));
    answering(world);
    world.store.write(1, new Map([[key("1"), () => undefined]]));
    const pusher = new Pusher(world.context, world.requests);
    await pushUntil(world, pusher, 1000);
    assert.equal(outbox(world), "p");
    await world.scheduler.run(1100);
    assert.equal(outbox(world), "");
  });
});

describe("a push", () => {
  test("that was applied is not sent as a first try after its commit failed", async () => {
    const world = await scripted();
    fill(world, ["1"]);
    answering(world, undefined, refused());
    write(world, 1, key("1"));
    const pusher = new Pusher(world.context, world.requests);
    const { push } = world.remote;
    world.remote.push = async (frozen, sendBefore) => {
      const answer = await push(frozen, sendBefore);
      world.disk.failures = 1;
      return answer;
    };
    assert((await pushUntil(world, pusher, 100)) instanceof StorageFailure);
    world.disk.failures = 0;
    world.remote.push = push;
    world.remote.rows.set(key("1"), remoteRow(9, "9")); // another client has overwritten it
    await pushUntil(world, pusher, 200);
    assert.deepEqual(lost(world), ["1 unknown"]);
  });

  test("is claimed again if the time to send it has passed", async () => {
    const world = await scripted();
    const sent = answering(world);
    const { push } = world.remote;
    let answers = 0;
    world.remote.push = async (frozen, sendBefore) => {
      answers += 1;
      return answers < 3 ? { kind: "notSent" } : push(frozen, sendBefore);
    };
    write(world, 1, key("1"));
    await pushUntil(world, new Pusher(world.context, world.requests), 500);
    assert.equal(sent.length, 1);
    assert.equal(outbox(world), "");
  });

  test("that is refused though nothing has changed is not repeated at once", async () => {
    const world = await scripted();
    fill(world, ["1"]);
    const sent: unknown[] = [];
    world.remote.push = async (push) => {
      sent.push(push);
      return refused();
    };
    write(world, 1, key("1"));
    await pushUntil(world, new Pusher(world.context, world.requests), 2000);
    assert(sent.length > 5 && sent.length < 30, `${sent.length}`);
  });

  test("leaves nothing behind when its ambiguous inserts cannot arrive any more", async () => {
    const world = await scripted();
    answering(world, failed, refused(409));
    write(world, 1, key("1"));
    const pusher = new Pusher(world.context, world.requests);
    await pushUntil(world, pusher, 500);
    assert.equal(outbox(world), "");
    assert.deepEqual(world.store.keys("settling"), [key("1")]);
    await pushUntil(world, pusher, 1000);
    assert.deepEqual(world.store.keys("settling"), [key("1")]);
    await pushUntil(world, pusher, 2000);
    await pushUntil(world, pusher, 2001);
    assert.deepEqual(world.store.keys("settling"), []);
  });

  test("counts the time to send it from before its commit", async () => {
    const world = await scripted({ sendWithinMs: 40 });
    const { scheduler, store } = world;
    const isLate: boolean[] = [];
    world.remote.push = async (_, sendBefore) => {
      isLate.push(sendBefore <= scheduler.now);
      return { kind: "notSent" };
    };
    write(world, 1, key("1"));
    // The process is frozen when the commit was made.
    let results = 0;
    store.deliver = async (result) => {
      results += 1;
      if (results === 2) await new Promise<void>((resolve) => scheduler.after(50, resolve));
      return result;
    };
    await pushUntil(world, new Pusher(world.context, world.requests), 200);
    assert.equal(results > 3, true);
    assert.deepEqual(isLate.slice(0, 2), [true, false]);
  });

  test("of an earlier process is not decided while that may just have sent it", async () => {
    const world = await scripted();
    world.remote.push = () => new Promise<never>(() => {}); // the process ends
    write(world, 1, key("1"));
    await pushUntil(world, new Pusher(world.context, world.requests), 60);
    assert.deepEqual(world.store.keys("pushes"), ["p"]);
    world.remote.rows.set(key("1"), remoteRow(9, "9"));
    answering(world, refused(409));
    const startedAt = world.scheduler.now;
    await pushUntil(world, new Pusher(world.context, world.requests), startedAt + 1000);
    assert.deepEqual(lost(world), []);
    await world.scheduler.run(startedAt + 1100);
    assert.deepEqual(lost(world), ["1 unknown"]);
  });

  test("is not sent again if it is executed while its members are read", async () => {
    const world = await scripted();
    const { remote } = world;
    fill(world, ["1", "2"]);
    const sent = answering(world);
    const { push, read } = remote;
    const late: (() => Promise<unknown>)[] = [];
    remote.push = async (frozen, sendBefore) => {
      if (sent.length > 0) return push(frozen, sendBefore);
      late.push(() => push(frozen, sendBefore));
      return { kind: "rejected", code: "Proxy" };
    };
    remote.read = (of) => {
      const answer = read(of);
      // The first copy arrives when the row was read.
      if (late.length > 1 && sent.length === 0 && of === key("1")) late[0]?.();
      return answer;
    };
    write(world, 1, key("1"));
    write(world, 2, key("2"));
    await pushUntil(world, new Pusher(world.context, world.requests), 5000);
    assert.deepEqual(sent, [[key("1"), key("2")]]);
    assert.equal(outbox(world), "");
    assert.deepEqual(lost(world), []);
  });

  test("of which others changed a part meanwhile is not sent in part", async () => {
    const world = await scripted({ policy: "local" });
    const { remote } = world;
    fill(world, ["1", "2"]);
    const sent = answering(world);
    const { push, read } = remote;
    remote.push = async (frozen, sendBefore) => {
      const answer = await push(frozen, sendBefore);
      return sent.length === 1 ? refused() : answer; // the network has sent it twice
    };
    remote.read = (of) => {
      const answer = read(of);
      // Another client writes both entities when the first was read.
      if (of === key("1") && remote.rows.get(of)?.etag === "10") {
        for (const name of ["1", "2"]) remote.rows.set(key(name), remoteRow(9, "9"));
      }
      return answer;
    };
    write(world, 1, key("1"), key("2"));
    await pushUntil(world, new Pusher(world.context, world.requests), 5000);
    assert.deepEqual(sent, [
      [key("1"), key("2")],
      [key("1"), key("2")],
    ]);
    assert.equal(outbox(world), "");
  });

  describe("in conflict with others' batches about two entities", () => {
    type Rows = Readonly<Record<string, Readonly<Record<string, number>>>>;
    const rowOf = (values: Readonly<Record<string, number>>): Properties =>
      new Map(Object.entries(values).map(([name, value]) => [name, { type: "Int32", value }]));
    const setting =
      (values: Readonly<Record<string, number>>) =>
      (row?: Properties): Properties =>
        new Map([...(row ?? []), ...rowOf(values)]);

    /** Pushes are refused because others have written these rows, and then accepted. */
    async function intendedAfter(edits: readonly Rows[], ...others: Rows[]) {
      const world = await scripted({ policy: "local" });
      const { remote, store } = world;
      fill(world, ["1", "2"]);
      for (const [index, rows] of edits.entries()) {
        const changes = Object.entries(rows).map(
          ([name, values]) => [key(name), setting(values)] as const,
        );
        store.write(index + 1, new Map(changes));
      }
      answering(world);
      const { push } = remote;
      const intended: Record<string, Record<string, unknown>>[] = [];
      remote.push = async (frozen, sendBefore) => {
        const values = (row?: Properties) =>
          Object.fromEntries([...(row ?? [])].map(([name, { value }]) => [name, value]));
        intended.push(
          Object.fromEntries(frozen.members.map((one) => [one.key.at(-1), values(one.intended)])),
        );
        const theirs = others.shift();
        if (theirs === undefined) return push(frozen, sendBefore);
        for (const [name, values] of Object.entries(theirs)) {
          const etag = `other ${others.length}`;
          remote.rows.set(key(name), { properties: rowOf(values), etag, timestamp: 1n });
        }
        return refused();
      };
      await pushUntil(world, new Pusher(world.context, world.requests), 5000);
      assert.equal(outbox(world), "");
      return intended;
    }

    test("sends all entities of a group again, also if the remote has a part of it", async () => {
      const edits: Rows[] = [{ 1: { a: 1 }, 2: { a: 1 } }, { 2: { b: 1 } }];
      const same = { 1: { a: 1 }, 2: { a: 1, c: 2 } };
      const later = { 1: { a: 3 }, 2: { a: 3, c: 3 } };
      assert.deepEqual(await intendedAfter(edits, same, later), [
        { 1: { a: 1 }, 2: { a: 1, b: 1 } },
        { 1: { a: 1 }, 2: { a: 1, b: 1, c: 2 } },
        { 1: { a: 1 }, 2: { a: 1, b: 1, c: 3 } },
      ]);
    });

    test("sends changes that were undone in all entities of their group, or in none", async () => {
      const both = (a: number) => ({ 1: { a }, 2: { a } });
      const edits: Rows[] = [both(1), both(0), { 2: { b: 1 } }];
      const intended = { 1: { a: 0 }, 2: { a: 0, b: 1 } };
      assert.deepEqual(await intendedAfter(edits, both(3)), [intended, intended]);
    });
  });

  test("is read back only when reads show what refused it", async () => {
    const world = await scripted();
    const { remote, scheduler } = world;
    fill(world, ["1"]);
    const before = remoteRow(0, "1");
    remote.traits.staleReadMs = 100;
    answering(world, failed, refused(), refused());
    write(world, 1, key("1"));
    const { push } = remote;
    let refusedAt = Number.POSITIVE_INFINITY;
    remote.push = async (frozen, sendBefore) => {
      const answer = await push(frozen, sendBefore);
      if (answer.kind !== "refused") return answer;
      remote.rows.set(key("1"), remoteRow(9, "9")); // another client has overwritten it
      refusedAt = Math.min(refusedAt, scheduler.now);
      return answer;
    };
    const { read } = remote;
    remote.read = (of) => {
      const isOld = scheduler.now < refusedAt + 99;
      return isOld ? Promise.resolve({ kind: "found", row: before }) : read(of);
    };
    await pushUntil(world, new Pusher(world.context, world.requests), 1000);
    assert.deepEqual(lost(world), ["1 unknown"]);
  });

  test("whose receipt is gone is not applied if it was the only try", async () => {
    const world = await scripted({ hasReceipts: true, policy: "local" });
    fill(world, ["1"]);
    world.store.transact((draft) => draft.put("receipts", "p", { etag: "r" }));
    world.remote.rows.set(key("1"), remoteRow(9, "9"));
    answering(world, refused(404));
    write(world, 1, key("1"));
    await pushUntil(world, new Pusher(world.context, world.requests), 500);
    assert.deepEqual(lost(world), []);
    assert.equal(outbox(world), "");
  });
});

describe("the receipt of a partition", () => {
  /** The remote has a receipt, whose version is the condition of each push and fence. */
  function withReceipt({ remote }: Scripted): { etag: string | undefined } {
    const receipt: { etag: string | undefined } = { etag: undefined };
    let versions = 0;
    const change = (condition: string | undefined): PushAnswer => {
      if (receipt.etag !== condition)
        return refused(receipt.etag === undefined ? 404 : condition === undefined ? 409 : 412);
      receipt.etag = `r${++versions}`;
      const version = { etag: receipt.etag, timestamp: 1n };
      return { kind: "applied", receipt: version, versions: [] };
    };
    remote.fence = async (_, condition) => change(condition);
    remote.readReceipt = async () =>
      receipt.etag ? { kind: "found", row: remoteRow(0, receipt.etag) } : { kind: "absent" };
    const { push } = remote;
    remote.push = async (frozen, sendBefore) => {
      const answer = change(frozen.receipt?.etag);
      if (answer.kind !== "applied") return answer;
      return { ...answer, ...(await push(frozen, sendBefore)), receipt: answer.receipt };
    };
    return receipt;
  }

  test("prevents a late copy of the first push after the table was created again", async () => {
    const world = await scripted({ hasReceipts: true });
    const { remote } = world;
    const sent = answering(world);
    const receipt = withReceipt(world);
    const { push } = remote;
    const copies: (() => Promise<PushAnswer>)[] = [];
    remote.push = (frozen, sendBefore) => {
      copies.push(() => push(frozen, sendBefore));
      return push(frozen, sendBefore);
    };
    write(world, 1, key("1"));
    await pushUntil(world, new Pusher(world.context, world.requests), 500);
    assert.deepEqual(sent, [[key("1")]]);
    assert.equal(outbox(world), "");
    remote.rows.clear();
    receipt.etag = undefined;
    await copies[0]?.();
    assert.equal(remote.rows.size, 0);
  });

  test("is created in a request of its own, which is repeated until it is answered", async () => {
    const world = await scripted({ hasReceipts: true });
    const { remote } = world;
    const sent = answering(world);
    withReceipt(world);
    let refreshes = 0;
    remote.refresh = async () => {
      refreshes += 1;
    };
    const { fence } = remote;
    const answers: PushAnswer[] = [
      { kind: "tableMissing" },
      { kind: "rejected", code: "Proxy" },
      { kind: "unauthorized" },
      refused(403),
      failed,
    ];
    remote.fence = async (name, etag) => {
      assert.deepEqual(sent, []);
      assert.equal(etag, undefined);
      const answer = answers.shift() ?? (await fence(name, etag));
      return answer;
    };
    write(world, 1, key("1"));
    await pushUntil(world, new Pusher(world.context, world.requests), 2000);
    assert.equal(refreshes, 2);
    assert.deepEqual(sent, [[key("1")]]);
    assert.equal(outbox(world), "");
  });

  test("whose key the service refuses parks what is pending, and no other partition waits", async () => {
    const world = await scripted({ hasReceipts: true });
    const { remote, store } = world;
    const sent = answering(world);
    withReceipt(world);
    const { fence } = remote;
    remote.fence = async (name, etag) =>
      name.partition === "p" ? refused(400) : fence(name, etag);
    write(world, 1, key("1"));
    write(world, 2, key("2"));
    write(world, 3, key("1", "q"));
    await pushUntil(world, new Pusher(world.context, world.requests), 2000);
    assert.deepEqual(sent, [[key("1", "q")]]);
    assert.equal(outbox(world), "");
    assert.equal(store.keys("parked").length, 2);
  });

  test("is taken as it is if the remote has it already", async () => {
    const world = await scripted({ hasReceipts: true });
    const sent = answering(world);
    const receipt = withReceipt(world);
    receipt.etag = "before";
    world.remote.push = async (frozen) => {
      assert.equal(frozen.receipt?.etag, "before");
      sent.push([]);
      return new Promise<never>(() => {});
    };
    write(world, 1, key("1"));
    await pushUntil(world, new Pusher(world.context, world.requests), 500);
    assert.equal(sent.length, 1);
  });
});

// A batch that is full has no place for a receipt.
describe("a full batch of a table with receipts", () => {
  const limits = { operations: 2, bytes: 1 << 20 };
  const rules = { hasReceipts: true, policy: "local", limits } as const;

  /** The remote executes the first push only if `isExecuted`, and always refuses it. */
  function refusing({ remote }: Scripted, isExecuted: boolean, onFirst: () => void): void {
    const { push } = remote;
    let isFirst = true;
    remote.push = async (frozen, sendBefore) => {
      const answer = isFirst && !isExecuted ? refused() : await push(frozen, sendBefore);
      if (!isFirst) return answer;
      isFirst = false;
      onFirst();
      return refused();
    };
  }

  test("is not sent again if the refusal may be that of a second copy", async () => {
    const world = await scripted(rules);
    const { remote } = world;
    fill(world, ["1", "2"]);
    const sent = answering(world);
    refusing(world, true, () => remote.rows.set(key("2"), remoteRow(9, "9"))); // by another client
    write(world, 1, key("1"), key("2"));
    await pushUntil(world, new Pusher(world.context, world.requests), 5000);
    assert.deepEqual(sent, [[key("1"), key("2")]]);
    assert.deepEqual(lost(world), ["1 unknown"]);
    assert.equal(outbox(world), "");
  });

  test("is in conflict if an entity still has its Base", async () => {
    const world = await scripted(rules);
    const { remote } = world;
    fill(world, ["1", "2"]);
    const sent = answering(world);
    refusing(world, false, () => remote.rows.set(key("2"), remoteRow(9, "9")));
    write(world, 1, key("1"), key("2"));
    await pushUntil(world, new Pusher(world.context, world.requests), 500);
    assert.deepEqual(sent, [[key("1"), key("2")]]);
    assert.deepEqual(lost(world), []);
    assert.equal(outbox(world), "");
  });

  test("makes a delete wait for a second copy of its inserts, though it was answered", async () => {
    const world = await scripted(rules);
    answering(world);
    write(world, 1, key("1"), key("2"));
    const pusher = new Pusher(world.context, world.requests);
    await pushUntil(world, pusher, 100);
    assert.equal(outbox(world), "");
    world.store.write(2, new Map([[key("1"), () => undefined]]));
    await pushUntil(world, pusher, 1000);
    assert.equal(outbox(world), "p");
    await world.scheduler.run(1200);
    assert.equal(outbox(world), "");
  });
});

describe("a request that is rejected as a whole", () => {
  const rejected: PushAnswer = { kind: "rejected", code: "Proxy" };

  test("is sent again unchanged after a captive portal", async () => {
    const world = await scripted();
    const sent = answering(world, rejected);
    write(world, 1, key("1"));
    write(world, 2, key("2"));
    await pushUntil(world, new Pusher(world.context, world.requests), 500);
    assert.deepEqual(sent, [
      [key("1"), key("2")],
      [key("1"), key("2")],
    ]);
    assert.equal(outbox(world), "");
  });

  test("is sent in halves until the group to blame is parked", async () => {
    const world = await scripted();
    const sent = answering(world);
    const { push } = world.remote;
    world.remote.push = async (frozen, sendBefore) =>
      frozen.members.some(({ key: of }) => of === key("2")) ? rejected : push(frozen, sendBefore);
    for (const [index, name] of ["1", "2", "3"].entries()) write(world, index + 1, key(name));
    await pushUntil(world, new Pusher(world.context, world.requests), 20_000);
    assert.deepEqual(sent, [[key("1")], [key("3")]]);
    const parked = [...world.store.view.entries("parked", "")];
    assert.deepEqual(
      parked.map(([, { group, reason }]) => [group, reason]),
      [[2, "Proxy"]],
    );
  });
});

test("a try that was rejected late may still be executed for the settle time", async () => {
  const world = await scripted();
  const { context, remote, scheduler, store } = world;
  fill(world, ["1"]);
  write(world, 1, key("1"));
  let answeredAt: number | undefined;
  let tries = 0;
  remote.push = async () => {
    tries += 1;
    if (tries > 1) await context.platform.sleep(5000);
    if (tries === 2) answeredAt = scheduler.now;
    return { kind: "rejected", code: "HTTP 403" };
  };
  const pusher = new Pusher(context, world.requests);
  await pushUntil(world, pusher, 5500);
  assert(answeredAt !== undefined && answeredAt < 5500);
  assert.deepEqual(store.keys("parked"), []);
  await scheduler.run(answeredAt + 1200);
  assert.equal(store.keys("parked").length, 1);
});

test("many pending operations of a partition are read a few times, not by each push", async () => {
  const world = await scripted({ limits: { operations: 10, bytes: 1 << 20 } });
  const sent = answering(world);
  const { view } = world.store;
  const { entries } = view;
  let read = 0;
  view.entries = function* (table, from, to) {
    for (const entry of entries.call(view, table, from, to)) {
      if (table === "outbox") read += 1;
      yield entry as never;
    }
  };
  const edits = 1000;
  for (let i = 1; i <= edits; ++i) write(world, i, key(String(i % 500).padStart(3, "0")));
  await pushUntil(world, new Pusher(world.context, world.requests), 100_000);
  assert.equal(outbox(world), "");
  assert.equal(sent.length, edits / 10);
  assert(read < 12 * edits, `${read} operations were read.`);
});
