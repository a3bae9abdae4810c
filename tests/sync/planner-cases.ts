// Every small case of the planner, as one line of text: what the local store has after an answer of
// the remote. See the head of tests/testdata/sync/planner.txt for the form of a line.

import { decideAnswer } from "../../web/src/sync/answer.ts";
import { applyAnswer, compareVersion } from "../../web/src/sync/apply-answer.ts";
import { baseProperties } from "../../web/src/sync/base.ts";
import type { ConflictAnswer, ConflictPolicy } from "../../web/src/sync/conflict.ts";
import { finishPush, observationsOfAnswer } from "../../web/src/sync/finish-push.ts";
import type { FrozenPush, OutboxOp, RemoteRow } from "../../web/src/sync/hidden-tables.ts";
import { type Key, keyOf } from "../../web/src/sync/keys.ts";
import { fenceToken } from "../../web/src/sync/operation.ts";
import { decideOutcome, type Evidence } from "../../web/src/sync/outcome.ts";
import { planPush } from "../../web/src/sync/plan-push.ts";
import type { Properties } from "../../web/src/sync/properties.ts";
import { receiptEvidence } from "../../web/src/sync/receipt.ts";
import type { Value } from "../../web/src/sync/value.ts";
import { Disk, type FakeStore } from "./fake-store.ts";
import { Scheduler } from "./scheduler.ts";

type State = "-" | "x" | "y" | "z";

const states: readonly State[] = ["-", "x", "y", "z"];
const stateProperties: Readonly<Record<State, Properties | undefined>> = {
  "-": undefined,
  x: propertiesOf({ a: 1, b: 1 }),
  y: propertiesOf({ a: 2, b: 1 }),
  z: propertiesOf({ a: 1, b: 2 }),
};

function propertiesOf(values: Record<string, number>): Properties {
  const entries = Object.entries(values);
  return new Map(entries.map(([name, value]): [string, Value] => [name, { type: "Int32", value }]));
}

const partition = "p";
const keys = ["1", "2", "3"].map((row) => keyOf(partition, row)) as [Key, Key, Key];
const [firstKey, secondKey] = keys;
const keepAll = () => true;

/** A version of the remote. Its ETag is its content, with a number unless it is the Base. */
const versionOf = (state: State, number = ""): RemoteRow | undefined => {
  const properties = stateProperties[state];
  return properties && { properties, etag: state + number, timestamp: 1n };
};

class Case {
  readonly store: FakeStore = new Disk(new Scheduler(1), () => {}).open();
  #group = 0;

  /** The store has a clean row. */
  pull(key: Key, state: State): void {
    this.store.transact((draft) => {
      applyAnswer(draft, key, versionOf(state), draft.commit, keepAll);
    });
  }

  write(rows: Iterable<readonly [Key, State]>): void {
    const edits = [...rows].map(([key, state]) => [key, () => stateProperties[state]] as const);
    this.store.write(++this.#group, new Map(edits));
  }

  freeze(hasReceipts: boolean): FrozenPush {
    const limits = { operations: 3, bytes: 1 << 20 };
    const input = { isSettled: true, token: "t", groupsMax: 9 };
    let push: FrozenPush | undefined;
    this.store.transact((draft) => {
      const plan = planPush(draft, partition, { hasReceipts, limits, keeps: keepAll }, input);
      if (plan.kind === "push") push = plan.push;
    });
    return push as FrozenPush;
  }

  /** The text of what the store has for a key. */
  describe(key: Key): string {
    const { view } = this.store;
    const row = view.get("rows", key);
    const base = view.get("bases", key);
    const lost = [...view.entries("lost", "")].filter(([, { op }]) => op.key === key);
    const parked = [...view.entries("parked", "")].flatMap(([, { ops }]) => ops);
    const isClean = base === undefined && row?.version !== undefined;
    const parts = [nameOf(row?.properties) + (isClean ? `@${row?.version?.etag}` : "")];
    if (base) {
      const etag = base.kind === "row" ? `@${base.row.etag}` : base.kind === "outdated" ? "@?" : "";
      parts.push(`on ${nameOf(baseProperties(base))}${etag}`);
    }
    const ops = [...view.entries("outbox", "")].map(([, op]) => op);
    parts.push(...describeOps("sends", ops, key), ...describeOps("parked", parked, key));
    for (const [, { op, outcome }] of lost) {
      parts.push(outcome === "unknown" ? `lost? ${op.group}` : `lost ${op.group}`);
    }
    if (view.get("marks", key)) parts.push("marked");
    if (view.get("settling", key)) parts.push("settling");
    if (view.get("pushes", partition)) parts.push("frozen");
    return parts.join(", ");
  }
}

function describeOps(verb: string, ops: readonly OutboxOp[], key: Key): string[] {
  const own = ops.filter((op) => op.key === key);
  const text = ({ change, group, wasResent }: OutboxOp) => {
    if (change.kind === "delete") return `${group} delete`;
    const resent = wasResent ? " again" : "";
    if (change.kind === "create") return `${group} create ${nameOf(change.properties)}${resent}`;
    const unset = [...change.unset].map((name) => `-${name}`);
    return `${group} edit ${[valuesOf(change.set), ...unset].join("")}${resent}`;
  };
  return own.length === 0 ? [] : [`${verb} ${own.map(text).join(" + ")}`];
}

const valuesOf = (properties: Properties): string =>
  [...properties].map(([name, { value }]) => `${name}${value}`).join("");

function nameOf(properties: Properties | undefined): string {
  if (properties === undefined) return "-";
  const values = valuesOf(properties);
  return states.find((state) => valuesOf(stateProperties[state] ?? new Map()) === values) ?? values;
}

// ---- Answers to pushes -----------------------------------------------------------------------

/** How the remote answered, and what is known about earlier tries. */
type PushEvidence =
  | "accepted"
  | "refused" // the only try
  | "unsettled" // refused after an ambiguous try that may still arrive
  | "settled" // refused after an ambiguous try that cannot arrive any more
  | "rejected" // permanently, the only try
  | "rejected-settled" // permanently, after an ambiguous try
  | "receipt-applied"
  | "receipt-dead";

function answerPush(
  tested: Case,
  push: FrozenPush,
  evidence: PushEvidence,
  remote: (key: Key) => RemoteRow | undefined,
  policy: ConflictPolicy,
): string | undefined {
  const sentAt = tested.store.view.commit;
  const isAmbiguous =
    evidence === "settled" || evidence === "unsettled" || evidence === "rejected-settled";
  const isRejected = evidence.startsWith("rejected");
  const index = push.receipt ? 1 : 0;
  const versions = push.members.map(({ intended }) =>
    intended ? { etag: `${nameOf(intended)}2`, timestamp: 2n } : undefined,
  );
  const answer =
    evidence === "accepted"
      ? ({ kind: "applied", receipt: undefined, versions } as const)
      : isRejected
        ? ({ kind: "refused", index, status: 400, code: "InvalidInput" } as const)
        : ({ kind: "refused", index, status: 412, code: "UpdateConditionNotSatisfied" } as const);
  const decision = decideAnswer(push, { isAmbiguous }, answer);
  const observed = new Map(push.members.map(({ key }) => [key, { row: remote(key), sentAt }]));
  const finish = (finished: Partial<Parameters<typeof finishPush>[2]>) => {
    const all = {
      outcome: "applied",
      observations: observed,
      policy,
      mayArrive: false,
      ...finished,
    } as const;
    tested.store.transact((draft) => finishPush(draft, push, all, keepAll));
  };
  if (decision.kind === "applied") {
    finish({ observations: observationsOfAnswer(push, decision.versions, sentAt) });
  } else if (decision.kind === "park") {
    finish({ outcome: "notApplied", rejection: decision.rejection });
  } else if (decision.kind === "readBack") {
    const known = evidenceOf(push, evidence);
    const outcome = decideOutcome(push, observed, known, evidence !== "unsettled");
    if (outcome === "unsettled" || outcome === "readAgain") return "wait";
    finish({
      outcome,
      rejection: decision.rejection,
      mayArrive: isAmbiguous && outcome === "equal",
    });
  }
  return undefined;
}

function evidenceOf(push: FrozenPush, evidence: PushEvidence): Evidence {
  if (!evidence.startsWith("receipt-")) return evidence === "refused" ? "firstTry" : "none";
  const value = evidence === "receipt-applied" ? push.token : fenceToken(push);
  const properties = new Map<string, Value>([["push", { type: "String", value }]]);
  const found = { kind: "found", row: { properties, etag: "r", timestamp: 1n } } as const;
  return receiptEvidence(push, found).kind === "applied" ? "receiptApplied" : "receiptDead";
}

const answers: Readonly<Record<string, ConflictAnswer>> = {
  "=remote": { kind: "remote" },
  "=local": { kind: "local" },
  "=park": { kind: "park" },
  "=delete": { kind: "store", properties: undefined },
  "=z": { kind: "store", properties: stateProperties.z },
};

const policyOf = (name: string): ConflictPolicy => {
  const answer = answers[name];
  return answer ? new Map(keys.map((key) => [key, answer])) : (name as ConflictPolicy);
};

const policies = ["remote", "merge", "local"];
const allPolicies = [...policies, ...Object.keys(answers)];
const pushEvidence: readonly (readonly [PushEvidence, readonly string[]])[] = [
  ["accepted", ["remote"]],
  ["refused", allPolicies],
  ["unsettled", ["remote"]],
  ["settled", policies],
  ["rejected", ["remote"]],
  ["rejected-settled", ["remote"]],
  ["receipt-applied", ["remote"]],
  ["receipt-dead", ["remote"]],
];

/** `base > intended > local | remote`: the push intends the second state, and one edit followed. */
function* pushCases(): Generator<string> {
  for (const base of states) {
    for (const intended of states) {
      if (intended === base) continue;
      for (const local of states) {
        for (const remote of states) {
          for (const [evidence, names] of pushEvidence) {
            for (const policy of names) {
              const result = pushCase(base, intended, local, remote, evidence, policy);
              yield `${base}>${intended}>${local}|${remote} ${evidence} ${policy}: ${result}`;
            }
          }
        }
      }
    }
  }
}

function pushCase(
  base: State,
  intended: State,
  local: State,
  remote: State,
  evidence: PushEvidence,
  policy: string,
): string {
  const tested = new Case();
  tested.pull(firstKey, base);
  tested.write([[firstKey, intended]]);
  const push = tested.freeze(evidence.startsWith("receipt"));
  tested.write([[firstKey, local]]);
  const theirs = versionOf(remote, remote === base ? "" : "3");
  const waits = answerPush(tested, push, evidence, () => theirs, policyOf(policy));
  return waits ?? tested.describe(firstKey);
}

// ---- Groups ----------------------------------------------------------------------------------

/**
 * Two entities: `groups` are the local commits, of which `pushed` are in the push; `remote` is what
 * the remote has of each.
 */
function* groupCases(): Generator<string> {
  const shapes: readonly (readonly [string, readonly (readonly [Key, State][])[], number])[] = [
    [
      "12",
      [
        [
          [firstKey, "y"],
          [secondKey, "y"],
        ],
      ],
      1,
    ],
    [
      "12 2",
      [
        [
          [firstKey, "y"],
          [secondKey, "y"],
        ],
        [[secondKey, "z"]],
      ],
      1,
    ],
    [
      "12 2 pushed",
      [
        [
          [firstKey, "y"],
          [secondKey, "y"],
        ],
        [[secondKey, "z"]],
      ],
      2,
    ],
    [
      "1 12",
      [
        [[firstKey, "y"]],
        [
          [firstKey, "z"],
          [secondKey, "z"],
        ],
      ],
      2,
    ],
    [
      "2 12 del",
      [
        [[secondKey, "z"]],
        [
          [firstKey, "-"],
          [secondKey, "-"],
        ],
      ],
      1,
    ],
    [
      "1 del 12",
      [
        [[firstKey, "-"]],
        [
          [firstKey, "y"],
          [secondKey, "y"],
        ],
      ],
      2,
    ],
  ];
  for (const [shape, groups, pushed] of shapes) {
    for (const base of ["x", "-"] as const) {
      for (const remotes of [
        ["x", "x"],
        ["z", "x"],
        ["x", "z"],
        ["z", "z"],
        ["-", "x"],
        ["y", "y"],
        ["y", "-"],
      ] as const) {
        for (const evidence of ["accepted", "refused", "settled", "rejected"] as const) {
          for (const policy of evidence === "refused" ? allPolicies : ["remote"]) {
            const result = groupCase(base, groups, pushed, remotes, evidence, policy);
            yield `[${shape}] ${base}|${remotes.join("")} ${evidence} ${policy}: ${result}`;
          }
        }
      }
    }
  }
}

function groupCase(
  base: State,
  groups: readonly (readonly [Key, State][])[],
  pushed: number,
  remotes: readonly [State, State],
  evidence: PushEvidence,
  policy: string,
): string {
  const tested = new Case();
  tested.pull(firstKey, base);
  tested.pull(secondKey, base);
  for (const group of groups.slice(0, pushed)) tested.write(group);
  const push = tested.freeze(false);
  if (push === undefined) return "nothing to push";
  for (const group of groups.slice(pushed)) tested.write(group);
  const remote = (key: Key) => {
    const state = key === firstKey ? remotes[0] : remotes[1];
    return versionOf(state, state === base ? "" : "3");
  };
  const waits = answerPush(tested, push, evidence, remote, policyOf(policy));
  return waits ?? `${tested.describe(firstKey)}; ${tested.describe(secondKey)}`;
}

// ---- Answers to reads ------------------------------------------------------------------------

type ReadEvidence = "read" | "read-before" | "census" | "read-filtered";

/** `base > local | remote`: a read of the remote, sent now, or before the local row was changed. */
function* readCases(): Generator<string> {
  for (const base of states) {
    for (const local of states) {
      for (const remote of states) {
        for (const evidence of ["read", "read-before", "census", "read-filtered"] as const) {
          yield `${base}>${local}|${remote} ${evidence}: ${readCase(base, local, remote, evidence)}`;
        }
      }
    }
  }
}

function readCase(base: State, local: State, remote: State, evidence: ReadEvidence): string {
  const tested = new Case();
  const { store } = tested;
  const before = store.view.commit;
  tested.pull(firstKey, base);
  tested.write([[firstKey, local]]);
  const row = versionOf(remote, remote === base ? "" : "3");
  const sentAt = evidence === "read-before" ? before : store.view.commit;
  const keeps = evidence === "read-filtered" ? () => false : keepAll;
  store.transact((draft) => {
    if (evidence !== "census") applyAnswer(draft, firstKey, row, sentAt, keeps);
    else if (row) compareVersion(draft, firstKey, row.etag);
  });
  return tested.describe(firstKey);
}

export function* plannerCases(): Generator<string> {
  yield* readCases();
  yield* pushCases();
  yield* groupCases();
}
