// Parses the command line and the environment into values. Opens nothing.

import { developmentKey, developmentName } from "../rest/development-account.ts";
import type { AccountOptions, Durability } from "../types.ts";
import type { NodeOptionConfig, NodeOptionToken, NodeUtil } from "../util/node.ts";
import {
  azuriteFlags,
  azuriteLetters,
  azuriteNames,
  azuriteValues,
  ignoredFlags,
  ignoredValues,
  otherServiceValues,
  otherServiceWarning,
} from "./azurite-options.ts";
import { type DoctorCommand, parseDoctorArguments } from "./doctor-arguments.ts";
import { limitDefaults, limitNames, limitRanges, type ServerLimits } from "./limits.ts";
import { type MockServerOptions, mockOptionNames, parseMockOptions } from "./mock-options.ts";
import { parseSyncArguments, type SyncCommand } from "./sync-arguments.ts";
import { UsageError } from "./usage-error.ts";

export const usage = `entitable serve [options]

Serves the Azure Table service's REST protocol on this machine.

  --port 10002            the port; 0 chooses a free one
  --host 127.0.0.1        the address to listen on
  --location .entitable   the data folder; it has a subfolder for each account
  --in-memory             store nothing on disk
  --seed-data FOLDER      start each account with the entities of <table>.json, .ndjson and .csv
  --seed N                repeatable responses: ids are generated from N (0 to 2^32 - 1), and the
                          clock is fixed at 2026-01-01T00:00:00Z
  --clock TIME            fix the clock at TIME; "system" uses the system's clock
  --faults FILE           inject the faults in FILE, a JSON array of the rules of entitable/testing
  --latency MS            delay responses: 20, or 20-80, or lognormal:20-200 (median and 99th
                          percentile), or cloud
  --throttle azure        answer 503 beyond the service's targets for partitions and accounts; or
                          your own targets in operations per second: 2000,20000
  --empty-pages P         end a page early, or leave it empty, with probability P, 0 to 1
  --scans azure           read like the service: a page ends at the end of its partition and may be
                          empty
                          The options from --seed-data to --scans imply --in-memory. Those from
                          --faults to --scans use the system's clock, unless --seed or --clock is
                          given.
  --feed                  offer each account's change feed as server-sent events, at
                          GET /<account>/_changes, to clients that may read its tables
  --auth development      check signatures; strict: also dates, versions and limits; off: no
                          authorization
  --durability strict     when a write is acknowledged: strict, relaxed or deferred
  --max-body-bytes 134217728
                          memory for the bodies of all pending requests; beyond it, a request gets
                          503 ServerBusy
  --max-response-bytes 268435456
                          memory for responses that clients have not read; beyond it, a request
                          gets 503 ServerBusy
  --max-feeds 100         open change feeds; a request for another one gets 503 ServerBusy
  --max-connections 1000  open connections; further ones are closed
  --max-requests 10000    requests on one connection
  --headers-timeout 20000, --request-timeout 120000
                          milliseconds for the headers of a request, and for the whole request
  --response-timeout 120000, --idle-timeout 65000
                          milliseconds for reading a response, and between requests
  --cert FILE --key FILE  HTTPS, with a certificate and its private key (PEM)
  --cert FILE --pwd TEXT  HTTPS, with a .pfx file (PKCS #12) and its password
  --oauth basic           also accept bearer tokens over HTTPS; their signatures are not checked
  --allow-reset           POST /_reset restores the initial data; implies --in-memory
  --debug [FILE]          log each request to standard output, or append it to FILE
  --help                  show this text
  --version               show the version

Accounts: devstoreaccount1 with the emulator's well-known key, or those in the environment variable
  AZURITE_ACCOUNTS="name:key;name:key:secondkey"

Azurite's options are accepted too: --tableHost, --tablePort, --tableKeepAliveTimeout SECONDS, -l,
  --inMemoryPersistence, -d FILE, --skipApiVersionCheck. These have no effect: -s, --silent, -L,
  --loose, --disableProductStyleUrl, --disableTelemetry, --extentMemoryLimit, and those of the Blob
  and Queue services. With --azurite, or as entitable-azurite [options], the server reports its
  start as azurite-table does.

entitable sync URL keeps a copy of tables in step with a remote (entitable sync --help).
entitable sync doctor URL measures what a remote can do for sync (entitable sync doctor --help).
`;

export type AuthMode = "development" | "strict" | "off";

export interface ServeCommand {
  port: number;
  host: string;
  location: string | undefined; // undefined: in memory
  seedData: string | undefined; // a folder
  mock: MockServerOptions | undefined; // present for a mock server
  faults: string | undefined; // a file of rules; makes the server a mock server
  auth: AuthMode;
  durability: Durability;
  cert: string | undefined; // a file, like `key`
  key: string | undefined;
  password: string | undefined; // of `cert`, which is then a .pfx file
  anyVersion: boolean; // accept every x-ms-version, whatever `auth` is
  bearerTokens: boolean;
  allowReset: boolean;
  feed: boolean; // offer the change feed
  azurite: boolean; // report the start as azurite-table does
  warnings: string[]; // about options without effect
  debug: string | true | undefined; // a file, or standard output
  limits: Partial<ServerLimits>; // those given
}

export type Command =
  | ServeCommand
  | SyncCommand
  | DoctorCommand
  | "help"
  | "syncHelp"
  | "doctorHelp"
  | "version";

const limitOptions: Readonly<Record<keyof ServerLimits, string>> = {
  bodyBytes: "max-body-bytes",
  responseBytes: "max-response-bytes",
  connections: "max-connections",
  requestsPerConnection: "max-requests",
  feeds: "max-feeds",
  headersMs: "headers-timeout",
  requestMs: "request-timeout",
  responseMs: "response-timeout",
  idleMs: "idle-timeout",
};

const flag = { type: "boolean" } as const;
const value = { type: "string" } as const;
const options: Record<string, NodeOptionConfig> = {
  azurite: flag,
  "allow-reset": flag,
  feed: flag,
  "in-memory": flag,
  help: flag,
  version: flag,
  port: value,
  host: value,
  location: value,
  auth: value,
  durability: value,
  cert: value,
  key: value,
  ...Object.fromEntries(Object.values(limitOptions).map((name) => [name, value])),
  debug: value, // may be missing, see parseArguments
  "seed-data": value,
  ...Object.fromEntries(mockOptionNames.map((name) => [name, value])),
  ...Object.fromEntries([...azuriteFlags, ...ignoredFlags].map((name) => [name, flag])),
  ...Object.fromEntries(
    [...azuriteValues, ...ignoredValues, ...otherServiceValues].map((name) => [name, value]),
  ),
};
for (const [name, ours] of Object.entries(azuriteNames))
  options[name] = { ...options[ours] } as NodeOptionConfig;
for (const [name, short] of Object.entries(azuriteLetters))
  options[name] = { ...options[name], short } as NodeOptionConfig;

// Throws UsageError with the reason. `strict: false` turns off Node's own errors, because their
// texts differ between versions of Node. As `entitable-azurite`, the command "serve" is implied.
// `env`: the environment variables.
export function parseArguments(
  words: readonly string[],
  util: NodeUtil,
  { isAzurite = false, env = {} as Readonly<Record<string, string | undefined>> } = {},
): Command {
  if (words[0] === "sync" && !isAzurite) {
    const parse = words[1] === "doctor" ? parseDoctorArguments : parseSyncArguments;
    return parse(words.slice(1), util, env);
  }
  const { parseArgs } = util;
  // parseArgs has no options with an optional value, so an empty value takes its place.
  const args = words.map((word, i) =>
    /^(?:--debug|-d)$/.test(word) && (words[i + 1] ?? "-").startsWith("-") ? "--debug=" : word,
  );
  const { tokens } = parseArgs({
    args,
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const given = new Map<string, string>();
  const names: string[] = [];
  for (const token of tokens) {
    const word = args[token.index] as string;
    if (token.kind === "option-terminator") throw new UsageError(`There is no option ${word}.`);
    if (token.kind === "positional") names.push(word);
    else given.set(azuriteNames[token.name] ?? token.name, checkedValue(token, word));
  }
  if (isAzurite) given.set("azurite", "");
  if (isAzurite && names.length === 0) names.push("serve");
  if (given.has("version")) return "version";
  if (given.has("help") || names[0] === "help") return "help";
  if (names.length !== 1 || names[0] !== "serve") {
    throw new UsageError(
      names.length === 0 ? "No command given." : `There is no command ${names.join(" ")}.`,
    );
  }
  return serveCommand(given);
}

// Returns an option's value, "" for a flag. Throws UsageError if there is no such option, or no
// value.
function checkedValue({ name, value, inlineValue }: NodeOptionToken, word: string): string {
  const type = Object.hasOwn(options, name) ? options[name]?.type : undefined;
  if (type === undefined || (type === "boolean" && value !== undefined)) {
    throw new UsageError(`There is no option ${word}.`);
  }
  if (type === "boolean") return "";
  // parseArgs also takes a following option as the value.
  if (value === undefined || (!inlineValue && value.startsWith("-"))) {
    throw new UsageError(`--${name} needs a value.`);
  }
  return value;
}

function serveCommand(given: ReadonlyMap<string, string>): ServeCommand {
  const text = (name: string) => given.get(name);
  const port = text("port") ?? "10002";
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65535) {
    throw new UsageError(`--port must be a number from 0 to 65535, not ${port}.`);
  }
  const mockNames = ["allow-reset", ...mockOptionNames]; // only a mock store can be reset
  const inMemory = ["in-memory", "seed-data", ...mockNames].find((name) => given.has(name));
  if (inMemory !== undefined && given.has("location")) {
    throw new UsageError(`--${inMemory} and --location exclude each other.`);
  }
  return {
    port: Number(port),
    host: text("host") ?? "127.0.0.1",
    location: inMemory === undefined ? (text("location") ?? ".entitable") : undefined,
    seedData: text("seed-data"),
    mock: mockNames.some((name) => given.has(name)) ? parseMockOptions(text) : undefined,
    faults: text("faults"),
    auth: oneOf("auth", text("auth") ?? "development", ["development", "strict", "off"]),
    durability: oneOf("durability", text("durability") ?? "strict", [
      "strict",
      "relaxed",
      "deferred",
    ]),
    ...certificateOf(text),
    anyVersion: given.has("skipApiVersionCheck"),
    bearerTokens: given.has("oauth") && oneOf("oauth", text("oauth") ?? "", ["basic"]) === "basic",
    allowReset: given.has("allow-reset"),
    feed: given.has("feed"),
    azurite: given.has("azurite"),
    warnings: warningsOf(given),
    debug: text("debug") === "" ? true : text("debug"),
    limits: limitsOf(given),
  };
}

type Text = (name: string) => string | undefined;

function certificateOf(text: Text): Pick<ServeCommand, "cert" | "key" | "password"> {
  const [cert, key, password] = [text("cert"), text("key"), text("pwd")];
  if (cert === undefined && key === undefined && password !== undefined) {
    throw new UsageError("--pwd is the password of a .pfx file, which --cert must name.");
  }
  const isPfx = cert !== undefined && key === undefined && password !== undefined;
  if ((cert === undefined) !== (key === undefined) && !isPfx) {
    throw new UsageError(
      "--cert and --key must be given together; a .pfx file needs --pwd instead of --key.",
    );
  }
  return { cert, key, password: isPfx ? password : undefined };
}

function warningsOf(given: ReadonlyMap<string, string>): string[] {
  const warnings = [otherServiceWarning(given)];
  if (given.has("oauth") && !given.has("cert"))
    warnings.push("bearer tokens need HTTPS, so --oauth has no effect without --cert.");
  return warnings.filter((warning) => warning !== undefined);
}

function limitsOf(given: ReadonlyMap<string, string>): Partial<ServerLimits> {
  const limits: Partial<ServerLimits> = keepAliveOf(given);
  for (const name of limitNames) {
    const option = limitOptions[name];
    const text = given.get(option);
    if (text === undefined) continue;
    const [least, most] = limitRanges[name];
    if (!/^\d{1,16}$/.test(text) || Number(text) < least || Number(text) > most) {
      throw new UsageError(`--${option} must be a number from ${least} to ${most}, not ${text}.`);
    }
    limits[name] = Number(text);
  }
  const { headersMs, requestMs } = { ...limitDefaults, headersMs: 0, ...limits };
  if (headersMs > requestMs) {
    throw new UsageError("--headers-timeout must not exceed --request-timeout.");
  }
  return limits;
}

// Azurite's option is in seconds; there, 0 means the default.
function keepAliveOf(given: ReadonlyMap<string, string>): Partial<ServerLimits> {
  const seconds = given.get("tableKeepAliveTimeout") ?? "0";
  if (!/^\d{1,6}$/.test(seconds)) {
    throw new UsageError(
      `--tableKeepAliveTimeout must be a number of seconds from 0 to 999999, not ${seconds}.`,
    );
  }
  return Number(seconds) === 0 ? {} : { idleMs: Number(seconds) * 1000 };
}

function oneOf<T extends string>(option: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  if (found !== undefined) return found;
  throw new UsageError(`--${option} must be ${allowed.join(" or ")}, not ${value}.`);
}

const emulator = `${developmentName}:${developmentKey}`;

// Parses accounts in the format of Azurite's environment variable: "name:key;name:key:secondkey".
// Throws UsageError.
export function parseAccounts(text: string | undefined): Map<string, string[]> {
  const accounts = new Map<string, string[]>();
  const entries = (text?.trim() || emulator).split(";").map((entry) => entry.trim());
  for (const [i, entry] of entries.entries()) {
    if (entry === "") continue;
    const [name = "", ...keys] = entry.split(":");
    // The message shows neither name nor key, because either may contain a key.
    const wrong = (what: string) => new UsageError(`AZURITE_ACCOUNTS: account ${i + 1} ${what}.`);
    if (!/^[a-z0-9]{3,24}$/.test(name))
      throw wrong("must have a name of 3 to 24 characters a-z, 0-9");
    if (keys.length < 1 || keys.length > 2) throw wrong("must have one or two keys");
    if (!keys.every(isBase64)) throw wrong("has a key that is not base64");
    if (accounts.has(name)) throw wrong("is listed twice");
    accounts.set(name, keys);
  }
  if (accounts.size === 0) throw new UsageError("AZURITE_ACCOUNTS has no account.");
  return accounts;
}

function isBase64(key: string): boolean {
  return key !== "" && /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(key);
}

export function accountOptions(
  name: string,
  keys: readonly string[],
  { auth, anyVersion, bearerTokens }: Pick<ServeCommand, "auth" | "anyVersion" | "bearerTokens">,
): AccountOptions {
  const whose = { name, keys };
  switch (auth) {
    case "development":
      return { ...whose, authorize: true, bearerTokens, permissiveCors: true };
    case "strict":
      return {
        ...whose,
        authorize: true,
        bearerTokens,
        strictVersions: !anyVersion,
        strictDates: true,
        limitComparisons: true,
      };
    case "off":
      return { ...whose, permissiveCors: true };
  }
}
