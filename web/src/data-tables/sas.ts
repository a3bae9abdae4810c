// Generates shared access signatures. For the same input and clock, the result has the same bytes
// as that of the official functions. Works synchronously and without the WebAssembly module.

import { base64, fromBase64 } from "../edm/edm.ts";
import { hmacSha256 } from "../rest/hmac.ts";
import { isNamedKeyCredential } from "./credentials.ts";
import { serviceVersion } from "./service-responses.ts";
import type {
  AccountSasOptions,
  AccountSasPermissions,
  NamedKeyCredential,
  SasIPRange,
  TableSasPermissions,
  TableSasSignatureValues,
} from "./types.ts";

/**
 * Returns a shared access signature for the entities of one table: the query string of a URL,
 * without "?". Without `identifier` it allows queries for an hour by default.
 */
export function generateTableSas(
  tableName: string,
  credential: NamedKeyCredential,
  options: TableSasSignatureValues = {},
): string {
  requireKey(credential);
  let { permissions, expiresOn } = options;
  if (!options.identifier) {
    permissions ||= { query: true };
    if (expiresOn === undefined) expiresOn = inAnHour();
  }
  if (!tableName) throw new Error("Must provide a 'tableName'");
  const version = options.version ?? serviceVersion;
  const { startPartitionKey, startRowKey, endPartitionKey, endRowKey } = options;
  const allowed = flagLetters(tableLetters, permissions);
  const start = dateText(options.startsOn);
  const expiry = dateText(expiresOn);
  const ip = ipText(options.ipRange);
  const signature = sign(credential, [
    allowed,
    start,
    expiry,
    `/table/${credential.name}/${tableName.toLowerCase()}`,
    options.identifier,
    ip,
    options.protocol,
    version,
    startPartitionKey,
    startRowKey,
    endPartitionKey,
    endRowKey,
  ]);
  return toQueryString([
    ["sv", version],
    ["spr", options.protocol],
    ["st", start],
    ["se", expiry],
    ["sip", ip],
    ["si", options.identifier],
    ["sp", allowed],
    ["sig", signature],
    ["tn", tableName],
    ["srk", startRowKey],
    ["spk", startPartitionKey],
    ["epk", endPartitionKey],
    ["erk", endRowKey],
  ]);
}

/**
 * Returns a shared access signature for the account: the query string of a URL, without "?". By
 * default it allows querying entities and listing tables for an hour.
 */
export function generateAccountSas(
  credential: NamedKeyCredential,
  options: AccountSasOptions = {},
): string {
  requireKey(credential);
  const { permissions = { query: true, list: true }, services = { table: true } } = options;
  const version = options.version || serviceVersion;
  const allowed = flagLetters(accountLetters, permissions);
  const signedServices = flagLetters(serviceLetters, services);
  const types = resourceTypes(options.resourceTypes ?? "sco");
  const start = dateText(options.startsOn);
  const expiry = dateText(options.expiresOn ?? inAnHour());
  const ip = ipText(options.ipRange);
  const signature = sign(credential, [
    credential.name,
    allowed,
    signedServices,
    types,
    start,
    expiry,
    ip,
    options.protocol,
    version,
    "", // makes the signed text end with a newline
  ]);
  return toQueryString([
    ["sv", version],
    ["ss", signedServices],
    ["srt", types],
    ["spr", options.protocol],
    ["st", start],
    ["se", expiry],
    ["sip", ip],
    ["sp", allowed],
    ["sig", signature],
  ]);
}

// ---- Fields ----------------------------------------------------------------------------------

type Letters<T> = readonly (readonly [keyof T, string])[];

// In the order in which the letters are signed.
const tableLetters: Letters<TableSasPermissions> = [
  ["query", "r"],
  ["add", "a"],
  ["update", "u"],
  ["delete", "d"],
];
const accountLetters: Letters<AccountSasPermissions> = [
  ["query", "r"],
  ["write", "w"],
  ["delete", "d"],
  ["list", "l"],
  ["add", "a"],
  ["update", "u"],
];
const serviceLetters: Letters<NonNullable<AccountSasOptions["services"]>> = [
  ["blob", "b"],
  ["table", "t"],
  ["queue", "q"],
  ["file", "f"],
];

function flagLetters<T extends object>(of: Letters<T>, chosen: T | undefined): string {
  return of.map(([name, letter]) => (chosen?.[name] ? letter : "")).join("");
}

function resourceTypes(given: string): string {
  for (const letter of given) {
    if (!"sco".includes(letter)) throw new RangeError(`Invalid resource type: ${letter}`);
  }
  return [..."sco"].filter((letter) => given.includes(letter)).join("");
}

function dateText(date: Date | undefined): string {
  return date ? `${date.toISOString().slice(0, -5)}Z` : "";
}

function ipText(range: SasIPRange | undefined): string {
  if (!range) return "";
  return range.end ? `${range.start}-${range.end}` : range.start;
}

function inAnHour(): Date {
  return new Date(Date.now() + 3600 * 1000);
}

// ---- Signing ---------------------------------------------------------------------------------

function requireKey(credential: unknown): void {
  if (isNamedKeyCredential(credential)) return;
  throw new RangeError(
    "Can only generate the account SAS when the client is initialized with a shared key credential",
  );
}

function sign({ key }: NamedKeyCredential, lines: readonly (string | undefined)[]): string {
  const text = lines.map((line) => line ?? "").join("\n");
  return base64(hmacSha256(decodeKey(key), new TextEncoder().encode(text)));
}

// Decodes base64 as leniently as Node's Buffer, which the official functions use: invalid
// characters are skipped, and the URL alphabet is accepted.
function decodeKey(key: string): Uint8Array {
  const [before = ""] = key.split("=");
  const digits = before
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replace(/[^\w+/]|_/g, "");
  const whole = digits.length % 4 === 1 ? digits.slice(0, -1) : digits;
  return fromBase64(whole);
}

// Returns the fields as a URL's query string. Fields without a value are left out.
function toQueryString(fields: readonly (readonly [string, string | undefined])[]): string {
  return fields
    .flatMap(([name, value]) => (value ? `${name}=${encodeURIComponent(value)}` : []))
    .join("&");
}
