// Entity group transactions.

import type { Claim } from "./claims.ts";
import type { Dice } from "./dice.ts";
import { type EdmType, edmTypes, type Key, type Step } from "./request.ts";
import { commonHeaders, entityPath, levels, makeStep } from "./steps.ts";
import { largeValue } from "./values.ts";
import type { World } from "./world.ts";
import { someMembers, staleEtag, type Write, writeStep } from "./write-claims.ts";

const batchBoundary = "batch_a1e9d677-b28b-435e-a89e-87e6a768a431";
const setBoundary = "changeset_8a28b620-b4bb-458c-a177-0959fb14c977";
// Headers that a client puts into the parts; the others are those of the request that carries them.
const inParts = /^(accept|content-type|if-match|prefer)$/i;

export function part(step: Step): string {
  const headers = step.headers
    .filter(([name]) => inParts.test(name))
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return [
    "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n",
    `${step.method} {{base}}${step.target} HTTP/1.1\r\n`,
    ...headers,
    `\r\n${step.body ?? ""}\r\n`,
  ].join("");
}

export function batchOf(
  dice: Dice,
  operation: string,
  steps: readonly Step[],
  about: readonly string[] = [],
): Step {
  const parts = steps.map((step) => `--${setBoundary}\r\n${part(step)}`).join("");
  const set = `Content-Type: multipart/mixed; boundary=${setBoundary}\r\n\r\n${parts}--${setBoundary}--\r\n`;
  return sent(dice, operation, steps, set, about);
}

export function sent(
  dice: Dice,
  operation: string,
  steps: readonly Step[],
  inside: string,
  about: readonly string[],
): Step {
  const table = steps[0]?.table;
  return makeStep({
    operation,
    types: steps.flatMap(({ types }) => types),
    method: "POST",
    target: "/$batch",
    headers: [
      ...commonHeaders(dice),
      ["Content-Type", `multipart/mixed; boundary=${batchBoundary}`],
    ],
    body: `--${batchBoundary}\r\n${inside}--${batchBoundary}--\r\n`,
    ...(table === undefined ? {} : { table }),
    entities: steps.flatMap(({ entities }) => entities),
    writes: !operation.startsWith("batch query"),
    about: new Set([...about, ...steps.flatMap((step) => [...step.about])]),
  });
}

// ---- What is in it ----------------------------------------------------------------------------------------------------

export interface Group {
  table: string;
  pk: string;
  present: Key[];
  steps: Step[];
}

function deleteStep(table: string, key: Key): Step {
  return makeStep({
    operation: "delete",
    method: "DELETE",
    target: entityPath(table, key),
    headers: [["If-Match", "*"]],
    table,
    entities: [{ ...key, gone: true }],
  });
}

// A few writes to one partition that succeed; the first has a value of `type`.
export function goodGroup(world: World, dice: Dice, type: EdmType): Group | undefined {
  const place = world.existing(dice);
  if (place === undefined) return undefined;
  const {
    table,
    key: { pk },
  } = place;
  const present = dice.shuffle(world.inPartition(table, pk));
  const steps: Step[] = [];
  const count = 1 + dice.below(4);
  for (let i = 0; i < count; i++) {
    const fresh = { pk, rk: `b${dice.below(1_000_000)}` };
    const old = dice.oneIn(2) ? present.pop() : undefined;
    if (i > 0 && old !== undefined && dice.oneIn(3)) {
      steps.push(deleteStep(table, old));
      continue;
    }
    const writes: readonly Write[] =
      old === undefined
        ? ["insert", "insert or replace", "insert or merge"]
        : ["replace", "merge", "insert or replace", "insert or merge"];
    const write = dice.pick(writes);
    const conditional = write === "replace" || write === "merge";
    const members = someMembers(dice, i === 0 ? type : dice.pick(edmTypes));
    steps.push(
      plainWrite(dice, write, table, old ?? fresh, {
        members,
        ...(conditional ? { ifMatch: "*" } : {}),
      }),
    );
  }
  return { table, pk, present, steps };
}

// No override: a part is shown to Azurite by its method alone.
function plainWrite(dice: Dice, write: Write, table: string, key: Key, more: object): Step {
  for (;;) {
    const step = writeStep(dice, { write, table, key, ...more });
    if (!step.headers.some(([name]) => name === "X-HTTP-Method")) return step;
  }
}

type Spoil = (dice: Dice, group: Group, type: EdmType) => Step | undefined;

function claim(
  type: EdmType | "-",
  code: string,
  spoil: Spoil | undefined,
  ...about: string[]
): Claim {
  const make = (world: World, dice: Dice) => {
    const group = goodGroup(world, dice, type === "-" ? "Int32" : type);
    if (group === undefined) return undefined;
    if (spoil !== undefined) {
      const bad = spoil(dice, group, type === "-" ? "Int32" : type);
      if (bad === undefined) return undefined;
      group.steps.push(bad);
    }
    return batchOf(dice, "batch", group.steps, about);
  };
  return { operation: "batch", type, code, make };
}

const fresh = (pk: string) => ({ pk, rk: "absent" });

const spoils: readonly [string, Spoil][] = [
  [
    "EntityAlreadyExists",
    (dice, { table, present }, type) => {
      const key = present.pop();
      return key && plainWrite(dice, "insert", table, key, { members: someMembers(dice, type) });
    },
  ],
  [
    "ResourceNotFound",
    (dice, { table, pk }, type) =>
      plainWrite(dice, dice.pick(["replace", "merge"] as const), table, fresh(pk), {
        members: someMembers(dice, type),
        ifMatch: "*",
      }),
  ],
  [
    "UpdateConditionNotSatisfied",
    (dice, { table, present }, type) => {
      const key = present.pop();
      return (
        key &&
        plainWrite(dice, "merge", table, key, {
          members: someMembers(dice, type),
          ifMatch: staleEtag,
        })
      );
    },
  ],
];

function oddGroups(): Claim[] {
  const int = (dice: Dice) => someMembers(dice, "Int32");
  return [
    claim(
      "-",
      "CommandsInBatchActOnDifferentPartitions",
      (dice, { table, pk }) =>
        plainWrite(
          dice,
          "insert or replace",
          table,
          { pk: `${pk}other`, rk: "r" },
          { members: int(dice) },
        ),
      "other partition",
    ),
    claim(
      "-",
      "InvalidDuplicateRow",
      (dice, { table, steps }) => {
        const key = steps[0]?.entities[0];
        return (
          key &&
          plainWrite(
            dice,
            "insert or merge",
            table,
            { pk: key.pk, rk: key.rk },
            { members: int(dice) },
          )
        );
      },
      "same row",
    ),
    claim("String", "PropertyValueTooLarge", (dice, { table, pk }) =>
      plainWrite(dice, "insert", table, fresh(pk), {
        members: [{ name: "string1", ...largeValue("String") }],
        about: ["large String"],
      }),
    ),
    { operation: "batch", type: "-", code: "InvalidInput", make: tooMany },
    {
      operation: "batch",
      type: "-",
      code: "RequestBodyTooLarge",
      make: (_, dice) => sent(dice, "batch", [], " ".repeat(4 * 1024 * 1024), ["large batch"]),
    },
    { operation: "batch", type: "-", code: "TableNotFound", make: noTable },
    {
      operation: "batch",
      type: "-",
      code: "InvalidInput",
      make: (_, dice) => sent(dice, "batch", [], dice.pick(["", "nonsense\r\n"]), ["no group"]),
    },
  ];
}

function tooMany(world: World, dice: Dice): Step | undefined {
  const table = world.anyTable(dice);
  if (table === undefined) return undefined;
  const steps = Array.from({ length: 101 }, (_, i) =>
    plainWrite(
      dice,
      "insert",
      table,
      { pk: "many", rk: `${i}` },
      { body: `{"PartitionKey":"many","RowKey":"${i}"}` },
    ),
  );
  return batchOf(dice, "batch", steps, ["many operations"]);
}

function noTable(_: World, dice: Dice): Step {
  const step = plainWrite(
    dice,
    "insert",
    "noSuchTable",
    { pk: "p", rk: "r" },
    { members: someMembers(dice, "Int32") },
  );
  return batchOf(dice, "batch", [step]);
}

// ---- One query --------------------------------------------------------------------------------------------------------

function queryClaim(code: string, present: boolean): Claim {
  const make = (world: World, dice: Dice) => {
    const place = present ? world.existing(dice) : world.absent(dice);
    if (place === undefined) return undefined;
    const get = makeStep({
      operation: "get",
      method: "GET",
      target: entityPath(place.table, place.key),
      headers: [["Accept", dice.pick(levels.slice(0, 3))]],
      table: place.table,
      entities: [place.key],
    });
    return sent(dice, "batch query", [get], part(get), []);
  };
  return { operation: "batch query", type: "-", code, make };
}

export const batchClaims: readonly Claim[] = [
  ...edmTypes.flatMap((type) => [
    claim(type, "ok", undefined),
    claim(type, "ok", undefined),
    ...spoils.map(([code, spoil]) => claim(type, code, spoil)),
  ]),
  ...oddGroups(),
  queryClaim("ok", true),
  queryClaim("ok", true),
  queryClaim("ResourceNotFound", false),
];
