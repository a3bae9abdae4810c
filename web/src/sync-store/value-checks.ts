// Whether a decoded value is one that sync has put: a row may come from a damaged or crafted file,
// or from a later version that did not change the version of values. Sync would otherwise fail in
// the middle of its work, or skip changes.

import type { Base, FeedState, Lost, ScanState } from "../sync/hidden-tables.ts";
import { isPlatformObject } from "../util/platform-objects.ts";
import type { OpaqueTable } from "./hidden-keys.ts";

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
/** In milliseconds since 1970. */
const isTime: Check = (value) => Number.isFinite(value);
const isOneOf = (...values: unknown[]): Check => {
  const known = new Set(values);
  return (value) => known.has(value);
};
const isOptional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
const isArrayOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);

/** Other members may be there: a later version can add some. */
const isObject =
  (members: Readonly<Record<string, Check>>): Check =>
  (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
    const object = value as Record<string, unknown>;
    return Object.entries(members).every(([name, check]) => check(object[name]));
  };

// 9999-12-31T23:59:59.9999999Z. A scan begins before its watermark, so it may be below 0.
const ticksMax = 2_534_023_007_999_999_999n;
const isTicks: Check = (value) =>
  typeof value === "bigint" && value <= ticksMax && value >= -ticksMax;

const sequenceMax = 2n ** 63n - 1n;
const isSequence: Check = (value) =>
  typeof value === "bigint" && value >= 0n && value <= sequenceMax;

// An hour is the most that sync uses (watermark.ts); an option may set more at first.
const overlapMsMax = 30 * 24 * 3_600_000;
const isOverlap: Check = (value) =>
  typeof value === "number" && value >= 0 && value <= overlapMsMax;

const isValue = isObject({ type: isText });
const isProperties: Check = (value) =>
  isPlatformObject(value, "Map") &&
  [...(value as Map<unknown, unknown>)].every(([name, each]) => isText(name) && isValue(each));
const isNames: Check = (value) =>
  isPlatformObject(value, "Set") && [...(value as Set<unknown>)].every(isText);

// By the member `kind`.
const isKindOf =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) => {
    const kind = (value as { kind?: unknown } | null | undefined)?.kind;
    return typeof kind === "string" && Object.hasOwn(checks, kind) && !!checks[kind]?.(value);
  };

const isChange = isKindOf({
  create: isObject({ properties: isProperties, unwritten: isOptional(isNames) }),
  edit: isObject({ set: isProperties, unset: isNames }),
  delete: isObject({}),
});
const isRemoteRow = isObject({ properties: isProperties, etag: isText, timestamp: isTicks });
const isBase = isKindOf({
  absent: isObject({}),
  row: isObject({ row: isRemoteRow }),
  outdated: isObject({ properties: isOptional(isProperties) }),
} satisfies Record<Base["kind"], Check>);
const isOperation = isObject({
  number: isCount,
  group: isCount,
  key: isText,
  change: isChange,
  wasResent: isOneOf(undefined, true),
});
const isMember = isObject({ key: isText, base: isBase, intended: isOptional(isProperties) });
const isReceipt = isObject({ etag: isText });
const isDelta = isObject({
  since: isOptional(isTicks),
  nextWatermark: isOptional(isTicks),
  after: isOptional(isText),
  hadRows: isOneOf(undefined, true, false),
});

/** By table: the shapes in sync/hidden-tables.ts. */
export const isValid: Readonly<Record<OpaqueTable, Check>> = {
  parked: isObject({ group: isCount, reason: isText, ops: isArrayOf(isOperation) }),
  pushes: isObject({
    partition: isText,
    token: isText,
    upTo: isCount,
    groups: isCount,
    members: isArrayOf(isMember),
    idleKeys: isArrayOf(isText),
    receipt: isOptional(isReceipt),
  }),
  tries: isCount,
  receipts: isReceipt,
  settling: isOneOf(true),
  marks: isObject({ at: isCount, etag: isOptional(isText) }),
  scans: isObject({
    to: isOptional(isText),
    watermark: isOptional(isTicks),
    delta: isOptional(isDelta),
    census: isOptional(isObject({ after: isOptional(isText), beganAt: isOptional(isTime) })),
    comparedAt: isOptional(isTime),
  } satisfies Record<keyof ScanState, Check>),
  lost: isObject({
    op: isOperation,
    base: isOptional(isProperties),
    local: isOptional(isProperties),
    remote: isOptional(isProperties),
    isRemoteKnown: isOneOf(undefined, true, false),
    outcome: isOneOf("notApplied", "unknown"),
  } satisfies Record<keyof Lost, Check>),
  server: isTicks,
  overlap: isOverlap,
  client: isText,
  feed: isObject({
    position: isSequence,
    store: isText,
    scope: isText,
    witness: isOptional(isObject({ sequence: isSequence, text: isText })),
    isComplete: isOneOf(true, false),
  } satisfies Record<keyof FeedState, Check>),
};
