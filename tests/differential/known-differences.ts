// The differences to Azurite that are allowed. "row n" is a row of the table in README.md. A
// difference without a row names the section of core/rest/SERVICE.md with the service's rule, and
// says why Azurite differs. Any other difference fails the test. In a complete run, each of these
// differences must occur.

import { isErrorMessageOf } from "./error-messages.ts";
import { outcomeDifferences } from "./known-outcome-differences.ts";
import type { Difference, NormalisedResponse, Step } from "./request.ts";
import { requestedVersion } from "./response-rules.ts";

export type Listed = `row ${number}: ${string}`;
export type Unlisted = `SERVICE.md §${number}${string}: ${string}`;

export type KnownDifference = {
  allows(
    difference: Difference,
    step: Step,
    ours: NormalisedResponse,
    theirs: NormalisedResponse,
  ): boolean;
} & ({ reason: Listed } | { reason: Unlisted; unlisted: string });

const isGroup = ({ operation }: Step) => operation === "batch" || operation === "batch by SAS";
const textOf = (value: unknown) => (typeof value === "string" ? value : "");
const last = (path: string) => path.slice(path.lastIndexOf(".") + 1);

// ---- Headers ------------------------------------------------------------------------------------

const header = (name: string) => (path: string) => path.endsWith(`headers.${name}`);
const isVersion = header("x-ms-version");
const isNosniff = header("x-content-type-options");
const isType = header("content-type");
const isPreference = header("preference-applied");

const headerDifferences: readonly KnownDifference[] = [
  {
    reason: "row 4: x-ms-version is a constant, or absent",
    allows: ({ path, ours }, step) => isVersion(path) && ours === requestedVersion(step),
  },
  {
    reason: "SERVICE.md §2.5: no X-Content-Type-Options",
    unlisted: "sends none; only browsers read it",
    allows: ({ path, ours, theirs }) =>
      isNosniff(path) && ours === "nosniff" && theirs === undefined,
  },
  {
    reason: "row 5: Content-Type without streaming and charset",
    allows: ({ path, ours, theirs }) =>
      isType(path) && ours === `${theirs};streaming=true;charset=utf-8`,
  },
  {
    reason: "SERVICE.md §6.2: in a batch always minimal metadata, or no Content-Type",
    unlisted: "writes the headers of parts itself, regardless of what the part requests",
    allows: ({ path, ours, theirs }) =>
      path.startsWith("parts.") &&
      isType(path) &&
      /^application\/json;odata=\w+;streaming=true;charset=utf-8$/.test(textOf(ours)) &&
      (theirs === undefined || theirs === "application/json;odata=minimalmetadata;charset=utf-8"),
  },
  {
    reason: "row 3: no Location or DataServiceId",
    allows: ({ path, ours, theirs }, step) =>
      (header("location")(path) || header("dataserviceid")(path)) &&
      textOf(ours).startsWith("<base>/") &&
      theirs === undefined &&
      !isGroup(step),
  },
  {
    reason:
      "SERVICE.md §6.2: in a batch, DataServiceId regardless of Prefer, and Location with a truncated, unencoded URL",
    unlisted: "extracts the table's name from the URL with a pattern that loses characters",
    allows: ({ path, ours, theirs }, step) =>
      isGroup(step) &&
      ((header("dataserviceid")(path) && (ours === undefined || cutName(ours, theirs))) ||
        (header("location")(path) && cutName(ours, theirs))),
  },
  {
    reason: "SERVICE.md §2.5: x-ms-client-request-id not always echoed",
    unlisted: "only some of its handlers copy the header",
    allows: ({ path, ours, theirs }, { headers }) =>
      header("x-ms-client-request-id")(path) &&
      theirs === undefined &&
      headers.some(([name, value]) => name === "x-ms-client-request-id" && value === ours),
  },
  {
    reason: "row 11: a continuation after an empty list",
    allows: ({ path, ours, theirs }, { tags }) =>
      tags.has("top 0") &&
      path.startsWith("headers.x-ms-continuation-") &&
      ours === undefined &&
      theirs === "<token>",
  },
  {
    reason: "SERVICE.md §2.5: Content-Type without a body",
    unlisted: "sends the requested format even if there is no body",
    allows: ({ path, ours }, _step, { status }) =>
      isType(path) && ours === undefined && status === 204,
  },
  {
    reason: "row 3: Preference-Applied without Prefer, and none with an error",
    allows: ({ path, ours, theirs }, { headers }, { status, parts }) => {
      const isRequested = headers.some(([name]) => name === "Prefer") || parts !== undefined;
      const failed = status >= 400 || parts !== undefined;
      return (
        isPreference(path) && (isRequested ? failed && theirs === undefined : ours === undefined)
      );
    },
  },
];

// Returns whether both texts name the same entity. Azurite's may lack the last character of the
// table's name, and the encoding of keys.
function cutName(ours: unknown, theirs: unknown): boolean {
  const [a, b] = [textOf(ours), textOf(theirs).replaceAll("'", "")];
  const forms = [a, decodeURIComponent(a)].map((text) => text.replaceAll("'", ""));
  return forms.some((form) => form === b || form.replace(/.(?=\(PartitionKey=)/, "") === b);
}

// ---- Bodies -------------------------------------------------------------------------------------

const numberOf = (value: unknown): [string, number] => {
  const [kind = "", text] = textOf((value as { number?: string } | undefined)?.number).split(" ");
  return [kind, Number(text)];
};

function sameInstant(ours: unknown, theirs: unknown): boolean {
  const [a, b] = [textOf(ours), textOf(theirs)];
  if (!/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(a)) return false;
  const zoned = /T.*(?:Z|[+-]\d\d:\d\d)$/.test(b) || !b.includes("T") ? b : `${b}Z`;
  return Date.parse(a) === Date.parse(zoned);
}

const isEntity = (value: unknown) =>
  typeof value === "object" && value !== null && "PartitionKey" in value && "RowKey" in value;

// Returns the URL's part after the account, without quotes.
const lastSegments = (url: string) =>
  url.replace(/^(?:<base>|http:\/\/undefined\/devstoreaccount1)\//, "").replaceAll("'", "");

const inBody = (path: string) => path.startsWith("body.") || /^parts\.\d+\.body(?:\.|$)/.test(path);
const inEntity = (path: string) => path.startsWith("body.") || /^parts\.\d+\.body\./.test(path);

const bodyDifferences: readonly KnownDifference[] = [
  {
    reason: "row 1: odata.metadata of lists and of entities with an empty PartitionKey",
    allows: ({ path, theirs }) =>
      path.endsWith("odata.metadata") && theirs === "<base>/$metadata#Tables/@Element",
  },
  {
    reason: "row 1: odata.metadata without the selection",
    allows: ({ path, ours, theirs }) =>
      path.endsWith("odata.metadata") && textOf(ours).startsWith(`${theirs}&$select=`),
  },
  {
    reason: "row 1: an entity with an empty PartitionKey is described as a table",
    allows: ({ path, ours, theirs }) =>
      (/\.odata\.(?:id|editLink)$/.test(path) &&
        textOf(ours).includes("(PartitionKey='',") &&
        /Tables\('\w+'\)$/.test(textOf(theirs))) ||
      (path.endsWith(".odata.type") && /\.Tables$/.test(textOf(theirs))),
  },
  {
    reason: "SERVICE.md §2.4: keys in odata.id and odata.editLink are not encoded",
    unlisted: "inserts keys into the URL without encoding them",
    allows: ({ path, ours, theirs }) =>
      /\.odata\.(?:id|editLink)$/.test(path) &&
      decodeURIComponent(textOf(ours)).replaceAll("'", "") === textOf(theirs).replaceAll("'", ""),
  },
  {
    reason: "SERVICE.md §6.2: the response to an insert in a batch lacks the entity",
    unlisted: "writes 201 without a body, and ignores Prefer",
    allows: ({ path, ours, theirs }, step) =>
      isGroup(step) && /^parts\.\d+\.body$/.test(path) && isEntity(ours) && theirs === undefined,
  },
  {
    reason: "SERVICE.md §6.2: URLs in the response to a query in a batch lack the host",
    unlisted: "reads Host from the part, but only the batch has this header",
    allows: ({ path, ours, theirs }, { operation }) =>
      operation.startsWith("batch query") &&
      /\.odata\.(?:metadata|id)$/.test(path) &&
      textOf(theirs).startsWith("http://undefined/") &&
      lastSegments(decodeURIComponent(textOf(ours))) === lastSegments(textOf(theirs)),
  },
  {
    reason: "row 7: an integral Double is returned as Int32",
    allows: ({ path, ours, theirs }) => {
      const [kind, value] = numberOf(ours);
      const [otherKind, otherValue] = numberOf(theirs);
      return inEntity(path) && kind === "double" && otherKind === "int" && value === otherValue;
    },
  },
  {
    reason: "row 9: DateTime is returned as sent",
    allows: ({ path, ours, theirs }) => inEntity(path) && sameInstant(ours, theirs),
  },
  {
    reason: "row 9: Guid is returned as sent",
    allows: ({ path, ours, theirs }) =>
      inEntity(path) && textOf(theirs) !== "" && textOf(theirs).toLowerCase() === ours,
  },
  {
    reason: "row 10: a selected property that is absent is omitted",
    allows: ({ path, ours, theirs }, { tags }) =>
      tags.has("select") && inEntity(path) && ours === null && theirs === undefined,
  },
  {
    reason: "row 19: error XML in another form, or JSON instead of XML",
    allows: ({ path, ours, theirs }, _step, { status }) => {
      if (status < 400) return false;
      if (last(path) === "root") return ours === "m:error" || ours === undefined;
      if (last(path) === "lang") return ours === undefined || theirs === undefined;
      return isType(path) && (ours === "application/xml" || theirs === "application/xml");
    },
  },
  {
    reason: "SERVICE.md §9.3: another text for the same error",
    unlisted: "has its own texts; clients read codes, and response-rules.ts checks our texts",
    allows: ({ path, ours }, _step, { code }) =>
      path.endsWith("body.message") && isErrorMessageOf(code, textOf(ours)),
  },
];

// ---- Rows ---------------------------------------------------------------------------------------

const rowsOf = (tag: string): KnownDifference["allows"] => {
  return ({ path }, step) => step.tags.has(tag) && inBody(path);
};

const rowDifferences: readonly KnownDifference[] = [
  {
    reason: "SERVICE.md §2.1: links in responses of the secondary point to the primary",
    unlisted: "builds links from Host and account only",
    allows: ({ path, ours, theirs }, { tags }) =>
      tags.has("secondary read") &&
      inBody(path) &&
      textOf(ours).replace("<base>-secondary", "<base>") === theirs,
  },
  { reason: "row 13: Guid and Binary are compared as base64", allows: rowsOf("order of base64") },
  {
    reason: "row 13: values of different types are compared as text or not at all",
    allows: rowsOf("mixed filter"),
  },
  {
    reason: "row 13: exponents, suffixes and special numbers are read as names",
    allows: rowsOf("other literal"),
  },
  {
    reason: "row 2: a request for one table is treated as a query of its entities",
    allows: rowsOf("one table"),
  },
  { reason: "row 11: $top=0 of tables returns all tables", allows: rowsOf("top 0") },
  {
    reason: "SERVICE.md §4.4: a blank $select selects nothing, and * a property of that name",
    unlisted: "does not support *, and splits an empty text into one empty name",
    allows: rowsOf("select all"),
  },
];

export const knownDifferences: readonly KnownDifference[] = [
  ...headerDifferences,
  ...rowDifferences,
  ...bodyDifferences,
  ...outcomeDifferences,
];
