// Reads and deletions of single entities.

import { edmTypes } from "./request.ts";
import type { Scenario } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";
import {
  commonHeaders,
  encodeQueryValue,
  entityPath,
  type Header,
  makeStep,
  metadataLevels,
  propertyName,
} from "./steps.ts";
import type { EntityAddress, StoreModel } from "./store-model.ts";
import { malformedEtags, noTable, staleEtag } from "./write-scenarios.ts";

const existing = (model: StoreModel, random: SeededRandom) => model.existing(random);
const absent = (model: StoreModel, random: SeededRandom) => model.absent(random);
const tableless = (model: StoreModel, random: SeededRandom) => {
  const address = model.absent(random);
  return address && { ...address, table: noTable };
};

function getScenario(
  code: string,
  where: (model: StoreModel, random: SeededRandom) => EntityAddress | undefined,
  query: (random: SeededRandom) => string,
  tags: readonly string[] = [],
): Scenario {
  const make = (model: StoreModel, random: SeededRandom) => {
    const address = where(model, random);
    if (address === undefined) return undefined;
    return makeStep({
      operation: "get",
      method: "GET",
      target: entityPath(address.table, address.key) + query(random),
      headers: commonHeaders(random),
      table: address.table,
      entities: [address.key],
      tags: new Set(tags),
    });
  };
  return { operation: "get", type: "-", code, make };
}

// Returns an address with a key that is too long, so that no entity can have it.
function longKeyed(model: StoreModel, random: SeededRandom): EntityAddress | undefined {
  const address = model.existing(random);
  return address && { ...address, key: { pk: address.key.pk, rk: "k".repeat(513) } };
}

// Other spellings of an entity's address, and addresses with characters that keys cannot have.
function addressScenarios(): Scenario[] {
  const addressed = (
    code: string,
    tags: string,
    rewrite: (path: string, random: SeededRandom) => string,
  ) => {
    const { make, ...rest } = getScenario(code, existing, () => "", [tags]);
    const rewritten = (model: StoreModel, random: SeededRandom) => {
      const step = make(model, random);
      return step && { ...step, target: rewrite(step.target, random) };
    };
    return { ...rest, make: rewritten };
  };
  const inserted = (text: string) => (path: string) => path.replace(/'\)$/, `${text}')`);
  return [
    addressed("ok", "encoded quotes", (path) => path.replaceAll("'", "%27")),
    addressed("ok", "encoded brackets", (path) => path.replace("(", "%28").replace(/\)$/, "%29")),
    addressed("ok", "other order", (path) =>
      path.replace(/\((PartitionKey='.*'),(RowKey='.*')\)$/, "($2,$1)"),
    ),
    addressed("InvalidInput", "slash in address", (path, random) =>
      inserted(random.pick(["%2F", "%5C"]))(path),
    ),
    addressed("OutOfRangeInput", "control in address", (path, random) =>
      inserted(random.pick(["%23", "%3F", "%09", "%C2%80"]))(path),
    ),
  ];
}

// Other values of Accept that the service accepts.
function acceptScenarios(): Scenario[] {
  const accepting = (code: string, tags: string, ...values: readonly (string | undefined)[]) => {
    const { make, ...rest } = getScenario(code, existing, () => "", [tags]);
    const accepted = (model: StoreModel, random: SeededRandom) => {
      const step = make(model, random);
      const value = random.pick(values);
      const headers = (step?.headers ?? []).filter(([name]) => name !== "Accept");
      return (
        step && {
          ...step,
          headers: value === undefined ? headers : [...headers, ["Accept", value] as const],
        }
      );
    };
    return { ...rest, make: accepted };
  };
  const json = "application/json";
  return [
    accepting("ok", "accept anything", undefined, "*/*"),
    accepting("ok", "accept blanks", `${json}; odata=nometadata`, `${json} ; odata=fullmetadata`),
    accepting("ok", "accept list", `text/html, ${json};odata=nometadata`, `${json};q=0.9`),
    accepting("AtomFormatNotSupported", "accept other", "application/atom+xml"),
    accepting("MediaTypeNotSupported", "accept other", "text/html", "image/png"),
    accepting("JsonVerboseFormatNotSupported", "accept other", `${json};odata=verbose`),
  ];
}

export function selection(random: SeededRandom): string {
  const names = ["PartitionKey", "RowKey", "Timestamp"];
  for (const type of edmTypes) names.push(propertyName(type, 1));
  return random
    .shuffle(names)
    .slice(0, 1 + random.below(4))
    .join(",");
}

function deleteScenario(
  code: string,
  where: (model: StoreModel, random: SeededRandom) => EntityAddress | undefined,
  headers: (random: SeededRandom) => Header[],
  tags: readonly string[] = [],
): Scenario {
  const make = (model: StoreModel, random: SeededRandom) => {
    const address = where(model, random);
    if (address === undefined) return undefined;
    const tunnelled = random.oneIn(8);
    return makeStep({
      operation: "delete",
      method: tunnelled ? "POST" : "DELETE",
      target: entityPath(address.table, address.key),
      headers: [
        ...commonHeaders(random),
        ...headers(random),
        ...(tunnelled ? ([["X-HTTP-Method", "DELETE"]] as const) : []),
      ],
      table: address.table,
      entities: [{ ...address.key, isDeleted: true }],
      writes: true,
      tags: new Set(tags),
    });
  };
  return { operation: "delete", type: "-", code, make };
}

const ifMatch =
  (...values: readonly string[]) =>
  (random: SeededRandom): Header[] => [["If-Match", random.pick(values)]];

export const readScenarios: readonly Scenario[] = [
  ...Array.from({ length: 20 }, () => getScenario("ok", existing, () => "")),
  ...Array.from({ length: 6 }, () =>
    getScenario("ok", existing, (random) => `?$select=${encodeQueryValue(selection(random))}`, [
      "select",
    ]),
  ),
  getScenario(
    "ok",
    existing,
    (random) => `?$format=${encodeQueryValue(random.pick(metadataLevels))}`,
  ),
  getScenario("ResourceNotFound", absent, () => ""),
  getScenario("ResourceNotFound", longKeyed, () => "", ["long key in address"]),
  ...addressScenarios(),
  ...acceptScenarios(),
  getScenario("TableNotFound", tableless, () => ""),
  ...Array.from({ length: 4 }, () => deleteScenario("ok", existing, ifMatch("*", "{{etag 0}}"))),
  deleteScenario("ResourceNotFound", absent, ifMatch("*", staleEtag)),
  deleteScenario("TableNotFound", tableless, ifMatch("*")),
  deleteScenario("UpdateConditionNotSatisfied", existing, ifMatch(staleEtag)),
  deleteScenario("InvalidInput", existing, ifMatch(...malformedEtags), ["malformed etag"]),
  deleteScenario("InvalidInput", existing, () => [], ["no if-match"]),
  deleteScenario(
    "InvalidInput",
    existing,
    () => [
      ["If-Match", "*"],
      ["If-None-Match", "*"],
    ],
    ["if-none-match"],
  ),
];
