// Parses the command line of `entitable sync doctor`.

import { developmentKey, developmentName } from "../rest/development-account.ts";
import type { NodeUtil } from "../util/node.ts";
import { UsageError } from "./usage-error.ts";

export const doctorUsage = `entitable sync doctor URL [options]

Measures what a remote of the Table service can do for sync. Creates a table with a random name,
writes about 2,000 entities, and deletes the table again, also on Ctrl-C. URL is that of the account,
with a shared access signature that may create and delete tables (srt=sco, sp=rwaudl).

  --json              print the measurements as JSON
  --origin ORIGIN     the origin of the page that will sync (https://app.example)
  --seconds 10        how long to write while the table is scanned, 1 to 600
  --rows 1000         entities of the scans that are compared, 100 to 1000000

The environment variable AZURE_STORAGE_KEY can have the account's key instead of a signature. The
emulator's account, devstoreaccount1, needs neither.
`;

export interface DoctorCommand {
  readonly doctor: {
    readonly url: string;
    /** Of the account that the URL names. */
    readonly key: string | undefined;
    readonly json: boolean;
    readonly origin: string;
    readonly seconds: number;
    readonly rows: number;
  };
}

const options = {
  json: { type: "boolean" },
  help: { type: "boolean" },
  origin: { type: "string" },
  seconds: { type: "string" },
  rows: { type: "string" },
} as const;

/** `words`: after "sync". Throws UsageError. */
export function parseDoctorArguments(
  words: readonly string[],
  { parseArgs }: NodeUtil,
  environment: Readonly<Record<string, string | undefined>>,
): DoctorCommand | "doctorHelp" {
  const { tokens } = parseArgs({
    args: [...words],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const given = new Map<string, string | undefined>();
  const names: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") names.push(words[token.index] as string);
    else if (token.kind === "option") given.set(token.name, token.value);
  }
  if (given.has("help")) return "doctorHelp";
  for (const [name, value] of given) checkOption(name, value);
  const [, url, ...more] = names;
  if (url === undefined || more.length > 0) throw new UsageError("sync doctor needs one URL.");
  const { hasSignature } = checkUrl(url);
  const key = environment["AZURE_STORAGE_KEY"];
  return {
    doctor: {
      url,
      key: hasSignature ? undefined : (key ?? emulatorKey(url)),
      json: given.has("json"),
      origin: originOf(given.get("origin")),
      seconds: numberOf(given, "seconds", 10, [1, 600]),
      rows: numberOf(given, "rows", 1000, [100, 1_000_000]),
    },
  };
}

function checkOption(name: string, value: string | undefined): void {
  const type = Object.hasOwn(options, name) && options[name as keyof typeof options].type;
  const isFlag = type === "boolean";
  if (!type || (isFlag && value !== undefined))
    throw new UsageError(`There is no option --${name}.`);
  if (!isFlag && value === undefined) throw new UsageError(`--${name} needs a value.`);
}

/** The messages do not have the URL, which may have a signature. */
function checkUrl(text: string): { hasSignature: boolean } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new UsageError("The URL must begin with http:// or https://.");
  }
  return { hasSignature: url.searchParams.has("sig") };
}

const emulatorKey = (url: string): string | undefined =>
  new URL(url).pathname.split("/")[1] === developmentName ? developmentKey : undefined;

function originOf(text: string | undefined): string {
  if (text === undefined) return "https://app.example";
  if (URL.canParse(text) && new URL(text).origin === text) return text;
  throw new UsageError("--origin must be an origin such as https://app.example.");
}

function numberOf(
  given: ReadonlyMap<string, string | undefined>,
  name: string,
  normal: number,
  [least, most]: readonly [number, number],
): number {
  const text = given.get(name);
  if (text === undefined) return normal;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(`--${name} must be a number from ${least} to ${most}, not ${text}.`);
}
