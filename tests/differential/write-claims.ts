// Writes of single entities.

import type { Claim } from "./claims.ts";
import type { Dice } from "./dice.ts";
import { type EdmType, edmTypes, type Key, type Step } from "./request.ts";
import {
  commonHeaders,
  entityBody,
  entityPath,
  type Header,
  makeStep,
  type Named,
  propertyName,
} from "./steps.ts";
import { badValue, earlyDate, goodValue, largeValue, oddValue } from "./values.ts";
import type { Place, World } from "./world.ts";

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

// ---- Bodies -----------------------------------------------------------------------------------------------------------

export function someMembers(dice: Dice, first: EdmType): Named[] {
  const types = [first, ...dice.shuffle(edmTypes).slice(0, dice.below(5))];
  return [...new Set(types)].map((type) => ({
    name: propertyName(type, 1 + dice.below(2)),
    ...goodValue(dice, type),
  }));
}

const typesOf = (members: readonly Named[]): EdmType[] =>
  edmTypes.filter((type) =>
    members.some(({ name }) => name.toLowerCase().includes(type.toLowerCase())),
  );

// ---- Requests ---------------------------------------------------------------------------------------------------------

interface Writing extends Place {
  write: Write;
  members?: readonly Named[];
  body?: string; // instead of members
  ifMatch?: string;
  contentType?: string;
  headers?: readonly Header[];
  about?: readonly string[];
}

const jsonTypes = ["application/json", "application/json;odata=nometadata"];

function methodOf(dice: Dice, write: Write): { method: string; headers: Header[] } {
  const verbs =
    write === "insert" ? ["POST"] : write.endsWith("merge") ? ["MERGE", "PATCH"] : ["PUT"];
  const verb = dice.pick(verbs);
  if (verb === "POST" || !dice.oneIn(12)) return { method: verb, headers: [] };
  return { method: "POST", headers: [["X-HTTP-Method", verb]] };
}

function preference(dice: Dice): Header[] {
  return dice.oneIn(2) ? [] : [["Prefer", dice.pick(["return-content", "return-no-content"])]];
}

export function writeStep(dice: Dice, writing: Writing): Step {
  const { write, table, key, members = [], ifMatch, about = [] } = writing;
  const { method, headers } = methodOf(dice, write);
  const insert = write === "insert";
  const keys: Partial<Key> = insert || dice.oneIn(2) ? key : {};
  const body = writing.body ?? entityBody(dice, keys, members);
  const conditions: Header[] = ifMatch === undefined ? [] : [["If-Match", ifMatch]];
  return makeStep({
    operation: write,
    types: typesOf(members),
    method,
    target: insert ? `/${table}${dice.pick(["", "()"])}` : entityPath(table, key),
    headers: [
      ...commonHeaders(dice),
      ["Content-Type", writing.contentType ?? dice.pick(jsonTypes)],
      ...(insert ? preference(dice) : []),
      ...headers,
      ...conditions,
      ...(writing.headers ?? []),
    ],
    body,
    table,
    entities: [insert ? keyIn(body, key) : key],
    writes: true,
    about: new Set(
      method === "POST" && write.endsWith("replace") ? [...about, "tunnelled PUT"] : about,
    ),
  });
}

// The key that a body names.
function keyIn(body: string, otherwise: Key): Key {
  try {
    const { PartitionKey: pk, RowKey: rk } = JSON.parse(body);
    return typeof pk === "string" && typeof rk === "string" ? { pk, rk } : otherwise;
  } catch {
    return otherwise;
  }
}

// Where a write of this kind succeeds.
function fitting(world: World, dice: Dice, write: Write): Place | undefined {
  const fresh = write === "insert" || (!conditional(write) && dice.oneIn(2));
  return fresh ? world.absent(dice) : world.existing(dice);
}

function condition(dice: Dice, write: Write): { ifMatch?: string } {
  return conditional(write) ? { ifMatch: dice.pick(["*", "{{etag 0}}"]) } : {};
}

// ---- Claims -----------------------------------------------------------------------------------------------------------

type Writer = (world: World, dice: Dice, place: Place) => Partial<Writing>;

function claim(
  write: Write,
  type: EdmType | "-",
  code: string,
  parts: Writer,
  where: (world: World, dice: Dice) => Place | undefined = (world, dice) =>
    fitting(world, dice, write),
): Claim {
  const make = (world: World, dice: Dice) => {
    const place = where(world, dice);
    if (place === undefined) return undefined;
    return writeStep(dice, {
      write,
      ...place,
      ...condition(dice, write),
      ...parts(world, dice, place),
    });
  };
  return { operation: write, type, code, make };
}

const withMember = (type: EdmType, kind: string, member: (dice: Dice) => Named): Writer => {
  return (_world, dice) => ({ members: [member(dice)], about: [`${kind} ${type}`] });
};

function valueClaims(write: Write, type: EdmType): Claim[] {
  const name = propertyName(type, 1);
  const bad = withMember(type, "bad value of", (dice) => ({ name, ...badValue(dice, type) }));
  const odd = withMember(type, "odd", (dice) => ({ name: `odd${type}`, ...oddValue(dice, type) }));
  const claims = [
    claim(write, type, "ok", (_, dice) => ({ members: someMembers(dice, type) })),
    claim(write, type, "ok", (_, dice) => ({ members: someMembers(dice, type) })),
    claim(write, type, "ok", odd),
    claim(write, type, "InvalidInput", bad),
  ];
  if (type === "DateTime") {
    const early = withMember(type, "early", () => ({ name, ...earlyDate() }));
    claims.push(claim(write, type, "OutOfRangeInput", early));
  }
  if (type === "String" || type === "Binary") {
    const large = withMember(type, "large", () => ({ name, ...largeValue(type) }));
    claims.push(claim(write, type, "PropertyValueTooLarge", large));
  }
  return claims;
}

// A sound request that meets a state in which it fails.
function stateClaims(write: Write, type: EdmType): Claim[] {
  const members: Writer = (_, dice) => ({ members: someMembers(dice, type) });
  const missing = (world: World, dice: Dice) => {
    const place = world.absent(dice);
    return place && { ...place, table: noTable };
  };
  const claims = [
    claim(
      write,
      type,
      "TableNotFound",
      (w, d, p) => ({ ...members(w, d, p), ...(conditional(write) ? { ifMatch: "*" } : {}) }),
      missing,
    ),
  ];
  if (write === "insert") {
    claims.push(
      claim(write, type, "EntityAlreadyExists", members, (world, dice) => world.existing(dice)),
    );
  }
  if (conditional(write)) {
    const stale: Writer = (w, d, p) => ({ ...members(w, d, p), ifMatch: staleEtag });
    const either: Writer = (w, d, p) => ({
      ...members(w, d, p),
      ifMatch: d.pick(["*", staleEtag]),
    });
    claims.push(
      claim(write, type, "UpdateConditionNotSatisfied", stale, (world, dice) =>
        world.existing(dice),
      ),
      claim(write, type, "ResourceNotFound", either, (world, dice) => world.absent(dice)),
    );
  }
  return claims;
}

export const malformedEtags = ['"abc"', "W/abc", "abc", `W/"a", W/"b"`];

function bodyClaims(write: Write): Claim[] {
  const raw = (code: string, about: string, body: (key: Key, dice: Dice) => string) =>
    claim(write, "-", code, (_, dice, { key }) => ({ body: body(key, dice), about: [about] }));
  const keyed = ({ pk, rk }: Key, rest: string) =>
    `{"PartitionKey":${JSON.stringify(pk)},"RowKey":${JSON.stringify(rk)}${rest}}`;
  const many = (n: number, value: string) =>
    Array.from({ length: n }, (_, i) => `,"n${i}":${value}`).join("");
  return [
    raw("InvalidInput", "no JSON", (_, dice) => dice.pick(["{", "nonsense", "[1]", '"text"', ""])),
    raw("InvalidInput", "unknown type", (key) => keyed(key, ',"a@odata.type":"Edm.Byte","a":1')),
    raw("DuplicatePropertiesSpecified", "duplicate", (key) => keyed(key, ',"a":1,"a":2')),
    raw("PropertyNameInvalid", "bad property name", (key, dice) =>
      keyed(key, `,${JSON.stringify(dice.pick(["a-b", "1a", "a b", ""]))}:1`),
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

function insertClaims(): Claim[] {
  const bodied = (code: string, about: string, body: (dice: Dice) => string) =>
    claim("insert", "-", code, (_, dice) => ({ body: body(dice), about: [about] }));
  return [
    bodied("PropertiesNeedValue", "missing key", (dice) =>
      dice.pick([
        '{"PartitionKey":"p"}',
        '{"RowKey":"r","int321":1}',
        "{}",
        '{"PartitionKey":null,"RowKey":"r"}',
      ]),
    ),
    bodied("OutOfRangeInput", "bad key", (dice) =>
      JSON.stringify({
        PartitionKey: dice.pick(["a/b", "a\\b", "a#b", "a?b", "a\tb", "\u0080"]),
        RowKey: "r",
      }),
    ),
    bodied("PropertyValueTooLarge", "long key", (dice) => {
      const long = "k".repeat(513);
      const key = dice.oneIn(2) ? [long, "r"] : ["p", long];
      return JSON.stringify({ PartitionKey: key[0], RowKey: key[1] });
    }),
    bodied("RequestBodyTooLarge", "large body", () => {
      const start = '{"PartitionKey":"p","RowKey":"r"}';
      return start.padEnd(4 * 1024 * 1024 + 1);
    }),
    bodied("PrimaryKeyPropertyIsInvalidType", "typed key", () => '{"PartitionKey":5,"RowKey":"r"}'),
  ];
}

// What headers alone get refused.
function headerClaims(write: Write): Claim[] {
  const claims = [
    claim(write, "-", "AtomFormatNotSupported", (_, dice) => ({
      members: someMembers(dice, "Int32"),
      contentType: "application/atom+xml",
      about: ["atom body"],
    })),
  ];
  if (conditional(write)) {
    claims.push(
      claim(write, "-", "InvalidInput", (_, dice) => ({
        ifMatch: dice.pick(malformedEtags),
        about: ["malformed etag"],
      })),
    );
  }
  if (write.endsWith("replace")) {
    claims.push(
      claim(write, "-", "InvalidInput", () => ({
        headers: [["If-None-Match", "*"]],
        about: ["if-none-match"],
      })),
    );
  }
  return claims;
}

export const writeClaims: readonly Claim[] = [
  ...writes.flatMap((write) => [
    ...edmTypes.flatMap((type) => [...valueClaims(write, type), ...stateClaims(write, type)]),
    ...bodyClaims(write),
    ...headerClaims(write),
  ]),
  ...insertClaims(),
];
