// Tests the planner of sync, which is pure: every small case against a golden file
// (ENTITABLE_REWRITE=1 rewrites it; read the diff), and the rules that need larger cases. The last
// test checks that all of these together run every branch.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, test } from "node:test";
import type { ConflictPolicy } from "../../web/src/sync/conflict.ts";
import { Draft, type TableView } from "../../web/src/sync/draft.ts";
import type { FreezeInput } from "../../web/src/sync/freeze.ts";
import type {
  FeedState,
  FrozenPush,
  OutboxOp,
  TableName,
} from "../../web/src/sync/hidden-tables.ts";
import type { Properties } from "../../web/src/sync/properties.ts";
import type { Value } from "../../web/src/sync/value.ts";
import { Coverage } from "./coverage.ts";

const coverage = new Coverage();
await coverage.start();
const { decideAnswer } = await import("../../web/src/sync/answer.ts");
const { applyAnswer } = await import("../../web/src/sync/apply-answer.ts");
const { applyFeedChange, storeProgress } = await import("../../web/src/sync/feed-state.ts");
const { finishPush } = await import("../../web/src/sync/finish-push.ts");
const { applyChange, changeBetween } = await import("../../web/src/sync/change.ts");
const { conflictsOf, isPartlyEqual, resolveConflicts } = await import(
  "../../web/src/sync/conflict.ts"
);
const { massDelete, missingBases, missingRows, sizeOfDelete } = await import(
  "../../web/src/sync/delete-guard.ts"
);
const { freeze } = await import("../../web/src/sync/freeze.ts");
const { isInRange, isReceiptKey, keyAfter, keyOf, partitionOf, receiptKey, rowKeyOf } =
  await import("../../web/src/sync/keys.ts");
const { fenceToken, isSendable, operationFor, operationsOf, receiptOperation } = await import(
  "../../web/src/sync/operation.ts"
);
const { markKey } = await import("../../web/src/sync/marks.ts");
const { areSameObservations, decideOutcome } = await import("../../web/src/sync/outcome.ts");
const { OutboxIndex } = await import("../../web/src/sync/outbox-index.ts");
const { isUnread, outboxKey, PartitionLog } = await import("../../web/src/sync/partition-log.ts");
const { discardParked, parkAll, pendingPartitions, planPush, retryParked } = await import(
  "../../web/src/sync/plan-push.ts"
);
const { areSameProperties } = await import("../../web/src/sync/properties.ts");
const { receiptEvidence } = await import("../../web/src/sync/receipt.ts");
const { scanState, updateScanState } = await import("../../web/src/sync/scan-state.ts");
const { isSameValue } = await import("../../web/src/sync/value.ts");
const watermark = await import("../../web/src/sync/watermark.ts");
const { Disk } = await import("./fake-store.ts");
const { plannerCases } = await import("./planner-cases.ts");
const { Scheduler } = await import("./scheduler.ts");

const int32 = (value: number): Value => ({ type: "Int32", value });
const row = (values: Record<string, number>): Properties =>
  new Map(Object.entries(values).map(([name, value]) => [name, int32(value)]));
const key = (name: string) => keyOf("p", name);
const version = (properties: Properties, etag: string) => ({ properties, etag, timestamp: 1n });
const newStore = () => new Disk(new Scheduler(1), () => {}).open();
const keeps = () => true;
const limits = { operations: 3, bytes: 1 << 20 };
const rules = { hasReceipts: false, limits, keeps };
const token = "t";
const input = { token, groupsMax: 9 };

const goldenFile = new URL("../testdata/sync/planner.txt", import.meta.url);

test("every small case has the recorded result", () => {
  const golden = readFileSync(goldenFile, "utf8");
  const head = golden.split("\n").filter((line) => line.startsWith("#"));
  const cases = [...plannerCases()];
  const text = `${[...head, ...cases].join("\n")}\n`;
  if (process.env["ENTITABLE_REWRITE"]) writeFileSync(goldenFile, text);
  else assert.equal(text, golden);
  assert.equal(new Set(cases.map((line) => line.split(": ")[0])).size, cases.length);
});

describe("a push", () => {
  const create = (number: number, group: number, name: string, size = 1): OutboxOp => {
    const value: Value = { type: "String", value: "v".repeat(size) };
    const change = { kind: "create", properties: new Map([["a", value]]) } as const;
    return { number, group, key: key(name), change };
  };
  const inputOf = (ops: readonly OutboxOp[], more: Partial<FreezeInput> = {}): FreezeInput => ({
    ops,
    limits,
    hasReceipts: false,
    groupsMax: 9,
    baseOf: () => ({ kind: "absent" }),
    isSettling: () => false,
    ...more,
  });
  const three = ["1", "2", "3"].map((name, index) => create(index + 1, 1, name));

  test("ends at a group's end, within the limits of entities and bytes", () => {
    const ops = [create(1, 1, "1"), create(2, 1, "2"), create(3, 2, "3"), create(4, 2, "4")];
    const frozen = freeze(inputOf(ops));
    assert.equal(frozen.kind === "ready" && frozen.upTo, 2);
    const large = [create(1, 1, "1", 600_000), create(2, 2, "2", 600_000)];
    const one = freeze(inputOf(large));
    assert.equal(one.kind === "ready" && one.upTo, 1);
    const two = freeze(inputOf([create(1, 1, "1"), create(2, 2, "2")], { groupsMax: 1 }));
    assert.equal(two.kind === "ready" && two.upTo, 1);
    assert.deepEqual(freeze(inputOf([create(1, 7, "1", 1 << 20)])), { kind: "tooLarge", group: 7 });
  });

  test("has a limited number of operations, however few its entities are", () => {
    const edit = (number: number): OutboxOp => {
      const change = { kind: "edit", set: row({ a: number }), unset: new Set<string>() } as const;
      return { number, group: number, key: key("1"), change };
    };
    const edits = Array.from({ length: 3000 }, (_, index) => edit(index + 2));
    const ops = [create(1, 1, "1"), ...edits];
    const frozen = freeze(inputOf(ops, { groupsMax: Number.POSITIVE_INFINITY }));
    assert.equal(frozen.kind === "ready" && frozen.upTo, 2000);
    assert.equal(frozen.kind === "ready" && frozen.members.length, 1);
  });

  test("has a receipt, unless a group needs all places", () => {
    const withReceipts = freeze(inputOf(three, { hasReceipts: true }));
    assert.equal(withReceipts.kind === "ready" && withReceipts.hasReceipt, false);
    const more = [...three, create(4, 2, "1")];
    const alone = freeze(inputOf(more, { hasReceipts: true }));
    assert.equal(alone.kind === "ready" && alone.upTo, 3);
    const two = freeze(inputOf(three.slice(0, 2), { hasReceipts: true }));
    assert.equal(two.kind === "ready" && two.hasReceipt, true);
  });

  test("sends its receipt first", () => {
    const push: FrozenPush = {
      partition: "p",
      token,
      upTo: 1,
      groups: 1,
      members: [{ key: key("1"), base: { kind: "absent" }, intended: row({ a: 1 }) }],
      idleKeys: [],
      receipt: { etag: "r" },
    };
    const operations = operationsOf(push, "c");
    assert.deepEqual(
      operations.map(({ kind, key: of }) => [kind, of]),
      [
        ["replace", receiptKey("p", "c")],
        ["insert", key("1")],
      ],
    );
    assert.equal(receiptOperation(push, undefined, "c").kind, "insert");
  });

  test("waits with a delete while an insert of the entity may arrive", () => {
    const store = newStore();
    store.transact((draft) => draft.put("settling", key("1"), true));
    store.transact((draft) => {
      const clean = { properties: row({ a: 1 }), version: { etag: "e", timestamp: 1n } };
      draft.put("rows", key("1"), clean);
    });
    store.write(1, new Map([[key("1"), () => undefined]]));
    let kind: string | undefined;
    store.transact(
      (draft) => (kind = planPush(draft, "p", rules, { isSettled: false, ...input }).kind),
    );
    assert.equal(kind, "settling");
    store.transact(
      (draft) => (kind = planPush(draft, "p", rules, { isSettled: true, ...input }).kind),
    );
    assert.equal(kind, "push");
    assert.equal(store.view.get("settling", key("1")), undefined);
  });

  test("has a condition on what was undone, if others of its group are sent", () => {
    const store = newStore();
    store.transact((draft) => {
      for (const name of ["1", "2", "3"]) {
        const version = { etag: name, timestamp: 1n };
        draft.put("rows", key(name), { properties: row({ a: 0 }), version });
      }
    });
    const write = (group: number, rows: Record<string, number>) => {
      const edits = Object.entries(rows).map(([name, a]) => [key(name), () => row({ a })] as const);
      store.write(group, new Map(edits));
    };
    write(1, { 1: 1, 2: 1 });
    write(2, { 1: 0 });
    write(3, { 3: 1 });
    write(4, { 3: 0 });
    store.transact((draft) => {
      const plan = planPush(draft, "p", rules, { isSettled: true, ...input });
      assert(plan.kind === "push");
      assert.deepEqual(plan.push.idleKeys, [key("3")]);
      assert.deepEqual(operationsOf(plan.push, "c"), [
        { kind: "merge", key: key("1"), set: new Map(), etag: "1" },
        { kind: "merge", key: key("2"), set: row({ a: 1 }), etag: "2" },
      ]);
    });
  });

  // Another client may have created the entity together with the others.
  test("ends before an entity is absent again whose group is sent", () => {
    const insert = (names: string[]) => new Map(names.map((of) => [key(of), () => row({ a: 1 })]));
    const remove = (names: string[]) => new Map(names.map((of) => [key(of), () => undefined]));
    type Changes = ReadonlyMap<string, (before?: Properties) => Properties | undefined>;
    const pushOf = (...groups: Changes[]) => {
      const store = newStore();
      const version = { etag: "0", timestamp: 1n };
      store.transact((draft) =>
        draft.put("rows", key("3"), { properties: row({ a: 0 }), version }),
      );
      for (const [index, changes] of groups.entries()) store.write(index + 1, changes);
      let result: unknown;
      store.transact((draft) => {
        const plan = planPush(draft, "p", rules, { isSettled: true, ...input });
        result = plan.kind;
        if (plan.kind !== "push") return;
        const { groups: count, members } = plan.push;
        result = { groups: count, members: members.map((one) => one.key) };
      });
      return result;
    };
    const both = [key("1"), key("3")];
    const one = [key("1")];
    // The first of each is sent alone.
    assert.deepEqual(pushOf(insert(["1", "3"]), remove(["1", "3"])), { groups: 1, members: both });
    assert.deepEqual(pushOf(insert(["1"]), remove(["1", "3"])), { groups: 1, members: one });
    assert.deepEqual(pushOf(insert(["1", "2"]), remove(["1"]), remove(["2"])), {
      groups: 1,
      members: [key("1"), key("2")],
    });
    // What was created alone, and removed alone, is not needed as a condition.
    assert.deepEqual(pushOf(insert(["1"]), remove(["1"]), insert(["3"])), {
      groups: 3,
      members: [key("3")],
    });
    assert.equal(pushOf(insert(["1", "2"]), remove(["1", "2"])), "again");
    assert.equal(pushOf(insert(["1", "2"]), remove(["1", "2"]), insert(["2", "3"])), "again");
  });

  test("is not needed for operations that cancel each other out", () => {
    const store = newStore();
    store.write(1, new Map([[key("1"), () => row({ a: 1 })]]));
    store.write(2, new Map([[key("1"), () => undefined]]));
    let kind: string | undefined;
    store.transact(
      (draft) => (kind = planPush(draft, "p", rules, { isSettled: true, ...input }).kind),
    );
    assert.equal(kind, "again");
    assert.deepEqual([...store.journal.values()], ["folded", "folded"]);
  });
});

test("the partitions that are pending are found without reading all operations", () => {
  const store = newStore();
  for (const [index, partition] of ["p", "q", "r", "p"].entries()) {
    store.write(index + 1, new Map([[keyOf(partition, "1"), () => row({ a: index })]]));
  }
  assert.deepEqual(pendingPartitions(store.view, 9), ["p", "q", "r"]);
  assert.deepEqual(pendingPartitions(store.view, 2), ["p", "q"]);
});

test("a push reads only its operations, and one more group", () => {
  const store = newStore();
  for (let group = 1; group <= 100; ++group) {
    store.write(group, new Map([[key(String(group)), () => row({ a: 1 })]]));
  }
  let reads = 0;
  class CountingDraft extends Draft {
    override *entries<N extends TableName>(table: N, from: string, to?: string) {
      for (const entry of super.entries(table, from, to)) {
        reads += 1;
        yield entry;
      }
    }
  }
  const plan = planPush(new CountingDraft(store.view), "p", rules, { isSettled: true, ...input });
  assert.equal(plan.kind === "push" && plan.push.members.length, 3);
  assert(reads <= 5, `${reads}`);
});

describe("a parked group", () => {
  function parked() {
    const store = newStore();
    const large: Value = { type: "String", value: "v".repeat(1 << 20) };
    store.write(1, new Map([[key("1"), () => new Map([["a", large]])]]));
    store.transact((draft) => planPush(draft, "p", rules, { isSettled: true, ...input }));
    store.write(2, new Map([[key("1"), () => row({ a: 2 })]]));
    store.write(3, new Map([[key("2"), () => row({ a: 3 })]]));
    return store;
  }
  const parkedGroups = (store: ReturnType<typeof newStore>) =>
    [...store.view.entries("parked", "")].map(([, { group, reason }]) => [group, reason]);

  test("makes later groups of its keys wait, and no others", () => {
    const store = parked();
    let push: FrozenPush | undefined;
    store.transact((draft) => {
      const plan = planPush(draft, "p", rules, { isSettled: true, ...input });
      if (plan.kind === "push") push = plan.push;
    });
    assert.deepEqual(parkedGroups(store), [
      [1, "RequestBodyTooLarge"],
      [2, "FollowsParked"],
    ]);
    assert.deepEqual(
      push?.members.map((member) => member.key),
      [key("2")],
    );
  });

  test("is sent again, with those that follow it, in their order", () => {
    const store = parked();
    store.transact((draft) => retryParked(draft, "p", 1, keeps));
    const groups = [...store.view.entries("outbox", "")].map(([, { group }]) => group);
    assert.deepEqual(groups, [3, 1, 2]);
    assert.deepEqual(parkedGroups(store), []);
  });

  test("is sent again as far as one commit can number the operations", () => {
    const store = newStore();
    const change = { kind: "delete" } as const;
    const opsOf = (group: number, count: number): OutboxOp[] =>
      Array.from({ length: count }, (_, number) => ({ number, group, key: key("1"), change }));
    store.transact((draft) => {
      draft.put("bases", key("1"), { kind: "absent" });
      for (const [group, count] of [
        [1, 40_000],
        [2, 25_536],
        [3, 1],
      ] as const) {
        const ops = opsOf(group, count);
        draft.put("parked", outboxKey("p", group), { group, reason: "a", ops });
      }
    });
    store.transact((draft) => retryParked(draft, "p", 1, keeps));
    assert.equal([...store.view.entries("outbox", "")].length, 65_536);
    assert.deepEqual(parkedGroups(store), [[3, "a"]]);
    const draft = new Draft(store.view);
    for (let i = 0; i < 65_536; ++i) draft.nextNumber();
    assert.throws(() => draft.nextNumber(), RangeError);
  });

  test("is one of all, if the partition's receipt is refused", () => {
    const store = parked();
    store.transact((draft) => parkAll(draft, "p", keeps, "InvalidInput"));
    assert.deepEqual(parkedGroups(store), [
      [1, "RequestBodyTooLarge"],
      [2, "InvalidInput"],
      [3, "InvalidInput"],
    ]);
    assert.deepEqual(store.keys("outbox"), []);
  });

  test("is discarded, and those that follow it are lost", () => {
    const store = parked();
    store.transact((draft) => discardParked(draft, "p", 1, keeps));
    assert.equal(store.view.get("rows", key("1")), undefined);
    assert.equal(store.view.get("bases", key("1")), undefined);
    assert.deepEqual(
      [...store.view.entries("lost", "")].map(([, { op }]) => op.group),
      [2],
    );
  });
});

describe("a parked group that is later than a push", () => {
  /** Group 1 deletes an entity; group 2, which is parked, creates it again, and another one. */
  function conflict(policy: "remote" | "local") {
    const store = newStore();
    store.transact((draft) => {
      const clean = { properties: row({ a: 1 }), version: { etag: "1", timestamp: 1n } };
      draft.put("rows", key("1"), clean);
    });
    store.write(1, new Map([[key("1"), () => undefined]]));
    store.write(2, new Map([key("1"), key("2")].map((of) => [of, () => row({ a: 2 })])));
    store.transact((draft) => {
      const log = new PartitionLog(draft, "p", keeps);
      log.park(new Set([2]), "InvalidInput");
      log.updateRows();
    });
    store.transact((draft) => {
      const plan = planPush(draft, "p", rules, { isSettled: true, ...input });
      if (plan.kind !== "push") return;
      const observed = new Map([[key("1"), { row: version(row({ a: 9 }), "2"), sentAt: 9 }]]);
      resolveConflicts(new PartitionLog(draft, "p", keeps), plan.push, observed, policy);
    });
    return store.view;
  }

  test("is lost with the push on which it depends", () => {
    const view = conflict("remote");
    assert.deepEqual([...view.entries("parked", "")], []);
    assert.deepEqual(
      [...view.entries("lost", "")].map(([, { op }]) => op.group),
      [1, 2, 2],
    );
  });

  test("is based on what the remote has", () => {
    const view = conflict("local");
    assert.equal([...view.entries("parked", "")][0]?.[1].ops.length, 2);
    assert.equal(view.get("bases", key("1"))?.kind, "row");
    assert(areSameProperties(view.get("rows", key("1"))?.properties, row({ a: 2 })));
  });
});

describe("an answer", () => {
  const push: FrozenPush = {
    partition: "p",
    token,
    upTo: 1,
    groups: 1,
    members: [],
    idleKeys: [],
    receipt: { etag: "r" },
  };
  const refused = (index: number, status: number) =>
    ({ kind: "refused", index, status, code: "Code" }) as const;

  test("is ambiguous unless it is an operation's refusal", () => {
    const first = { isAmbiguous: false };
    const retry = { kind: "retry" };
    const failed = decideAnswer(push, first, { kind: "failed", retryAfterMs: 7 });
    assert.deepEqual(failed, { ...retry, afterMs: 7 });
    for (const status of [408, 429, 500, 503]) {
      assert.deepEqual(decideAnswer(push, first, refused(1, status)), retry);
    }
    assert.deepEqual(decideAnswer(push, first, { kind: "rejected", code: "Code" }), {
      kind: "rejected",
      rejection: { index: undefined, code: "Code" },
    });
    for (const kind of ["notSent", "unauthorized", "tableMissing"] as const) {
      assert.deepEqual(decideAnswer(push, first, { kind }), { kind });
    }
  });

  test("that refuses the receipt is no conflict", () => {
    const decision = decideAnswer(push, { isAmbiguous: false }, refused(0, 412));
    assert.deepEqual(decision, { kind: "readBack", isReceiptRefused: true });
    const forbidden = decideAnswer(push, { isAmbiguous: false }, refused(0, 403));
    assert.deepEqual(forbidden, { kind: "unauthorized" });
    const invalid = decideAnswer(push, { isAmbiguous: false }, refused(1, 400));
    assert.deepEqual(invalid, { kind: "park", rejection: { index: 0, code: "Code" } });
  });

  test("about the receipt tells whether the push was applied", () => {
    const found = (written: string, etag: string) =>
      receiptEvidence(push, {
        kind: "found",
        row: version(new Map([["push", { type: "String", value: written }]]), etag),
      });
    assert.deepEqual(found(token, "s"), { kind: "applied", etag: "s" });
    assert.deepEqual(found("u", "r"), { kind: "open", etag: "r" });
    assert.deepEqual(found(fenceToken(push), "s"), { kind: "dead", etag: "s" });
    assert.deepEqual(found("u", "s"), { kind: "gone", etag: "s" });
    assert.deepEqual(receiptEvidence(push, { kind: "absent" }), { kind: "gone", etag: undefined });
  });
});

describe("the outcome of a push", () => {
  const clean = (properties: Properties, etag: string) => ({
    properties,
    version: { etag, timestamp: 1n },
  });
  const applied = { outcome: "applied", policy: "remote", mayArrive: false } as const;

  function pushed(
    store: ReturnType<typeof newStore>,
    hasReceipts = false,
    groupsMax = input.groupsMax,
  ): FrozenPush {
    let push: FrozenPush | undefined;
    store.transact((draft) => {
      const more = { ...input, isSettled: true, groupsMax };
      const plan = planPush(draft, "p", { ...rules, hasReceipts }, more);
      if (plan.kind === "push") push = plan.push;
    });
    return push as FrozenPush;
  }
  const observe = (rows: Record<string, ReturnType<typeof version> | undefined>, sentAt = 99) =>
    new Map(Object.entries(rows).map(([name, found]) => [key(name), { row: found, sentAt }]));

  test("is waited for: the same push is sent again", () => {
    const store = newStore();
    assert.equal(pushed(store), undefined);
    store.write(1, new Map([[key("1"), () => row({ a: 1 })]]));
    const push = pushed(store);
    store.write(2, new Map([[key("1"), () => row({ a: 2 })]]));
    assert.equal(pushed(store), push);
  });

  test("needs another read if a try may have been executed during the first", () => {
    const edits = ["1", "2"].map((name) => {
      const base = { kind: "row", row: version(row({ a: 0 }), name) } as const;
      return { key: key(name), base, intended: row({ a: 1 }) };
    });
    const decide = (changed: Record<string, ReturnType<typeof version>>, wasOver: boolean) => {
      const atBase = Object.fromEntries(edits.map(({ base }) => [base.row.etag, base.row]));
      return decideOutcome({ members: edits }, observe({ ...atBase, ...changed }), "none", wasOver);
    };
    const other = version(row({ a: 9 }), "9");
    assert.equal(decide({}, false), "unsettled");
    assert.equal(decide({}, true), "notApplied");
    assert.equal(decide({ 2: other }, false), "readAgain");
    assert.equal(decide({ 2: other }, true), "notApplied");
    assert.equal(decide({ 1: other, 2: other }, false), "unknown");
  });

  test("needs a reading of one moment if the remote has only a part of it", () => {
    const store = newStore();
    store.write(1, new Map(["1", "2"].map((name) => [key(name), () => row({ a: 1 })])));
    const push = pushed(store);
    const ours = version(row({ a: 1 }), "1");
    const other = version(row({ a: 9 }), "9");
    assert(isPartlyEqual(push, observe({ 1: ours, 2: other })));
    assert(isPartlyEqual(push, observe({ 1: ours, 2: undefined }))); // at its Base
    assert(!isPartlyEqual(push, observe({ 1: ours, 2: ours })));
    assert(!isPartlyEqual(push, observe({ 1: other, 2: other })));
    assert(!isPartlyEqual(push, observe({ 1: undefined, 2: other })));
    const first = observe({ 1: ours, 2: other }, 1);
    assert(areSameObservations(first, observe({ 1: ours, 2: other }, 2)));
    assert(!areSameObservations(first, observe({ 1: other, 2: other })));
    assert(!areSameObservations(first, observe({ 1: ours, 2: undefined })));
    const same = version(row({ a: 2 }), "9"); // Azurite gives two versions one ETag
    assert(!areSameObservations(first, observe({ 1: ours, 2: same })));
  });

  describe("that is settled with an index", () => {
    const edit = (store: ReturnType<typeof newStore>, group: number, ...names: string[]) =>
      store.write(group, new Map(names.map((name) => [key(name), () => row({ a: group })])));

    /** Returns the groups whose operations were read, of one that has the first group. */
    function settle(store: ReturnType<typeof newStore>, index: InstanceType<typeof OutboxIndex>) {
      const push = pushed(store, false, 1);
      const rows = push.members.map(
        ({ key: of, intended }) => [of, intended as Properties] as const,
      );
      const observations = new Map(
        rows.map(([of, intended]) => [of, { row: version(intended, "1"), sentAt: 99 }]),
      );
      const read: number[] = [];
      store.transact((draft) => {
        const { entries } = draft;
        draft.entries = function* (table, from, to) {
          for (const entry of entries.call(this, table, from, to)) {
            if (table === "outbox") read.push((entry[1] as OutboxOp).group);
            yield entry as never;
          }
        };
        finishPush(draft, push, { ...applied, observations }, keeps, index);
      });
      return read;
    }

    test("reads new operations and its own, but keeps later ones of its keys", () => {
      const [store, index] = [newStore(), new OutboxIndex()];
      edit(store, 1, "1", "2");
      edit(store, 2, "3");
      edit(store, 3, "1");
      edit(store, 4, "4");
      assert.deepEqual(settle(store, index), [1, 1, 2, 3, 4]); // the first push reads all
      assert.equal(store.view.get("bases", key("1"))?.kind, "row");
      assert.equal(store.view.get("bases", key("2")), undefined);
      edit(store, 5, "3");
      edit(store, 6, "3");
      assert.deepEqual(settle(store, index), [5, 6, 2]);
      assert.equal(store.view.get("bases", key("3"))?.kind, "row");
      assert.deepEqual(store.view.get("rows", key("3"))?.properties, row({ a: 6 }));
      assert.deepEqual(store.keys("outbox").length, 4);
    });

    test("reads all at once if many later operations are of its keys", () => {
      const [store, index] = [newStore(), new OutboxIndex()];
      edit(store, 1, "2");
      settle(store, index);
      for (let group = 2; group < 300; ++group) edit(store, group, "1");
      const read = settle(store, index);
      assert.deepEqual(read.length, 298 + 298); // what is new, then all
      assert.deepEqual(store.view.get("rows", key("1"))?.properties, row({ a: 299 }));
      assert.deepEqual(
        settle(store, index),
        Array.from({ length: 297 }, (_, at) => at + 3),
      );
    });

    test("reads all at once as long as it would keep the numbers of too many", () => {
      const [store, index] = [newStore(), new OutboxIndex(3)];
      for (let group = 1; group <= 5; ++group) edit(store, group, `${group}`);
      assert.deepEqual(settle(store, index), [1, 2, 3, 4, 5]);
      assert.deepEqual(settle(store, index), [2, 3, 4, 5]);
      assert.deepEqual(settle(store, index), [3, 4, 5]);
      assert.deepEqual(settle(store, index), [4]); // it has kept three
    });

    test("does not see later operations that have left the outbox", () => {
      const [store, index] = [newStore(), new OutboxIndex()];
      for (const [at, name] of ["1", "2", "2"].entries()) edit(store, at + 1, name);
      settle(store, index);
      const [, last = ""] = store.keys("outbox");
      const op = store.view.get("outbox", last) as OutboxOp;
      store.transact((draft) => {
        const log = new PartitionLog(draft, "p", keeps);
        log.drop(log.ops.find(({ number }) => number === op.number) as OutboxOp, "discarded");
        log.updateRows();
      });
      settle(store, index);
      assert.equal(store.view.get("bases", key("2")), undefined);
      assert.deepEqual(store.view.get("rows", key("2"))?.properties, row({ a: 2 }));
    });
  });

  test("stores the receipt that the next push sends", () => {
    const store = newStore();
    const receipts: (string | undefined)[] = [];
    store.transact((draft) => draft.put("receipts", "p", { etag: "r0" }));
    for (const [group, receiptEtag] of [
      [1, "r1"],
      [2, undefined],
      [3, "absent"],
      [4, undefined],
    ] as const) {
      store.write(group, new Map([[key("1"), () => row({ a: group })]]));
      const push: FrozenPush | undefined = pushed(store, true);
      receipts.push(push?.receipt?.etag);
      if (push === undefined) continue; // the receipt must be created first
      const observations = observe({ 1: version(row({ a: group }), String(group)) });
      store.transact((draft) =>
        finishPush(draft, push, { ...applied, observations, receiptEtag }, keeps),
      );
    }
    assert.deepEqual(receipts, ["r0", "r1", "r1", undefined]);
  });

  test("removes a mark that is older than its request, and no newer one", () => {
    for (const [sentAt, isMarked] of [
      [2, true],
      [3, false],
    ] as const) {
      const store = newStore();
      store.write(1, new Map([[key("1"), () => row({ a: 1 })]]));
      const push = pushed(store);
      store.transact((draft) => applyAnswer(draft, key("1"), version(row({}), "0"), 0, keeps));
      const observations = observe({ 1: version(row({ a: 1 }), "1") }, sentAt);
      store.transact((draft) => finishPush(draft, push, { ...applied, observations }, keeps));
      assert.equal(store.view.get("marks", key("1")) !== undefined, isMarked);
      store.transact((draft) =>
        applyAnswer(draft, key("1"), version(row({ a: 2 }), "2"), store.view.commit, keeps),
      );
      assert.equal(store.view.get("marks", key("1")), undefined);
    }
  });

  test("removes a mark that names its version, but none that may be about another one", () => {
    for (const [fed, marked, isMarked] of [
      ["1", false, false], // the feed is faster than the answer
      ["2", false, true],
      ["1", true, true],
    ] as const) {
      const store = newStore();
      store.write(1, new Map([[key("1"), () => row({ a: 1 })]]));
      const push = pushed(store);
      if (marked) store.transact((draft) => markKey(draft, key("1")));
      const theirs = version(row({ a: 1 }), fed);
      for (let times = 0; times < 2; ++times)
        store.transact((draft) => applyFeedChange(draft, key("1"), theirs, draft.commit, keeps));
      assert(store.view.get("marks", key("1")));
      const observations = observe({ 1: version(row({ a: 1 }), "1") }, 0);
      store.transact((draft) => finishPush(draft, push, { ...applied, observations }, keeps));
      assert.equal(store.view.get("marks", key("1")) !== undefined, isMarked);
    }
  });

  test("of a delete, removes a mark of the feed that says the same", () => {
    const store = newStore();
    store.transact((draft) => applyAnswer(draft, key("1"), version(row({}), "0"), 0, keeps));
    store.write(1, new Map([[key("1"), () => undefined]]));
    const push = pushed(store);
    store.transact((draft) => applyFeedChange(draft, key("1"), undefined, draft.commit, keeps));
    assert.equal(store.view.get("marks", key("1"))?.etag, "");
    const observations = observe({ 1: undefined }, 0);
    store.transact((draft) => finishPush(draft, push, { ...applied, observations }, keeps));
    assert.equal(store.view.get("marks", key("1")), undefined);
  });

  test("is not newer than what a feed has brought meanwhile, even if the store knew it", () => {
    const store = newStore();
    store.write(1, new Map([[key("1"), () => row({ a: 1 })]]));
    const push = pushed(store);
    // The entity was there when the push was refused, and has been deleted since.
    store.transact((draft) => applyFeedChange(draft, key("1"), undefined, draft.commit, keeps));
    const observations = observe({ 1: version(row({ a: 2 }), "1") }, 0);
    store.transact((draft) => finishPush(draft, push, { ...applied, observations }, keeps));
    assert(store.view.get("marks", key("1")));
  });

  test("of a marked key is not newer than a delete of a feed, even if the store knew it", () => {
    for (const isFeedOlder of [true, false]) {
      const store = newStore();
      store.transact((draft) => markKey(draft, key("1")));
      const sentAt = store.commit; // a request that reads the key
      const fedAt = isFeedOlder ? 0 : sentAt; // a connection that was opened after the mark
      store.transact((draft) => applyFeedChange(draft, key("1"), undefined, fedAt, keeps));
      const old = version(row({}), "0");
      store.transact((draft) => applyAnswer(draft, key("1"), old, sentAt, keeps));
      assert(store.view.get("marks", key("1")), `${fedAt}`);
    }
  });

  test("that has an entity is not newer than one that does not, even if the store knew it", () => {
    const old = version(row({}), "0");
    for (const [newer, keepsNewer] of [
      [undefined, keeps],
      [version(row({ a: 2 }), "2"), () => false],
    ] as const) {
      const store = newStore();
      const sentAt = store.commit; // a page of a scan
      store.transact((draft) => applyFeedChange(draft, key("1"), newer, sentAt, keepsNewer));
      store.transact((draft) => applyAnswer(draft, key("1"), old, sentAt, keeps));
      assert.equal(store.view.get("rows", key("1")), undefined);
      assert(store.view.get("marks", key("1")));
    }
  });

  test("of a clean key that the store has brings no mark by a feed", () => {
    const store = newStore();
    const theirs = version(row({}), "0");
    store.transact((draft) => applyAnswer(draft, key("1"), theirs, 0, keeps));
    store.transact((draft) => applyFeedChange(draft, key("1"), theirs, draft.commit, keeps));
    assert.equal(store.view.get("marks", key("1")), undefined);
  });

  test("the progress of a feed is stored once, and a gap stays until all was read", () => {
    const store = newStore();
    const progress = { position: 5n, store: "a", scope: "", hasGap: false };
    const put = (changes: object) => {
      store.transact((draft) => storeProgress(draft, { ...progress, ...changes }));
      return store.view.get("feed", "state");
    };
    assert.equal(put({})?.isComplete, false);
    store.transact((draft) =>
      draft.put("feed", "state", { ...progress, isComplete: true } as FeedState),
    );
    const { commit } = store;
    assert.equal(put({})?.isComplete, true);
    assert.equal(store.commit, commit);
    assert.equal(put({ position: 6n })?.isComplete, true);
    assert.equal(put({ position: 7n, hasGap: true })?.isComplete, false);
    assert.equal(put({ position: 8n })?.isComplete, false);
  });

  test("changes nothing if the store has another push by now", () => {
    const store = newStore();
    store.write(1, new Map([[key("1"), () => row({ a: 1 })]]));
    const push = pushed(store);
    const observations = observe({ 1: version(row({ a: 1 }), "1") });
    const finish = () =>
      store.transact((draft) => finishPush(draft, push, { ...applied, observations }, keeps));
    finish();
    store.write(2, new Map([[key("1"), () => row({ a: 2 })]]));
    const next = { ...pushed(store), token: "another" };
    store.transact((draft) => draft.put("pushes", "p", next));
    const { commit } = store;
    finish();
    assert.equal(store.commit, commit);
  });

  test("leaves an outdated Base if later operations build on a replaced version", () => {
    const store = newStore();
    store.write(1, new Map([[key("1"), () => row({ a: 1 })]]));
    const push = pushed(store);
    store.write(2, new Map([[key("1"), () => row({ a: 2 })]]));
    const observations = observe({ 1: version(row({ a: 1, b: 9 }), "2") });
    store.transact((draft) => finishPush(draft, push, { ...applied, observations }, keeps));
    assert.equal(store.view.get("bases", key("1"))?.kind, "outdated");
    // Operations that have no effect in sum are pushed too: only a read shows the remote's row.
    store.write(3, new Map([[key("1"), () => row({ a: 1 })]]));
    const next = pushed(store);
    assert.equal(next.members[0]?.base.kind, "outdated");
    assert(!isSendable(next));
    const refused = { ...applied, outcome: "notApplied", observations } as const;
    store.transact((draft) => finishPush(draft, next, refused, keeps));
    assert.deepEqual([...store.journal.values()], ["confirmed", "folded", "folded"]);
    assert.equal(store.view.get("rows", key("1"))?.version?.etag, "2");
  });

  test("reads an entity again if an outdated Base is all that is left", () => {
    const cases = [row({ a: 1 }), undefined].flatMap((first) => [
      { first, isRead: true },
      { first, isRead: false },
    ]);
    for (const { first, isRead } of cases) {
      const store = newStore();
      store.transact((draft) => draft.put("rows", key("1"), clean(row({ a: 0 }), "0")));
      store.write(1, new Map([[key("1"), () => first]]));
      const push = pushed(store);
      store.write(2, new Map([[key("1"), () => row({ a: 2 })]]));
      const observations = observe({ 1: version(row({ b: 9 }), "2") });
      store.transact((draft) => finishPush(draft, push, { ...applied, observations }, keeps));
      store.transact((draft) => {
        const log = new PartitionLog(draft, "p", keeps);
        for (const op of log.ops) log.lose(op, "notApplied", new Map());
        log.updateRows();
      });
      assert(store.view.get("marks", key("1")));
      const local = store.view.get("rows", key("1"));
      assert(areSameProperties(local?.properties, first));
      assert(isUnread(store.view, key("1")));
      if (isRead) {
        const theirs = version(row({ b: 9 }), "2");
        store.transact((draft) => applyAnswer(draft, key("1"), theirs, draft.commit, keeps));
        assert.equal(store.view.get("rows", key("1"))?.version?.etag, "2");
        assert.equal(store.view.get("bases", key("1")), undefined);
        continue;
      }
      store.write(3, new Map([[key("1"), () => row({ a: 3 })]]));
      assert.equal(store.view.get("bases", key("1"))?.kind, "outdated");
      assert(!isUnread(store.view, key("1")));
    }
  });

  test("parks a push that is rejected as a whole if it has one group", () => {
    for (const groups of [1, 2]) {
      const store = newStore();
      for (let group = 1; group <= groups; ++group) {
        store.write(group, new Map([[key(String(group)), () => row({ a: 1 })]]));
      }
      const push = pushed(store);
      store.write(3, new Map([[key("3"), () => row({ a: 1 })]]));
      const rejection = { index: undefined, code: "Code" };
      const observations = observe({ 1: undefined, 2: undefined });
      const finished = { ...applied, outcome: "notApplied", rejection, observations } as const;
      store.transact((draft) => finishPush(draft, push, finished, keeps));
      const parked = [...store.view.entries("parked", "")].map(([, { group }]) => group);
      assert.deepEqual(parked, groups === 1 ? [1] : []);
      assert.equal(store.view.get("pushes", "p"), undefined);
    }
  });

  test("does not make an entity unread whose operations are parked", () => {
    const store = newStore();
    store.write(1, new Map([[key("1"), () => row({ a: 1 })]]));
    store.transact((draft) => {
      const log = new PartitionLog(draft, "p", keeps);
      log.park(new Set([1]), "Code");
      log.rebase(key("1"), { kind: "outdated", properties: undefined });
      log.updateRows();
    });
    assert(!isUnread(store.view, key("1")));
  });

  test("settles operations that cancel each other out, with the others", () => {
    const store = newStore();
    store.write(1, new Map([[key("1"), () => row({ a: 1 })]]));
    store.write(2, new Map([[key("2"), () => row({ a: 1 })]]));
    store.write(3, new Map([[key("2"), () => undefined]]));
    const push = pushed(store);
    assert.deepEqual(push.idleKeys, [key("2")]);
    const observations = observe({ 1: version(row({ a: 1 }), "1") });
    store.transact((draft) => finishPush(draft, push, { ...applied, observations }, keeps));
    assert.deepEqual([...store.journal.values()], ["confirmed", "folded", "folded"]);
  });

  const twoGroups = (second: Record<string, number>) => {
    const store = newStore();
    store.transact((draft) => {
      for (const name of ["1", "2"]) {
        const properties = row({ a: 0 });
        draft.put("rows", key(name), { properties, version: { etag: "0", timestamp: 1n } });
      }
    });
    const rows = [{ 1: 1, 2: 1 }, second].map(Object.entries);
    for (const [index, edits] of rows.entries()) {
      store.write(index + 1, new Map(edits.map(([name, a]) => [key(name), () => row({ a })])));
    }
    return store;
  };
  const othersChangedTwo = observe({
    1: version(row({ a: 0 }), "0"),
    2: version(row({ a: 0, b: 9 }), "9"),
  });
  const notApplied = { ...applied, outcome: "notApplied", observations: othersChangedTwo } as const;
  const outboxOf = (store: ReturnType<typeof newStore>) =>
    [...store.view.entries("outbox", "")].map(([, op]) => [op.group, op.key]);

  test("never leaves a part of two groups if others changed what the groups undo", () => {
    const store = twoGroups({ 1: 2, 2: 0 });
    store.transact((draft) => finishPush(draft, pushed(store), notApplied, keeps));
    assert.deepEqual(outboxOf(store), []);
    assert.equal([...store.view.entries("lost", "")].length, 4);
  });

  test("sends the rest of one group if others changed what a later one undoes", () => {
    const store = twoGroups({ 2: 0 });
    store.transact((draft) => finishPush(draft, pushed(store), notApplied, keeps));
    assert.deepEqual(outboxOf(store), [[1, key("1")]]);
  });

  test("closes the push if it is unknown, and no group that is independent of it", () => {
    const store = newStore();
    store.write(1, new Map([[key("1"), () => row({ a: 1 })]]));
    const push = pushed(store);
    store.write(2, new Map([[key("2"), () => row({ a: 2 })]]));
    const observations = observe({ 1: version(row({ a: 9 }), "9") });
    const unknown = { ...applied, outcome: "unknown", observations } as const;
    store.transact((draft) => finishPush(draft, push, unknown, keeps));
    assert.deepEqual(
      [...store.view.entries("lost", "")].map(([, { op }]) => op.group),
      [1],
    );
    assert.deepEqual(
      [...store.view.entries("outbox", "")].map(([, { group }]) => group),
      [2],
    );
  });

  test("is reported as unknown for inserts that were sent again", () => {
    const store = newStore();
    store.write(1, new Map([[key("1"), () => row({ a: 1 })]]));
    const first = pushed(store);
    const again = {
      ...applied,
      outcome: "resend",
      observations: observe({ 1: undefined }),
    } as const;
    store.transact((draft) => finishPush(draft, first, again, keeps));
    const second = pushed(store);
    const observations = observe({ 1: version(row({ a: 9 }), "9") });
    const refused = { ...applied, outcome: "notApplied", observations } as const;
    store.transact((draft) => finishPush(draft, second, refused, keeps));
    const [lost] = [...store.view.entries("lost", "")];
    assert.equal(lost?.[1].outcome, "unknown");
  });

  test("leaves the base with a lost operation, also if the entity was based anew before", () => {
    const answer = { kind: "store", properties: undefined } as const;
    const bases = ["remote" as const, new Map([[key("1"), answer]])].map((policy) => {
      const store = newStore();
      store.transact((draft) => draft.put("rows", key("1"), clean(row({ a: 1 }), "1")));
      store.write(1, new Map([[key("1"), () => row({ a: 2 })]]));
      const push = pushed(store);
      store.write(2, new Map([[key("1"), () => row({ a: 3 })]]));
      const observed = observe({ 1: version(row({ a: 9 }), "2") });
      store.transact((draft) =>
        resolveConflicts(new PartitionLog(draft, "p", keeps), push, observed, policy),
      );
      return [...store.view.entries("lost", "")].map(([, { base, op }]) => [op.group, base]);
    });
    const base = row({ a: 1 });
    assert.deepEqual(bases[0], [
      [1, base],
      [2, base],
    ]);
    // The second operation has no meaning for what the application has answered.
    assert.deepEqual(bases[1], [[2, base]]);
  });

  test("leaves the version that an earlier write has brought as the base of a later one", () => {
    const store = newStore();
    const edit = (value: number) => () => row({ a: value });
    store.transact((draft) => {
      for (const name of ["1", "2"]) draft.put("rows", key(name), clean(row({ a: 1 }), "1"));
    });
    store.write(1, new Map(["1", "2"].map((of) => [key(of), edit(2)])));
    const push = pushed(store);
    store.write(2, new Map(["1", "2"].map((of) => [key(of), edit(3)])));
    const observations = observe({
      1: version(row({ a: 2 }), "2"),
      2: version(row({ a: 9 }), "3"),
    });
    const unknown = { ...applied, outcome: "unknown", observations } as const;
    store.transact((draft) => finishPush(draft, push, unknown, keeps));
    const lost = [...store.view.entries("lost", "")].map(([, each]) => each);
    assert.deepEqual(
      lost.map(({ base, op }) => [op.group, op.key, base?.get("a")?.value]),
      [
        [1, key("2"), 1],
        [2, key("1"), 2],
        [2, key("2"), 1],
      ],
    );
  });

  test("leaves what the remote has with all that a transaction loses, as far as it was read", () => {
    const answers = new Map([[key("1"), { kind: "remote" } as const]]);
    for (const policy of ["remote", "merge", answers] as const) {
      const store = newStore();
      store.transact((draft) => {
        for (const name of ["1", "2"]) draft.put("rows", key(name), clean(row({ a: 1 }), "1"));
      });
      const edit = () => row({ a: 2 });
      store.write(1, new Map(["1", "2", "3"].map((of) => [key(of), edit])));
      const push = pushed(store);
      store.write(2, new Map(["1", "4"].map((of) => [key(of), () => row({ a: 3 })])));
      const observed = observe({
        1: version(row({ a: 9 }), "2"),
        2: version(row({ a: 1 }), "1"),
        3: undefined,
      });
      store.transact((draft) =>
        resolveConflicts(new PartitionLog(draft, "p", keeps), push, observed, policy),
      );
      const lost = [...store.view.entries("lost", "")].map(([, each]) => each);
      assert.deepEqual(
        lost.map(({ op, ...of }) => [op.key, of.isRemoteKnown, of.remote?.get("a")?.value]),
        [
          [key("1"), true, 9],
          [key("2"), true, 1],
          [key("3"), true, undefined],
          [key("1"), true, 9],
          [key("4"), false, undefined],
        ],
        String(policy),
      );
    }
  });

  test("is not unknown for operations that cancelled each other out when others were sent", () => {
    const store = newStore();
    store.write(1, new Map([[key("1"), () => row({ a: 1 })]]));
    store.write(2, new Map([[key("2"), () => row({ a: 1 })]]));
    store.write(3, new Map([[key("2"), () => undefined]]));
    const push = pushed(store);
    const observations = observe({ 1: undefined });
    const again = { ...applied, outcome: "resend", observations } as const;
    store.transact((draft) => finishPush(draft, push, again, keeps));
    const resent = [...store.view.entries("outbox", "")].filter(([, op]) => op.wasResent);
    assert.deepEqual(
      resent.map(([, op]) => op.key),
      [key("1")],
    );
  });

  test("merges properties that were removed", () => {
    const merged = (theirs: Properties) => {
      const store = newStore();
      store.transact((draft) => draft.put("rows", key("1"), clean(row({ a: 1, b: 1 }), "1")));
      store.write(1, new Map([[key("1"), () => row({ b: 1 })]]));
      const push = pushed(store);
      const observations = observe({ 1: version(theirs, "2") });
      const refused = { ...applied, policy: "merge", outcome: "notApplied", observations } as const;
      store.transact((draft) => finishPush(draft, push, refused, keeps));
      return store.view.get("rows", key("1"))?.properties;
    };
    assert(areSameProperties(merged(row({ a: 1, b: 2 })), row({ b: 2 })));
    assert(areSameProperties(merged(row({ a: 2, b: 1 })), row({ a: 2, b: 1 })));
  });
});

describe("a conflict under the policy local", () => {
  /** Rows 1 to 3 of the remote, local edits of them, and what the remote has when it refuses. */
  function resolved(
    base: Record<string, number> | undefined,
    edits: readonly Record<string, Properties | undefined>[],
    remote: Record<string, Record<string, number>>,
    policy: ConflictPolicy = "local",
  ) {
    const store = newStore();
    if (base) {
      store.transact((draft) => {
        for (const name of ["1", "2", "3"]) {
          const version = { etag: "0", timestamp: 1n };
          draft.put("rows", key(name), { properties: row(base), version });
        }
      });
    }
    edits.forEach((rows, index) => {
      const changes = Object.entries(rows).map(
        ([name, after]) => [key(name), () => after] as const,
      );
      store.write(index + 1, new Map(changes));
    });
    store.transact((draft) => {
      const plan = planPush(draft, "p", rules, { isSettled: true, ...input });
      if (plan.kind !== "push") return;
      const observed = Object.entries(remote).map(
        ([name, values]) => [key(name), { row: version(row(values), "9"), sentAt: 9 }] as const,
      );
      const log = new PartitionLog(draft, "p", keeps);
      resolveConflicts(log, plan.push, new Map(observed), policy);
    });
    const texts = [...store.view.entries("outbox", "")].map(([, { key: of, group, change }]) => {
      const set = change.kind === "edit" ? change.set : new Map();
      const names = [...set].map(([name, { value }]) => `${name}${value}`).join("");
      const unset = change.kind === "edit" ? [...change.unset].map((name) => `-${name}`) : [];
      return [group, of.at(-1), change.kind, names + unset.join("")].join(" ");
    });
    return { texts, rows: ["1", "2"].map((name) => store.view.get("rows", key(name))), store };
  }

  test("keeps all operations of a group of which the remote has a part", () => {
    const edits = [{ 1: row({ a: 1 }), 2: row({ a: 1 }) }, { 2: row({ a: 1, b: 2 }) }];
    const { texts, rows } = resolved({ a: 0 }, edits, { 1: { a: 1 }, 2: { a: 1, c: 3 } });
    assert.deepEqual(texts, ["1 1 edit a1", "1 2 edit a1", "2 2 edit b2"]);
    assert(areSameProperties(rows[1]?.properties, row({ a: 1, b: 2, c: 3 })));
  });

  test("keeps changes that were undone, in all entities of their group", () => {
    const edits = [
      { 1: row({ a: 1 }), 2: row({ a: 1 }) },
      { 1: row({ a: 0 }), 2: row({ a: 0, b: 2 }) },
    ];
    const { texts } = resolved({ a: 0 }, edits, { 1: { a: 9 }, 2: { a: 9 } });
    assert.deepEqual(texts, ["1 1 edit a1", "1 2 edit a1", "2 1 edit a0", "2 2 edit a0b2"]);
  });

  test("keeps a change whose undoing is lost", () => {
    const edits = [
      { 1: row({ a: 1 }) },
      { 1: row({ a: 0 }), 2: row({ a: 1 }) },
      { 3: row({ a: 1 }) },
    ];
    const answers = new Map([
      [key("2"), { kind: "remote" }],
      [key("3"), { kind: "local" }],
    ] as const);
    const remote = { 1: { a: 0, b: 1 }, 2: { a: 9 }, 3: { a: 9 } };
    const { texts, rows } = resolved({ a: 0 }, edits, remote, answers);
    assert.deepEqual(texts, ["1 1 edit a1", "3 3 edit a1"]);
    assert(areSameProperties(rows[0]?.properties, row({ a: 1, b: 1 })));
  });
});

describe("an edit of an entity that others have deleted and created again", () => {
  /** What the outbox and the row are after the remote has had each of these versions. */
  function afterConflicts(
    edit: Record<string, number>,
    remotes: readonly (Record<string, number> | undefined)[],
    policies: readonly ConflictPolicy[],
  ) {
    const store = newStore();
    const clean = { properties: row({ a: 0, b: 0 }), version: { etag: "0", timestamp: 1n } };
    store.transact((draft) => draft.put("rows", key("1"), clean));
    store.write(1, new Map([[key("1"), () => row({ a: 0, b: 0, ...edit })]]));
    remotes.forEach((remote, index) => {
      const seen = { row: remote && version(row(remote), `${index}x`), sentAt: 9 };
      const observations = new Map([[key("1"), seen]]);
      const policy = policies[index] as ConflictPolicy;
      store.transact((draft) => {
        const plan = planPush(draft, "p", rules, { isSettled: true, ...input });
        assert(plan.kind === "push");
        const finished = { outcome: "notApplied", observations, policy, mayArrive: false } as const;
        finishPush(draft, plan.push, finished, keeps);
      });
    });
    const ops = [...store.view.entries("outbox", "")].map(([, { change }]) => change);
    return { ops, row: store.view.get("rows", key("1"))?.properties };
  }

  test("changes only what it wrote, under the policy local", () => {
    const deleted = afterConflicts({ a: 1 }, [undefined], ["local"]);
    assert(areSameProperties(deleted.row, row({ a: 1, b: 0 })));
    const { ops, row: found } = afterConflicts({ a: 1 }, [undefined, { b: 5 }], ["local", "local"]);
    assert.deepEqual(ops, [{ kind: "edit", set: row({ a: 1 }), unset: new Set() }]);
    assert(areSameProperties(found, row({ a: 1, b: 5 })));
  });

  test("creates it again as often as it is deleted", () => {
    const remotes = [undefined, { b: 5 }, undefined];
    const { row: found } = afterConflicts({ a: 1 }, remotes, ["local", "local", "local"]);
    assert(areSameProperties(found, row({ a: 1, b: 5 })));
  });

  test("conflicts only by what it wrote, if the policy is merge by then", () => {
    const { ops, row: found } = afterConflicts({ a: 1 }, [undefined, { b: 5 }], ["local", "merge"]);
    assert.deepEqual(ops, [{ kind: "edit", set: row({ a: 1 }), unset: new Set() }]);
    assert(areSameProperties(found, row({ a: 1, b: 5 })));
  });
});

describe("encrypted properties", () => {
  const encrypted = (a: number, b: number): Properties =>
    new Map([
      ...row({ a, b }),
      ["_ClientEncryptionMetadata1", { type: "String", value: `key ${a} ${b}` }],
    ]);

  /** The local store changes `a`, the remote `b`. */
  function conflict(policy: "merge" | "local") {
    const store = newStore();
    store.transact((draft) => {
      draft.put("rows", key("1"), {
        properties: encrypted(1, 1),
        version: { etag: "1", timestamp: 1n },
      });
    });
    store.write(1, new Map([[key("1"), () => encrypted(2, 1)]]));
    store.transact((draft) => {
      const plan = planPush(draft, "p", rules, { isSettled: true, ...input });
      if (plan.kind !== "push") return;
      const observed = new Map([[key("1"), { row: version(encrypted(1, 2), "2"), sentAt: 1 }]]);
      assert.equal(conflictsOf(plan.push, observed).length, 1);
      const log = new PartitionLog(draft, "p", keeps);
      resolveConflicts(log, plan.push, observed, policy);
    });
    return store.view.get("rows", key("1"))?.properties;
  }

  test("are one unit in a conflict", () => {
    assert(areSameProperties(conflict("merge"), encrypted(1, 2)));
    assert(areSameProperties(conflict("local"), encrypted(2, 1)));
  });

  test("stay in a group of which the remote has them", () => {
    const store = newStore();
    store.write(1, new Map(["1", "2"].map((name) => [key(name), () => encrypted(1, 1)])));
    store.transact((draft) => {
      const plan = planPush(draft, "p", rules, { isSettled: true, ...input });
      if (plan.kind !== "push") return;
      const theirs = [encrypted(1, 1), encrypted(2, 2)].map((properties, index) => {
        const observation = { row: version(properties, "9"), sentAt: 1 };
        return [key(String(index + 1)), observation] as const;
      });
      resolveConflicts(new PartitionLog(draft, "p", keeps), plan.push, new Map(theirs), "local");
    });
    assert.equal([...store.view.entries("outbox", "")].length, 2);
    for (const name of ["1", "2"]) {
      assert(areSameProperties(store.view.get("rows", key(name))?.properties, encrypted(1, 1)));
    }
  });

  test("are replaced, never merged", () => {
    const base = { kind: "row", row: version(encrypted(1, 1), "1") } as const;
    const operation = operationFor({ key: key("1"), base, intended: encrypted(2, 1) });
    assert.equal(operation?.kind, "replace");
  });
});

describe("a delete", () => {
  function store() {
    const filled = newStore();
    filled.transact((draft) => {
      for (const name of ["1", "2", "3", "4"]) {
        const properties = row({ a: 1 });
        draft.put("rows", key(name), { properties, version: { etag: name, timestamp: 1n } });
      }
      const other = { properties: row({ a: 1 }), version: { etag: "q", timestamp: 1n } };
      draft.put("rows", keyOf("q", "1"), other);
    });
    return filled;
  }
  const sizeOf = (view: TableView, missing: string[], few: number, share: number) =>
    sizeOfDelete(view, 5, new Map(missing.map((of) => [of, "e"])), { few, share });

  test("is found among clean rows that a page has passed", () => {
    const filled = store();
    filled.write(1, new Map([[key("2"), () => row({ a: 2 })]]));
    const returned = new Set([key("1")]);
    const { view } = filled;
    const stretch = { from: key("1"), to: keyAfter(key("3")) };
    const found = { unknown: [], rows: 3, next: undefined };
    const missing = [[key("3"), "3"]];
    const find = (sentAt: number, rowsMax: number) =>
      missingRows(view, stretch, returned, sentAt, rowsMax);
    assert.deepEqual(find(view.commit, 9), { ...found, missing });
    assert.deepEqual(find(0, 9), { ...found, missing: [], unknown: [key("3")] });
    const part = { ...found, missing: [], rows: 2, next: key("3") };
    assert.deepEqual(find(view.commit, 2), part);
    assert.deepEqual(missingBases(view, stretch, returned), [key("2")]);
    assert.deepEqual(missingBases(view, stretch, new Set([key("2")])), []);
  });

  test("is a mass delete if it is a large share, or a whole partition", () => {
    const { view } = store();
    const of = (...names: string[]) => names.map(key);
    assert.equal(sizeOf(view, of("1"), 1, 0.1), "few");
    assert.equal(sizeOf(view, of("1", "2"), 1, 0.1), "mass");
    assert.equal(sizeOf(view, of("1", "2"), 1, 0.5), "few");
    assert.equal(sizeOf(view, of("1", "2", "3", "4"), 1, 0.9), "mass");
    assert.equal(sizeOf(view, [keyOf("q", "1"), key("1")], 1, 0.5), "mass");
  });

  test("of many rows is confirmed by reading the ends and another row", () => {
    const found = { kind: "found", row: version(row({}), "e") } as const;
    const absent = { kind: "absent" } as const;
    const forbidden = { kind: "forbidden" } as const;
    const missing = { first: absent, last: absent };
    assert.equal(massDelete({ ...missing, present: found }), "confirmed");
    assert.equal(massDelete({ ...missing, present: undefined }), "suspect");
    assert.equal(massDelete({ ...missing, present: absent }), "suspect");
    assert.equal(massDelete({ ...missing, present: forbidden }), "suspect");
    assert.equal(massDelete({ ...missing, present: { kind: "tableMissing" } }), "again");
    assert.equal(massDelete({ first: absent, last: forbidden, present: found }), "suspect");
    assert.equal(massDelete({ first: found, last: absent, present: found }), "again");
  });
});

describe("the state of a scan", () => {
  test("is that of its range, and a larger range has the watermark of its parts", () => {
    const store = newStore();
    const larger = { from: "", to: key("5") };
    store.transact((draft) => {
      const delta = { since: undefined, nextWatermark: undefined, after: key("1") };
      updateScanState(draft, larger, { watermark: 5n });
      updateScanState(draft, larger, { delta });
    });
    const watermarkOf = (to: string | undefined) => scanState(store.view, { from: "", to });
    assert.equal(watermarkOf(key("5")).delta?.after, key("1"));
    assert.deepEqual(watermarkOf(key("4")), { to: key("4"), watermark: 5n });
    assert.deepEqual(watermarkOf(key("6")), { to: key("6") });
    assert.deepEqual(watermarkOf(undefined), { to: undefined });
    assert.deepEqual(scanState(store.view, { from: key("1") }), { to: undefined });
  });
});

describe("the watermark", () => {
  const at = (monotonicMs: number, wallMs: number) => ({ monotonicMs, wallMs });

  test("advances with the slower clock, and never back", () => {
    const known = { time: 1_000_000n, learnedAt: at(100, 5000) };
    assert.equal(watermark.serverTimeNow(known, at(107, 5003)), 1_030_000n);
    assert.equal(watermark.serverTimeNow(known, at(101, 9000)), 1_010_000n);
    assert.equal(watermark.serverTimeNow(known, at(200, 0)), 1_000_000n);
    assert.equal(watermark.serverTimeNow({ time: 7n, learnedAt: undefined }, at(200, 0)), 7n);
  });

  test("of the first scan subtracts the time of the faster clock", () => {
    assert.equal(watermark.beginningOfScan(1_000_000n, at(100, 5000), at(103, 5007)), 930_000n);
    assert.equal(watermark.beginningOfScan(1_000_000n, at(100, 5000), at(100, 4000)), 1_000_000n);
  });

  test("is extended by the overlap, which grows with each miss", () => {
    assert.equal(watermark.scanSince(undefined, 10), undefined);
    assert.equal(watermark.scanSince(1_000_000n, 10), 900_000n);
    assert.equal(watermark.overlapAfterMiss(0), 1);
    assert.equal(watermark.overlapAfterMiss(120_000), 240_000);
    assert.equal(watermark.overlapAfterMiss(3_000_000), 3_600_000);
  });

  test("refuses a Timestamp that is more than a day ahead", () => {
    const day = 86_400_000n * watermark.ticksPerMs;
    assert.equal(watermark.isFromTheFuture(day + 5n, 5n), false);
    assert.equal(watermark.isFromTheFuture(day + 6n, 5n), true);
  });
});

describe("entities", () => {
  test("are compared by type and bits", () => {
    const double = (value: number): Properties => new Map([["a", { type: "Double", value }]]);
    assert(areSameProperties(double(Number.NaN), double(Number.NaN)));
    assert(!areSameProperties(double(0), double(-0)));
    assert(!areSameProperties(double(1), row({ a: 1 })));
    assert(!areSameProperties(row({ a: 1 }), row({ a: 1, b: 1 })));
    assert(!areSameProperties(row({ a: 1 }), row({ b: 1 })));
  });

  test("are equal if the service takes their values for the same", () => {
    const isSame = (type: Value["type"], a: string, b: string) =>
      isSameValue({ type, value: a } as Value, { type, value: b } as Value);
    assert(isSame("Int64", "-007", "-7"));
    assert(!isSame("Int64", "7", "-7"));
    assert(!isSame("Int64", "a", "b"));
    assert(
      isSame(
        "Guid",
        "0000000A-0000-4000-8000-00000000abcd",
        "0000000a-0000-4000-8000-00000000ABCD",
      ),
    );
    assert(isSame("DateTime", "2026-01-01T00:00:00.5000000Z", "2026-01-01T00:00:00.5Z"));
    assert(isSame("DateTime", "2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00"));
    assert(!isSame("DateTime", "2026-01-01T00:00:00.0000001Z", "2026-01-01T00:00:00Z"));
    assert(!isSame("DateTime", "a", "b"));
    assert(!isSame("String", "a", "A"));
  });

  test("change by properties", () => {
    const change = changeBetween(row({ a: 1, b: 1 }), row({ a: 2, c: 3 }));
    assert.deepEqual(change, { kind: "edit", set: row({ a: 2, c: 3 }), unset: new Set(["b"]) });
    assert(
      change &&
        areSameProperties(applyChange(row({ b: 1, d: 4 }), change), row({ a: 2, c: 3, d: 4 })),
    );
  });

  test("have keys in the service's order", () => {
    assert(isInRange(key("1"), { from: "" }));
    assert(!isInRange(key("1"), { from: keyAfter(key("1")) }));
    assert(!isInRange(key("1"), { from: "", to: key("1") }));
    assert(keyOf("a", "z") < keyOf("a ", ""));
    assert.equal(keyOf(partitionOf(key("1")), rowKeyOf(key("1"))), key("1"));
    assert(isReceiptKey(receiptKey("p", "c")));
    assert(!isReceiptKey(keyOf("~entitable~c", "1")));
  });
});

const planner = [
  "answer",
  "apply-answer",
  "base",
  "change",
  "conflict",
  "delete-guard",
  "feed-state",
  "finish-push",
  "freeze",
  "groups",
  "keys",
  "marks",
  "merge",
  "operation",
  "outbox-index",
  "outcome",
  "partition-log",
  "plan-push",
  "properties",
  "receipt",
  "scan-state",
  "settle",
  "value",
  "watermark",
];

test("these tests run every branch of the planner", async () => {
  const urls = planner.map((name) => import.meta.resolve(`../../web/src/sync/${name}.ts`));
  assert.deepEqual(await coverage.uncovered(urls), []);
});
