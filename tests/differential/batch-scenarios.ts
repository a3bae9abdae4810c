// Entity group transactions.

import { type EdmType, edmTypes, type Key, type Step } from "./request.ts";
import type { Scenario } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { commonHeaders, entityPath, makeStep, metadataLevels } from "./steps.ts";
import type { StoreModel } from "./store-model.ts";
import { largeValue } from "./values.ts";
import { someMembers, staleEtag, type Write, writeStep } from "./write-scenarios.ts";

const batchBoundary = "batch_a1e9d677-b28b-435e-a89e-87e6a768a431";
const setBoundary = "changeset_8a28b620-b4bb-458c-a177-0959fb14c977";
// The headers that a client sends in the parts. The others are those of the whole request.
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
  random: SeededRandom,
  operation: string,
  steps: readonly Step[],
  tags: readonly string[] = [],
): Step {
  const parts = steps.map((step) => `--${setBoundary}\r\n${part(step)}`).join("");
  const set = `Content-Type: multipart/mixed; boundary=${setBoundary}\r\n\r\n${parts}--${setBoundary}--\r\n`;
  return sent(random, operation, steps, set, tags);
}

export function sent(
  random: SeededRandom,
  operation: string,
  steps: readonly Step[],
  inside: string,
  tags: readonly string[],
): Step {
  const table = steps[0]?.table;
  return makeStep({
    operation,
    types: steps.flatMap(({ types }) => types),
    method: "POST",
    target: "/$batch",
    headers: [
      ...commonHeaders(random),
      ["Content-Type", `multipart/mixed; boundary=${batchBoundary}`],
    ],
    body: `--${batchBoundary}\r\n${inside}--${batchBoundary}--\r\n`,
    ...(table === undefined ? {} : { table }),
    entities: steps.flatMap(({ entities }) => entities),
    writes: !operation.startsWith("batch query"),
    tags: new Set([...tags, ...steps.flatMap((step) => [...step.tags])]),
  });
}

// ---- What is in it ------------------------------------------------------------------------------

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
    entities: [{ ...key, isDeleted: true }],
  });
}

// Makes a few writes to one partition that succeed. The first has a value of `type`.
export function validGroup(
  model: StoreModel,
  random: SeededRandom,
  type: EdmType,
): Group | undefined {
  const address = model.existing(random);
  if (address === undefined) return undefined;
  const {
    table,
    key: { pk },
  } = address;
  const present = random.shuffle(model.inPartition(table, pk));
  const steps: Step[] = [];
  const count = 1 + random.below(4);
  for (let i = 0; i < count; i++) {
    const fresh = { pk, rk: `b${random.below(1_000_000)}` };
    const old = random.oneIn(2) ? present.pop() : undefined;
    if (i > 0 && old !== undefined && random.oneIn(3)) {
      steps.push(deleteStep(table, old));
      continue;
    }
    const writes: readonly Write[] =
      old === undefined
        ? ["insert", "insert or replace", "insert or merge"]
        : ["replace", "merge", "insert or replace", "insert or merge"];
    const write = random.pick(writes);
    const conditional = write === "replace" || write === "merge";
    const members = someMembers(random, i === 0 ? type : random.pick(edmTypes));
    steps.push(
      plainWrite(random, write, table, old ?? fresh, {
        members,
        ...(conditional ? { ifMatch: "*" } : {}),
      }),
    );
  }
  return { table, pk, present, steps };
}

// Makes a write without X-HTTP-Method: in parts, Azurite only uses the method.
function plainWrite(
  random: SeededRandom,
  write: Write,
  table: string,
  key: Key,
  more: object,
): Step {
  for (;;) {
    const step = writeStep(random, { write, table, key, ...more });
    if (!step.headers.some(([name]) => name === "X-HTTP-Method")) return step;
  }
}

type FailingStep = (random: SeededRandom, group: Group, type: EdmType) => Step | undefined;

function scenario(
  type: EdmType | "-",
  code: string,
  failingStep: FailingStep | undefined,
  ...tags: string[]
): Scenario {
  const make = (model: StoreModel, random: SeededRandom) => {
    const group = validGroup(model, random, type === "-" ? "Int32" : type);
    if (group === undefined) return undefined;
    if (failingStep !== undefined) {
      const bad = failingStep(random, group, type === "-" ? "Int32" : type);
      if (bad === undefined) return undefined;
      group.steps.push(bad);
    }
    return batchOf(random, "batch", group.steps, tags);
  };
  return { operation: "batch", type, code, make };
}

const fresh = (pk: string) => ({ pk, rk: "absent" });

const failingSteps: readonly [string, FailingStep][] = [
  [
    "EntityAlreadyExists",
    (random, { table, present }, type) => {
      const key = present.pop();
      return (
        key && plainWrite(random, "insert", table, key, { members: someMembers(random, type) })
      );
    },
  ],
  [
    "ResourceNotFound",
    (random, { table, pk }, type) =>
      plainWrite(random, random.pick(["replace", "merge"] as const), table, fresh(pk), {
        members: someMembers(random, type),
        ifMatch: "*",
      }),
  ],
  [
    "UpdateConditionNotSatisfied",
    (random, { table, present }, type) => {
      const key = present.pop();
      return (
        key &&
        plainWrite(random, "merge", table, key, {
          members: someMembers(random, type),
          ifMatch: staleEtag,
        })
      );
    },
  ],
];

function unusualGroups(): Scenario[] {
  const int = (random: SeededRandom) => someMembers(random, "Int32");
  return [
    scenario(
      "-",
      "CommandsInBatchActOnDifferentPartitions",
      (random, { table, pk }) =>
        plainWrite(
          random,
          "insert or replace",
          table,
          { pk: `${pk}other`, rk: "r" },
          { members: int(random) },
        ),
      "other partition",
    ),
    scenario(
      "-",
      "InvalidDuplicateRow",
      (random, { table, steps }) => {
        const key = steps[0]?.entities[0];
        return (
          key &&
          plainWrite(
            random,
            "insert or merge",
            table,
            { pk: key.pk, rk: key.rk },
            { members: int(random) },
          )
        );
      },
      "same row",
    ),
    scenario("String", "PropertyValueTooLarge", (random, { table, pk }) =>
      plainWrite(random, "insert", table, fresh(pk), {
        members: [{ name: "string1", ...largeValue("String") }],
        tags: ["large String"],
      }),
    ),
    { operation: "batch", type: "-", code: "InvalidInput", make: tooMany },
    {
      operation: "batch",
      type: "-",
      code: "RequestBodyTooLarge",
      make: (_, random) => sent(random, "batch", [], " ".repeat(4 * 1024 * 1024), ["large batch"]),
    },
    { operation: "batch", type: "-", code: "TableNotFound", make: noTable },
    {
      operation: "batch",
      type: "-",
      code: "InvalidInput",
      make: (_, random) =>
        sent(random, "batch", [], random.pick(["", "nonsense\r\n"]), ["no group"]),
    },
  ];
}

function tooMany(model: StoreModel, random: SeededRandom): Step | undefined {
  const table = model.anyTable(random);
  if (table === undefined) return undefined;
  const steps = Array.from({ length: 101 }, (_, i) =>
    plainWrite(
      random,
      "insert",
      table,
      { pk: "many", rk: `${i}` },
      { body: `{"PartitionKey":"many","RowKey":"${i}"}` },
    ),
  );
  return batchOf(random, "batch", steps, ["many operations"]);
}

function noTable(_: StoreModel, random: SeededRandom): Step {
  const step = plainWrite(
    random,
    "insert",
    "noSuchTable",
    { pk: "p", rk: "r" },
    { members: someMembers(random, "Int32") },
  );
  return batchOf(random, "batch", [step]);
}

// ---- One query ----------------------------------------------------------------------------------

function queryScenario(code: string, present: boolean): Scenario {
  const make = (model: StoreModel, random: SeededRandom) => {
    const address = present ? model.existing(random) : model.absent(random);
    if (address === undefined) return undefined;
    const get = makeStep({
      operation: "get",
      method: "GET",
      target: entityPath(address.table, address.key),
      headers: [["Accept", random.pick(metadataLevels.slice(0, 3))]],
      table: address.table,
      entities: [address.key],
    });
    return sent(random, "batch query", [get], part(get), []);
  };
  return { operation: "batch query", type: "-", code, make };
}

export const batchScenarios: readonly Scenario[] = [
  ...edmTypes.flatMap((type) => [
    scenario(type, "ok", undefined),
    scenario(type, "ok", undefined),
    ...failingSteps.map(([code, failingStep]) => scenario(type, code, failingStep)),
  ]),
  ...unusualGroups(),
  queryScenario("ok", true),
  queryScenario("ok", true),
  queryScenario("ResourceNotFound", false),
];
