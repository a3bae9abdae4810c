// Parses the command line and the environment into values. Opens nothing.

import type { AccountOptions, Durability } from "../types.ts";
import type { NodeOptionConfig, NodeOptionToken, NodeUtil } from "../util/node.ts";
import { limitDefaults, limitNames, limitRanges, type ServerLimits } from "./limits.ts";
import { type MockServerOptions, mockOptionNames, parseMockOptions } from "./mock-options.ts";
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
  --auth development      check signatures; strict: also dates, versions and limits; off: no
                          authorization
  --durability strict     when a write is acknowledged: strict, relaxed or deferred
  --max-body-bytes 134217728
                          memory for the bodies of all pending requests; beyond it, a request gets
                          503 ServerBusy
  --max-response-bytes 268435456
                          memory for responses that clients have not read; beyond it, a request
                          gets 503 ServerBusy
  --max-connections 1000  open connections; further ones are closed
  --max-requests 10000    requests on one connection
  --headers-timeout 20000, --request-timeout 120000
                          milliseconds for the headers of a request, and for the whole request
  --response-timeout 120000, --idle-timeout 65000
                          milliseconds for reading a response, and between requests
  --cert FILE --key FILE  HTTPS, with a certificate and its private key (PEM)
  --debug [FILE]          log each request to standard output, or append it to FILE
  --help                  show this text
  --version               show the version

Accounts: devstoreaccount1 with the emulator's well-known key, or those in the environment variable
  AZURITE_ACCOUNTS="name:key;name:key:secondkey"
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
  debug: string | true | undefined; // a file, or standard output
  limits: Partial<ServerLimits>; // those given
}

export type Command = ServeCommand | "help" | "version";

const limitOptions: Readonly<Record<keyof ServerLimits, string>> = {
  bodyBytes: "max-body-bytes",
  responseBytes: "max-response-bytes",
  connections: "max-connections",
  requestsPerConnection: "max-requests",
  headersMs: "headers-timeout",
  requestMs: "request-timeout",
  responseMs: "response-timeout",
  idleMs: "idle-timeout",
};

const flag = { type: "boolean" } as const;
const value = { type: "string" } as const;
const options: Record<string, NodeOptionConfig> = {
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
};

// Throws UsageError with the reason. `strict: false` turns off Node's own errors, because their
// texts differ between versions of Node.
export function parseArguments(words: readonly string[], { parseArgs }: NodeUtil): Command {
  // parseArgs has no options with an optional value, so an empty value takes its place.
  const args = words.map((word, i) =>
    word === "--debug" && (words[i + 1] ?? "-").startsWith("-") ? "--debug=" : word,
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
    else given.set(token.name, checkedValue(token, word));
  }
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
  const inMemory = ["in-memory", "seed-data", ...mockOptionNames].find((name) => given.has(name));
  if (inMemory !== undefined && given.has("location")) {
    throw new UsageError(`--${inMemory} and --location exclude each other.`);
  }
  if (given.has("cert") !== given.has("key")) {
    throw new UsageError("--cert and --key must be given together.");
  }
  return {
    port: Number(port),
    host: text("host") ?? "127.0.0.1",
    location: inMemory === undefined ? (text("location") ?? ".entitable") : undefined,
    seedData: text("seed-data"),
    mock: mockOptionNames.some((name) => given.has(name)) ? parseMockOptions(text) : undefined,
    faults: text("faults"),
    auth: oneOf("auth", text("auth") ?? "development", ["development", "strict", "off"]),
    durability: oneOf("durability", text("durability") ?? "strict", [
      "strict",
      "relaxed",
      "deferred",
    ]),
    cert: text("cert"),
    key: text("key"),
    debug: text("debug") === "" ? true : text("debug"),
    limits: limitsOf(given),
  };
}

function limitsOf(given: ReadonlyMap<string, string>): Partial<ServerLimits> {
  const limits: Partial<ServerLimits> = {};
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

function oneOf<T extends string>(option: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  if (found !== undefined) return found;
  throw new UsageError(`--${option} must be ${allowed.join(" or ")}, not ${value}.`);
}

// The emulator's account, with its public key.
const emulator =
  "devstoreaccount1:Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

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
  auth: AuthMode,
): AccountOptions {
  const whose = { name, keys };
  switch (auth) {
    case "development":
      return { ...whose, authorize: true, permissiveCors: true };
    case "strict":
      return {
        ...whose,
        authorize: true,
        strictVersions: true,
        strictDates: true,
        limitComparisons: true,
      };
    case "off":
      return { ...whose, permissiveCors: true };
  }
}
