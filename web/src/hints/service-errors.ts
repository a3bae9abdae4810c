// The hints for errors of the service: one for each code of core/model/service_error.cc. A hint
// names the part of the request that is wrong, and says what to do instead.

import {
  forbiddenCharacterOf,
  invalidNameIn,
  invalidValueIn,
  keyUnitsMax,
  largestPropertyOf,
  longestNameOf,
  otherSpellingOf,
  propertiesOf,
  tooLargeValueIn,
} from "./entity-rules.ts";
import type { FailedOperation, FailedRequest, FailedResponse } from "./failed-request.ts";
import {
  invalidFilterHint,
  invalidLiteralHint,
  literalHint,
  syntaxErrorHint,
  unsupportedFilterHint,
} from "./filter-errors.ts";
import {
  bytesOfLongRowKey,
  isWithinService,
  reservedNameIn,
  rowKeyBytesMax,
} from "./remote-limits.ts";
import { quoted, shortened, visibleCharacter } from "./text.ts";

// What a hint is made of.
interface Failure {
  readonly message: string;
  readonly request: FailedRequest;
  readonly operation: FailedOperation | undefined; // the one that failed
  readonly entity: object;
}

/** Adds the hint to an error of the service that has none. Returns whether it has been added. */
export function addHint(
  error: { code?: string; message: string; hint?: string },
  request: FailedRequest,
): boolean {
  const { code, message, hint } = error;
  if (code === undefined || hint !== undefined) return false;
  const found = serviceErrorHint({ code, message }, request);
  if (found === undefined) return false;
  error.hint = found;
  return true;
}

/** Returns the hint; undefined for a code that the service does not have. Never throws. */
export function serviceErrorHint(
  { code, message }: FailedResponse,
  request: FailedRequest,
): string | undefined {
  const hint = Object.hasOwn(hints, code) ? hints[code] : undefined;
  if (typeof hint !== "function") return hint;
  const [, index] = /^(\d+):/.exec(message) ?? [];
  const operation = request.operations?.[Number(index ?? 0)];
  const text = message.replace(/^\d+:/, "");
  try {
    return hint({ message: text, request, operation, entity: operation?.entity ?? {} });
  } catch {
    return general; // an entity whose getters throw
  }
}

const general = "Compare the request with the limits of the service.";
const retry = "Repeat the call after a while.";
const checkSignature = "Check the account's name and key, and this machine's clock.";
const checkSas = "Use a shared access signature that permits this.";
const checkHeaders = "Correct the request's headers, or use an official client.";
const checkUrl = "Correct the request's URL, or use an official client.";
const checkXml = "Send the document in the form that the service documents.";
const readAgain =
  "The entity has changed since this ETag was read. Read it again, repeat the change, and write " +
  "with the new ETag.";

const hints: Readonly<Record<string, string | ((failure: Failure) => string)>> = {
  // Malformed requests
  InvalidInput: invalidInput,
  OutOfRangeInput: outOfRange,
  NotImplemented: ({ request }) =>
    request.filter === undefined ? checkUrl : unsupportedFilterHint(request.filter),
  RequestBodyTooLarge: ({ request }) =>
    isWithinService(request)
      ? `${syncedWithCosmos(request)}, whose transactions have at most 2 MB, including headers. Write fewer entities at once; bulk() does so.`
      : "A request has at most 4 MiB. Write fewer entities at once; bulk() does so.",
  ContentLengthExceeded: "A request has at most 4 MiB. Write fewer entities at once.",
  DuplicatePropertiesSpecified: duplicateProperty,
  DuplicateKeyPropertySpecified: duplicateProperty,
  PropertiesNeedValue: missingKey,
  PropertyNameInvalid: invalidName,
  PropertyNameTooLong: ({ entity }) => {
    const name = longestNameOf(entity);
    return `The property name ${quoted(name)} has ${name.length} characters; at most 255 are possible.`;
  },
  PropertyValueTooLarge: tooLarge,
  KeyValueTooLarge: tooLarge,
  TooManyProperties: ({ entity }) =>
    `The entity would have more than 252 properties; this write has ${propertiesOf(entity).length}. Use several entities, or store several values as one JSON string.`,
  EntityTooLarge: ({ entity }) => {
    const largest = largestPropertyOf(entity);
    const what = largest === undefined ? "" : ` Its largest property is ${shortened(largest)}.`;
    return `An entity has at most 1 MiB.${what} entitable/large-values stores larger values.`;
  },
  InvalidResourceName: ({ request: { table = "" } }) => {
    const bad = /^[^A-Za-z]/.exec(table)?.[0];
    const [other = ""] = /[^A-Za-z0-9]/.exec(table) ?? [];
    const what = bad === undefined ? `contains ${visible(other)}` : `begins with ${visible(bad)}`;
    return `The table name ${quoted(table)} ${what}. A name begins with a letter, and has only the letters A to Z and digits.`;
  },
  PrimaryKeyPropertyIsInvalidType: ({ operation }) => {
    const keys = operation === undefined ? [] : keysOf(operation);
    const [name, key] = keys.find(([, key]) => typeof key !== "string") ?? [];
    const what = name === undefined ? "" : `The ${name} is ${quoted(key)} of type ${typeof key}. `;
    return `${what}Keys are strings. paddedNumber() and timeKey() of entitable/keys make keys that sort as numbers and times do.`;
  },
  InvalidValueType: ({ entity }) => invalidValueIn(entity) ?? general,
  // State
  TableNotFound: ({ request }) =>
    `The table ${nameOf(request)} does not exist in this store. Create it with createTable().`,
  TableAlreadyExists: ({ request }) =>
    `The table ${nameOf(request)} exists already; use it, or another name. Table names are not case-sensitive.`,
  TableBeingDeleted: `${retry} A table of this name can be created when the old one is deleted.`,
  TableHasPendingOperations:
    "Changes of the table are not sent to its remote table yet. Delete it when sync.now() has sent them.",
  ResourceNotFound: notFound,
  EntityNotFound: notFound,
  EntityAlreadyExists: ({ request, operation }) =>
    `The table ${nameOf(request)} already has an entity with ${keysText(operation)}. upsertEntity() writes it whether or not it exists.`,
  UpdateConditionNotSatisfied: readAgain,
  // Entity group transactions
  CommandsInBatchActOnDifferentPartitions: ({ request, operation }) => {
    const first = request.operations?.[0]?.partitionKey;
    const what = `${quoted(operation?.partitionKey)} instead of ${quoted(first)}`;
    const differs = operation === undefined ? "" : `An action has the partitionKey ${what}. `;
    return `${differs}A transaction writes to one partition. Use one for each, or bulk().`;
  },
  InvalidDuplicateRow: ({ operation }) =>
    `The entity with ${keysText(operation)} occurs twice. Put all its changes into one action.`,
  // HTTP
  InvalidUri: checkUrl,
  InvalidHttpVerb: "Use GET, POST, PUT, MERGE, PATCH or DELETE.",
  MethodNotAllowed: "Use a method that this resource supports.",
  XMethodIncorrectCount: "Send the header X-HTTP-Method once.",
  XMethodIncorrectValue: "Set X-HTTP-Method to MERGE, PATCH, PUT or DELETE.",
  XMethodNotUsingPost: "Use POST for a request with X-HTTP-Method.",
  MediaTypeNotSupported: "Use application/json for Accept and Content-Type.",
  AtomFormatNotSupported: "Use application/json for Accept and Content-Type.",
  JsonFormatNotSupported: "Use application/json for Accept and Content-Type.",
  JsonVerboseFormatNotSupported:
    "Use application/json;odata=nometadata, minimalmetadata or fullmetadata.",
  InvalidHeaderValue: checkHeaders,
  MissingRequiredHeader: checkHeaders,
  HostInformationNotPresent: "Send a Host header.",
  InvalidQueryParameterValue: checkUrl,
  OutOfRangeQueryParameterValue: checkUrl,
  InvalidXmlDocument: checkXml,
  InvalidXmlNodeValue: checkXml,
  MissingRequiredXmlNode: checkXml,
  UnsupportedXmlNode: checkXml,
  CorsPreflightFailure: "Allow this origin with a CORS rule of the service's properties.",
  AuthenticationFailed: notAuthenticated,
  InvalidAuthenticationInfo: "Send Authorization in the form: SharedKey <account>:<signature>.",
  AuthorizationFailure: `The signature does not permit this request. ${checkSas}`,
  AuthorizationPermissionMismatch: `The signature lacks the permission for this operation. ${checkSas}`,
  AuthorizationProtocolMismatch: "Use HTTPS, or a signature that allows HTTP.",
  AuthorizationSourceIPMismatch: "Use a signature that allows this client's address.",
  AuthorizationServiceMismatch: "Use a signature for the Table service (ss=t).",
  AuthorizationResourceTypeMismatch: "Use a signature for this type of resource (srt).",
  InsufficientAccountPermissions: "Write to the primary endpoint; the secondary one is read-only.",
  AccountIsDisabled: "Use another account.",
  // The store, and simulated errors
  InternalError: "Repeat the call, or open the store again; what was stored is safe.",
  OperationTimedOut: retry,
  ServerBusy: retry,
  OutOfMemory:
    "Read or write less at once, or use a smaller memoryLimit. Delete rows of a store in memory.",
  Corrupted: "Call verify() to see what is damaged, and restore a snapshot.",
  FormatTooNew: "Update the package.",
  ReadOnly: "Open the store without readOnly; status.damage says if it is damaged.",
};

// ---- InvalidInput, OutOfRangeInput ------------------------------------------------------------

function invalidInput({ message, request, entity, operation }: Failure): string {
  const { table, filter, continuationToken } = request;
  const [, position] = /^Syntax error at position (\d+) in '/.exec(message) ?? [];
  if (position !== undefined && filter !== undefined)
    return syntaxErrorHint(filter, Number(position));
  const [, type, literal] = /^Unrecognized '(Edm\.\w+)' literal '(.*)'/s.exec(message) ?? [];
  if (type !== undefined && literal !== undefined) return literalHint(type, literal);
  if (message.startsWith("The etag value"))
    return 'Pass the etag that a read or a write returned, unchanged, or "*".';
  if (message.includes("maximum 100 changes"))
    return `A transaction has at most 100 actions; this one has ${request.operations?.length}. Use several transactions, or bulk().`;
  const hint = pageSizeHint(request) ?? (table && filter && invalidLiteralHint(filter));
  if (hint) return hint;
  if (continuationToken) return "Pass a continuationToken of a page of the same list, unchanged.";
  if (filter !== undefined)
    return table === undefined ? "A filter of tables compares only TableName." : invalidFilterHint;
  if (table?.toLowerCase() === "tables") return 'No table has the name "Tables".';
  return invalidValueIn(entity) ?? forbiddenKeyHint(request, operation) ?? general;
}

function pageSizeHint({ maxPageSize, top }: FailedRequest): string | undefined {
  if (top !== undefined && !/^-?\d+$/.test(top))
    return `$top is ${quoted(top)}, which is not a whole number.`;
  const size = top === undefined ? maxPageSize : Number(top);
  if (size === undefined || (Number.isInteger(size) && size >= 0 && size <= 1000)) return undefined;
  const name = top === undefined ? "maxPageSize" : "$top (maxPageSize)";
  return `${name} is ${size}. A page has at most 1000 entities.`;
}

function outOfRange({ message, request, entity, operation }: Failure): string {
  const { table } = request;
  if (message.includes("resource name length") && table !== undefined)
    return `The table name ${quoted(table)} has ${table.length} characters; it must have 3 to 63.`;
  const forbidden = forbiddenKeyHint(request, operation);
  if (forbidden !== undefined) return forbidden;
  const [, property = ""] = /^The '([^']*)' parameter/.exec(message) ?? [];
  const { [property]: value } = entity as Record<string, unknown>;
  const what = property === "" ? "A date" : `The property ${property}`;
  const is =
    typeof value === "object" && value !== null && "toJSON" in value
      ? ` (${JSON.stringify(value)})`
      : "";
  return `${what}${is} is outside the years 1601 to 9999. Store such a date as a string.`;
}

// ---- AuthenticationFailed ---------------------------------------------------------------------

function notAuthenticated({ request: { unserved, misnamed } }: Failure): string {
  if (misnamed !== undefined)
    return `The store that is served as ${quoted(misnamed)} has another account's name. Open it with account: { name: ${quoted(misnamed)} }.`;
  if (unserved === undefined) return checkSignature;
  const { account, accounts } = unserved;
  const served =
    accounts.length === 0
      ? "which is not served"
      : `and the served account${accounts.length === 1 ? " is" : "s are"} ${accounts.map(quoted).join(", ")}`;
  return `The URL names the account ${quoted(account)}, ${served}. Change the client's URL, or open a store with account: { name: ${quoted(account)} }.`;
}

// ---- Keys -------------------------------------------------------------------------------------

type Keys = Pick<FailedRequest, "partitionKey" | "rowKey">;

function keysOf(keys: Keys | undefined): [name: string, key: unknown][] {
  return [
    ["partitionKey", keys?.partitionKey],
    ["rowKey", keys?.rowKey],
  ];
}

function keysText(keys: Keys | undefined): string {
  const texts = keysOf(keys).map(([name, key]) => `${name} ${quoted(key)}`);
  return keys?.rowKey === undefined ? "these keys" : texts.join(" and ");
}

function forbiddenKeyHint(request: FailedRequest, operation: FailedOperation | undefined) {
  for (const [name, key] of keysOf(operation ?? request)) {
    const bad = forbiddenCharacterOf(key);
    if (bad === undefined) continue;
    return `The ${name} ${quoted(key)} contains ${visible(bad)}. A key has no / \\ # ? and no control characters; escapeKey() of entitable/keys encodes any text as a key.`;
  }
  return undefined;
}

function missingKey({ request: { isHttp = false }, operation, entity }: Failure): string {
  if (isHttp && operation === undefined)
    return "Give the table's name as TableName in the request's body. It is a string.";
  const keys = operation === undefined ? [] : keysOf(operation);
  const [missing] = keys.find(([, key]) => key === undefined || key === null) ?? [];
  if (missing === undefined)
    return "Give the entity a partitionKey and a rowKey. Both are strings.";
  const wire = missing === "rowKey" ? "RowKey" : "PartitionKey";
  if (isHttp && Object.hasOwn(entity, missing))
    return `The body has ${quoted(missing)}, and no ${wire}. In a REST body, write ${wire}.`;
  const other = otherSpellingOf(missing, entity);
  const place = isHttp ? ` (in a REST body: ${wire})` : "";
  return other === undefined
    ? `The entity has no ${missing}${place}. Give it one; it is a string, and may be empty.`
    : `The entity has ${quoted(other)}, and no ${missing}. In an entity, write ${missing}${place}.`;
}

function duplicateProperty({ entity }: Failure): string {
  const name = Object.keys(entity).find((key) => key === "PartitionKey" || key === "RowKey");
  return name === undefined
    ? "Give each property once."
    : `The entity has ${name}. Write ${name === "RowKey" ? "rowKey" : "partitionKey"} in its place, the client's name of this key.`;
}

function invalidName({ request, operation, entity }: Failure): string {
  const invalid = invalidNameIn(entity);
  const reserved = reservedNameIn(entity);
  if (invalid === undefined && reserved !== undefined)
    return `${syncedWithCosmos(request)}, which reserves the property name ${quoted(reserved)}. Use another name.`;
  if (invalid === undefined && /merge|patch/i.test(operation?.kind ?? ""))
    return `${syncedWithCosmos(request)}, which reserves the property names id, rid, etag and ResourceId. The stored entity with ${keysText(operation)} has one of them. Replace it by an entity without it.`;
  return `${invalid ?? "A property name is not valid."} A name begins with a letter or _, and has only letters, digits and _.`;
}

function tooLarge({ request, operation, entity }: Failure): string {
  for (const [name, key] of keysOf(operation ?? request)) {
    if (typeof key === "string" && key.length > keyUnitsMax)
      return `The ${name} has ${key.length} characters; at most ${keyUnitsMax} are possible. Use a hash, or part of the text.`;
  }
  const value = tooLargeValueIn(entity);
  const rowKeyBytes = bytesOfLongRowKey(operation?.rowKey);
  if (value === undefined && rowKeyBytes !== undefined)
    return `${syncedWithCosmos(request)}, whose row keys have at most ${rowKeyBytesMax} bytes; this rowKey has ${rowKeyBytes}. Use a hash, or part of the text.`;
  return `${value ?? "A value has at most 64 KiB."} entitable/large-values stores larger values.`;
}

function notFound({ request, operation }: Failure): string {
  const keys = operation ?? request;
  if (keys.rowKey === undefined) return `The table ${nameOf(request)} does not exist.`;
  const what = `The table ${nameOf(request)} has no entity with ${keysText(keys)}.`;
  return operation === undefined
    ? `${what} Keys are case-sensitive.`
    : `${what} upsertEntity() writes an entity whether or not it exists.`;
}

// ---- Names ------------------------------------------------------------------------------------

/** The store and the service accept the write, so only its remote does not. */
const syncedWithCosmos = (request: FailedRequest): string =>
  `The table ${nameOf(request)} is synced with Cosmos DB`;

function nameOf({ table = "" }: FailedRequest): string {
  return quoted(table);
}

function visible(character: string): string {
  return character === "" ? "other characters" : visibleCharacter(character);
}
