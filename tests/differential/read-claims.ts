// Reads and deletions of single entities.

import type { Claim } from "./claims.ts";
import type { Dice } from "./dice.ts";
import { edmTypes } from "./request.ts";
import {
  commonHeaders,
  entityPath,
  type Header,
  inQuery,
  levels,
  makeStep,
  propertyName,
} from "./steps.ts";
import type { Place, World } from "./world.ts";
import { malformedEtags, noTable, staleEtag } from "./write-claims.ts";

const existing = (world: World, dice: Dice) => world.existing(dice);
const absent = (world: World, dice: Dice) => world.absent(dice);
const tableless = (world: World, dice: Dice) => {
  const place = world.absent(dice);
  return place && { ...place, table: noTable };
};

function getClaim(
  code: string,
  where: (world: World, dice: Dice) => Place | undefined,
  query: (dice: Dice) => string,
  about: readonly string[] = [],
): Claim {
  const make = (world: World, dice: Dice) => {
    const place = where(world, dice);
    if (place === undefined) return undefined;
    return makeStep({
      operation: "get",
      method: "GET",
      target: entityPath(place.table, place.key) + query(dice),
      headers: commonHeaders(dice),
      table: place.table,
      entities: [place.key],
      about: new Set(about),
    });
  };
  return { operation: "get", type: "-", code, make };
}

// A key that no entity can have is one that is not there.
function longKeyed(world: World, dice: Dice): Place | undefined {
  const place = world.existing(dice);
  return place && { ...place, key: { pk: place.key.pk, rk: "k".repeat(513) } };
}

// Other ways to write the same address, and addresses with what no key may have.
function addressClaims(): Claim[] {
  const addressed = (
    code: string,
    about: string,
    rewrite: (path: string, dice: Dice) => string,
  ) => {
    const { make, ...rest } = getClaim(code, existing, () => "", [about]);
    const rewritten = (world: World, dice: Dice) => {
      const step = make(world, dice);
      return step && { ...step, target: rewrite(step.target, dice) };
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
    addressed("InvalidInput", "slash in address", (path, dice) =>
      inserted(dice.pick(["%2F", "%5C"]))(path),
    ),
    addressed("OutOfRangeInput", "control in address", (path, dice) =>
      inserted(dice.pick(["%23", "%3F", "%09", "%C2%80"]))(path),
    ),
  ];
}

// What clients accept besides the exact words.
function acceptClaims(): Claim[] {
  const accepting = (code: string, about: string, ...values: readonly (string | undefined)[]) => {
    const { make, ...rest } = getClaim(code, existing, () => "", [about]);
    const accepted = (world: World, dice: Dice) => {
      const step = make(world, dice);
      const value = dice.pick(values);
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

export function selection(dice: Dice): string {
  const names = ["PartitionKey", "RowKey", "Timestamp"];
  for (const type of edmTypes) names.push(propertyName(type, 1));
  return dice
    .shuffle(names)
    .slice(0, 1 + dice.below(4))
    .join(",");
}

function deleteClaim(
  code: string,
  where: (world: World, dice: Dice) => Place | undefined,
  headers: (dice: Dice) => Header[],
  about: readonly string[] = [],
): Claim {
  const make = (world: World, dice: Dice) => {
    const place = where(world, dice);
    if (place === undefined) return undefined;
    const tunnelled = dice.oneIn(8);
    return makeStep({
      operation: "delete",
      method: tunnelled ? "POST" : "DELETE",
      target: entityPath(place.table, place.key),
      headers: [
        ...commonHeaders(dice),
        ...headers(dice),
        ...(tunnelled ? ([["X-HTTP-Method", "DELETE"]] as const) : []),
      ],
      table: place.table,
      entities: [{ ...place.key, gone: true }],
      writes: true,
      about: new Set(about),
    });
  };
  return { operation: "delete", type: "-", code, make };
}

const ifMatch =
  (...values: readonly string[]) =>
  (dice: Dice): Header[] => [["If-Match", dice.pick(values)]];

export const readClaims: readonly Claim[] = [
  ...Array.from({ length: 20 }, () => getClaim("ok", existing, () => "")),
  ...Array.from({ length: 6 }, () =>
    getClaim("ok", existing, (dice) => `?$select=${inQuery(selection(dice))}`, ["select"]),
  ),
  getClaim("ok", existing, (dice) => `?$format=${inQuery(dice.pick(levels))}`),
  getClaim("ResourceNotFound", absent, () => ""),
  getClaim("ResourceNotFound", longKeyed, () => "", ["long key in address"]),
  ...addressClaims(),
  ...acceptClaims(),
  getClaim("TableNotFound", tableless, () => ""),
  ...Array.from({ length: 4 }, () => deleteClaim("ok", existing, ifMatch("*", "{{etag 0}}"))),
  deleteClaim("ResourceNotFound", absent, ifMatch("*", staleEtag)),
  deleteClaim("TableNotFound", tableless, ifMatch("*")),
  deleteClaim("UpdateConditionNotSatisfied", existing, ifMatch(staleEtag)),
  deleteClaim("InvalidInput", existing, ifMatch(...malformedEtags), ["malformed etag"]),
  deleteClaim("InvalidInput", existing, () => [], ["no if-match"]),
  deleteClaim(
    "InvalidInput",
    existing,
    () => [
      ["If-Match", "*"],
      ["If-None-Match", "*"],
    ],
    ["if-none-match"],
  ),
];
