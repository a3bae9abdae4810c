// Parses the command line of `entitable sync`.

import { namedAccount } from "../named-account.ts";
import { developmentKey, developmentName } from "../rest/development-account.ts";
import type { NodeUtil } from "../util/node.ts";
import { UsageError } from "./usage-error.ts";

export const syncUsage = `entitable sync URL --table NAME --location FOLDER [options]

Keeps a copy of tables in a folder in step with a remote account of the Table service, in both
directions, until it is stopped. URL is that of the account, perhaps with a shared access signature.

  --table NAME            a table to sync; may be repeated
  --location FOLDER       the folder of the store
  --name default          the name of the store
  --once                  stop when both have the same; fails if the remote cannot be reached
  --direction both        both, pull or push
  --conflict remote       who wins: remote, merge or local
  --seed-out FILE         with --once: write a file with which other stores can begin
  --consistent partition  apply what changes in a partition in one commit
  --receipts              keep one small row in each partition of the remote that is written

The environment variable AZURE_STORAGE_KEY can have the account's key instead of a signature. The
emulator's account, devstoreaccount1, needs neither.

entitable sync doctor URL measures what a remote can do (entitable sync doctor --help).
`;

const directions = ["both", "pull", "push"] as const;
const policies = ["remote", "merge", "local"] as const;

interface AccountKey {
  readonly name: string;
  readonly key: string;
}

export interface SyncCommand {
  readonly sync: {
    readonly url: string;
    readonly credential: AccountKey | undefined;
    readonly tables: readonly string[];
    readonly location: string;
    readonly name: string;
    readonly once: boolean;
    readonly direction: (typeof directions)[number];
    readonly conflict: (typeof policies)[number];
    readonly receipts: boolean;
    readonly consistent: "partition" | undefined;
    readonly seedOut: string | undefined;
  };
}

const options = {
  table: { type: "string" },
  location: { type: "string" },
  name: { type: "string" },
  once: { type: "boolean" },
  direction: { type: "string" },
  conflict: { type: "string" },
  receipts: { type: "boolean" },
  consistent: { type: "string" },
  "seed-out": { type: "string" },
  help: { type: "boolean" },
} as const;

/** `words`: after "sync". Throws UsageError. */
export function parseSyncArguments(
  words: readonly string[],
  { parseArgs }: NodeUtil,
  environment: Readonly<Record<string, string | undefined>>,
): SyncCommand | "syncHelp" {
  const settings = { strict: false, allowPositionals: true, tokens: true } as const;
  const { tokens } = parseArgs({ args: [...words], options, ...settings });
  const given = new Map<string, string | undefined>();
  const [tables, urls]: [string[], string[]] = [[], []];
  for (const token of tokens) {
    if (token.kind === "positional") urls.push(words[token.index] as string);
    if (token.kind !== "option") continue;
    checkOption(token.name, token.value);
    if (token.name === "table") tables.push(token.value as string);
    else given.set(token.name, token.value);
  }
  if (given.has("help")) return "syncHelp";
  const [url, ...more] = urls;
  if (url === undefined || more.length > 0) throw new UsageError("sync needs one URL.");
  const location = given.get("location");
  if (tables.length === 0) throw new UsageError("sync needs a table: --table NAME.");
  if (location === undefined) throw new UsageError("sync needs a folder: --location FOLDER.");
  if (given.has("seed-out") && !given.has("once")) throw new UsageError("--seed-out needs --once.");
  return {
    sync: {
      url,
      credential: credentialFor(url, environment["AZURE_STORAGE_KEY"]),
      tables,
      location,
      name: given.get("name") ?? "default",
      once: given.has("once"),
      direction: oneOf("direction", given.get("direction") ?? "both", directions),
      conflict: oneOf("conflict", given.get("conflict") ?? "remote", policies),
      receipts: given.has("receipts"),
      consistent: given.has("consistent")
        ? oneOf("consistent", given.get("consistent") as string, ["partition"] as const)
        : undefined,
      seedOut: given.get("seed-out"),
    },
  };
}

function checkOption(name: string, value: string | undefined): void {
  const type = Object.hasOwn(options, name) && options[name as keyof typeof options].type;
  const isFlag = type === "boolean";
  if (!type || (isFlag && value !== undefined))
    throw new UsageError(`There is no option --${name}.`);
  if (!isFlag && !value) throw new UsageError(`--${name} needs a value.`);
}

/** The messages do not have the URL, which may have a signature. */
function credentialFor(text: string, key: string | undefined): AccountKey | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw new UsageError("The URL must begin with http:// or https://.");
  if (url.searchParams.has("sig")) return undefined;
  const { name } = namedAccount(text, () => false);
  const known = key ?? (name === developmentName ? developmentKey : undefined);
  return known === undefined ? undefined : { name, key: known };
}

function oneOf<T extends string>(name: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  if (found !== undefined) return found;
  throw new UsageError(`--${name} must be ${allowed.join(", ")}, not ${value}.`);
}
