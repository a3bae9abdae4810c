// Writes of single entities.

import { type EdmType, edmTypes, type Key, type Step } from "./request.ts";
import type { Scenario } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";
import {
  commonHeaders,
  entityBody,
  entityPath,
  type Header,
  makeStep,
  type Named,
  propertyName,
} from "./steps.ts";
import type { EntityAddress, StoreModel } from "./store-model.ts";
import { earlyDate, invalidValue, largeValue, unusualValue, validValue } from "./values.ts";

export type Write = "insert" | "replace" | "merge" | "insert or replace" | "insert or merge";
const writes: readonly Write[] = [
  "insert",
  "replace",
  "merge",
  "insert or replace",
  "insert or merge",
];
const conditional = (write: Write) => write === "replace" || write === "merge";

export const staleEtag = `W/"datetime'2020-01-01T00%3A00%3A00.0000001Z'"`;
export const noTable = "noSuchTable";

// ---- Bodies -------------------------------------------------------------------------------------

export function someMembers(random: SeededRandom, first: EdmType): Named[] {
  const types = [first, ...random.shuffle(edmTypes).slice(0, random.below(5))];
  return [...new Set(types)].map((type) => ({
    name: propertyName(type, 1 + random.below(2)),
    ...validValue(random, type),
  }));
}

const typesOf = (members: readonly Named[]): EdmType[] =>
  edmTypes.filter((type) =>
    members.some(({ name }) => name.toLowerCase().includes(type.toLowerCase())),
  );

// ---- Requests -----------------------------------------------------------------------------------

interface Writing extends EntityAddress {
  write: Write;
  members?: readonly Named[];
  body?: string; // instead of `members`
  ifMatch?: string;
  contentType?: string;
  headers?: readonly Header[];
  tags?: readonly string[];
}

const jsonTypes = ["application/json", "application/json;odata=nometadata"];

function methodOf(random: SeededRandom, write: Write): { method: string; headers: Header[] } {
  const verbs =
    write === "insert" ? ["POST"] : write.endsWith("merge") ? ["MERGE", "PATCH"] : ["PUT"];
  const verb = random.pick(verbs);
  if (verb === "POST" || !random.oneIn(12)) return { method: verb, headers: [] };
  return { method: "POST", headers: [["X-HTTP-Method", verb]] };
}

function preference(random: SeededRandom): Header[] {
  return random.oneIn(2) ? [] : [["Prefer", random.pick(["return-content", "return-no-content"])]];
}

export function writeStep(random: SeededRandom, writing: Writing): Step {
  const { write, table, key, members = [], ifMatch, tags = [] } = writing;
  const { method, headers } = methodOf(random, write);
  const insert = write === "insert";
  const keys: Partial<Key> = insert || random.oneIn(2) ? key : {};
  const body = writing.body ?? entityBody(random, keys, members);
  const conditions: Header[] = ifMatch === undefined ? [] : [["If-Match", ifMatch]];
  return makeStep({
    operation: write,
    types: typesOf(members),
    method,
    target: insert ? `/${table}${random.pick(["", "()"])}` : entityPath(table, key),
    headers: [
      ...commonHeaders(random),
      ["Content-Type", writing.contentType ?? random.pick(jsonTypes)],
      ...(insert ? preference(random) : []),
      ...headers,
      ...conditions,
      ...(writing.headers ?? []),
    ],
    body,
    table,
    entities: [insert ? keyIn(body, key) : key],
    writes: true,
    tags: new Set(
      method === "POST" && write.endsWith("replace") ? [...tags, "tunnelled PUT"] : tags,
    ),
  });
}

// Returns the key in a body.
function keyIn(body: string, otherwise: Key): Key {
  try {
    const { PartitionKey: pk, RowKey: rk } = JSON.parse(body);
    return typeof pk === "string" && typeof rk === "string" ? { pk, rk } : otherwise;
  } catch {
    return otherwise;
  }
}

// Returns an address for which a write of this kind succeeds.
function fitting(model: StoreModel, random: SeededRandom, write: Write): EntityAddress | undefined {
  const fresh = write === "insert" || (!conditional(write) && random.oneIn(2));
  return fresh ? model.absent(random) : model.existing(random);
}

function condition(random: SeededRandom, write: Write): { ifMatch?: string } {
  return conditional(write) ? { ifMatch: random.pick(["*", "{{etag 0}}"]) } : {};
}

// ---- Scenarios ----------------------------------------------------------------------------------

type Writer = (model: StoreModel, random: SeededRandom, address: EntityAddress) => Partial<Writing>;

function scenario(
  write: Write,
  type: EdmType | "-",
  code: string,
  parts: Writer,
  where: (model: StoreModel, random: SeededRandom) => EntityAddress | undefined = (model, random) =>
    fitting(model, random, write),
): Scenario {
  const make = (model: StoreModel, random: SeededRandom) => {
    const address = where(model, random);
    if (address === undefined) return undefined;
    return writeStep(random, {
      write,
      ...address,
      ...condition(random, write),
      ...parts(model, random, address),
    });
  };
  return { operation: write, type, code, make };
}

const withMember = (
  type: EdmType,
  kind: string,
  member: (random: SeededRandom) => Named,
): Writer => {
  return (_world, random) => ({ members: [member(random)], tags: [`${kind} ${type}`] });
};

function valueScenarios(write: Write, type: EdmType): Scenario[] {
  const name = propertyName(type, 1);
  const bad = withMember(type, "bad value of", (random) => ({
    name,
    ...invalidValue(random, type),
  }));
  const odd = withMember(type, "odd", (random) => ({
    name: `odd${type}`,
    ...unusualValue(random, type),
  }));
  const scenarios = [
    scenario(write, type, "ok", (_, random) => ({ members: someMembers(random, type) })),
    scenario(write, type, "ok", (_, random) => ({ members: someMembers(random, type) })),
    scenario(write, type, "ok", odd),
    scenario(write, type, "InvalidInput", bad),
  ];
  if (type === "DateTime") {
    const early = withMember(type, "early", () => ({ name, ...earlyDate() }));
    scenarios.push(scenario(write, type, "OutOfRangeInput", early));
  }
  if (type === "String" || type === "Binary") {
    const large = withMember(type, "large", () => ({ name, ...largeValue(type) }));
    scenarios.push(scenario(write, type, "PropertyValueTooLarge", large));
  }
  return scenarios;
}

// Scenarios in which a valid request fails because of the stored data.
function stateScenarios(write: Write, type: EdmType): Scenario[] {
  const members: Writer = (_, random) => ({ members: someMembers(random, type) });
  const missing = (model: StoreModel, random: SeededRandom) => {
    const address = model.absent(random);
    return address && { ...address, table: noTable };
  };
  const scenarios = [
    scenario(
      write,
      type,
      "TableNotFound",
      (w, d, p) => ({ ...members(w, d, p), ...(conditional(write) ? { ifMatch: "*" } : {}) }),
      missing,
    ),
  ];
  if (write === "insert") {
    scenarios.push(
      scenario(write, type, "EntityAlreadyExists", members, (model, random) =>
        model.existing(random),
      ),
    );
  }
  if (conditional(write)) {
    const stale: Writer = (w, d, p) => ({ ...members(w, d, p), ifMatch: staleEtag });
    const either: Writer = (w, d, p) => ({
      ...members(w, d, p),
      ifMatch: d.pick(["*", staleEtag]),
    });
    scenarios.push(
      scenario(write, type, "UpdateConditionNotSatisfied", stale, (model, random) =>
        model.existing(random),
      ),
      scenario(write, type, "ResourceNotFound", either, (model, random) => model.absent(random)),
    );
  }
  return scenarios;
}

export const malformedEtags = ['"abc"', "W/abc", "abc", `W/"a", W/"b"`];

function bodyScenarios(write: Write): Scenario[] {
  const raw = (code: string, tags: string, body: (key: Key, random: SeededRandom) => string) =>
    scenario(write, "-", code, (_, random, { key }) => ({ body: body(key, random), tags: [tags] }));
  const keyed = ({ pk, rk }: Key, rest: string) =>
    `{"PartitionKey":${JSON.stringify(pk)},"RowKey":${JSON.stringify(rk)}${rest}}`;
  const many = (n: number, value: string) =>
    Array.from({ length: n }, (_, i) => `,"n${i}":${value}`).join("");
  return [
    raw("InvalidInput", "no JSON", (_, random) =>
      random.pick(["{", "nonsense", "[1]", '"text"', ""]),
    ),
    raw("InvalidInput", "unknown type", (key) => keyed(key, ',"a@odata.type":"Edm.Byte","a":1')),
    raw("DuplicatePropertiesSpecified", "duplicate", (key) => keyed(key, ',"a":1,"a":2')),
    raw("PropertyNameInvalid", "bad property name", (key, random) =>
      keyed(key, `,${JSON.stringify(random.pick(["a-b", "1a", "a b", ""]))}:1`),
    ),
    raw("PropertyNameTooLong", "long name", (key) => keyed(key, `,"${"n".repeat(256)}":1`)),
    raw("TooManyProperties", "many properties", (key) => keyed(key, many(253, "1"))),
    raw("EntityTooLarge", "large entity", (key) => keyed(key, many(17, `"${"x".repeat(32000)}"`))),
    raw("ok", "nulls", (key) => keyed(key, ',"string1":null,"int321":5')),
    raw("ok", "metadata", (key) =>
      keyed(key, `,"odata.etag":"W/\\"x\\"","Timestamp":"2001-01-01T00:00:00Z","int321":5`),
    ),
  ];
}

function insertScenarios(): Scenario[] {
  const bodied = (code: string, tags: string, body: (random: SeededRandom) => string) =>
    scenario("insert", "-", code, (_, random) => ({ body: body(random), tags: [tags] }));
  return [
    bodied("PropertiesNeedValue", "missing key", (random) =>
      random.pick([
        '{"PartitionKey":"p"}',
        '{"RowKey":"r","int321":1}',
        "{}",
        '{"PartitionKey":null,"RowKey":"r"}',
      ]),
    ),
    bodied("OutOfRangeInput", "bad key", (random) =>
      JSON.stringify({
        PartitionKey: random.pick(["a/b", "a\\b", "a#b", "a?b", "a\tb", "\u0080"]),
        RowKey: "r",
      }),
    ),
    bodied("PropertyValueTooLarge", "long key", (random) => {
      const long = "k".repeat(513);
      const key = random.oneIn(2) ? [long, "r"] : ["p", long];
      return JSON.stringify({ PartitionKey: key[0], RowKey: key[1] });
    }),
    bodied("RequestBodyTooLarge", "large body", () => {
      const start = '{"PartitionKey":"p","RowKey":"r"}';
      return start.padEnd(4 * 1024 * 1024 + 1);
    }),
    bodied("PrimaryKeyPropertyIsInvalidType", "typed key", () => '{"PartitionKey":5,"RowKey":"r"}'),
  ];
}

// Scenarios in which a request is rejected because of its headers.
function headerScenarios(write: Write): Scenario[] {
  const scenarios = [
    scenario(write, "-", "AtomFormatNotSupported", (_, random) => ({
      members: someMembers(random, "Int32"),
      contentType: "application/atom+xml",
      tags: ["atom body"],
    })),
  ];
  if (conditional(write)) {
    scenarios.push(
      scenario(write, "-", "InvalidInput", (_, random) => ({
        ifMatch: random.pick(malformedEtags),
        tags: ["malformed etag"],
      })),
    );
  }
  if (write.endsWith("replace")) {
    scenarios.push(
      scenario(write, "-", "InvalidInput", () => ({
        headers: [["If-None-Match", "*"]],
        tags: ["if-none-match"],
      })),
    );
  }
  return scenarios;
}

export const writeScenarios: readonly Scenario[] = [
  ...writes.flatMap((write) => [
    ...edmTypes.flatMap((type) => [...valueScenarios(write, type), ...stateScenarios(write, type)]),
    ...bodyScenarios(write),
    ...headerScenarios(write),
  ]),
  ...insertScenarios(),
];
