// Checks the options of openStore() and adds the defaults.

import { StoreError } from "../errors.ts";
import { accountFromOptions } from "../rest/account.ts";
import type { OpenOptions, StoreLocation, StoreWarning, WarningCode } from "../types.ts";
import { isolatedListener } from "../util/isolated-listener.ts";
import { requireKnownOptions } from "../util/option-names.ts";
import type { DeferredModuleUrls } from "../wasm/engine.ts";

const deferredDelayMaxMs = 1000;
const memoryLimitDefault = 512 * 1024 * 1024;

export type Settings = ReturnType<typeof settingsFromOptions>;

// Of OpenOptions.
const optionNames =
  "name persistence path durability deferredDelayMs memoryLimit history wasm tabs thread requestPersistence clock random readOnly version upgrade account signal onWarning".split(
    " ",
  );

// Returns the checked options with defaults. Throws StoreError ValidationFailed. `method`: the
// function that has the options.
export function settingsFromOptions(options: OpenOptions, method = "openStore") {
  // Without this check, openStore("shop") would open the store named "default".
  if (typeof options !== "object" || options === null) {
    throw invalid('openStore takes an object: openStore({ name: "shop" }).');
  }
  requireKnownOptions(method, options, optionNames);
  const {
    name = "default",
    persistence = "auto",
    durability = "strict",
    deferredDelayMs = 200,
    memoryLimit = memoryLimitDefault,
    history,
    requestPersistence = "never",
    tabs = "shared",
    thread = "inline",
  } = options;
  checkName(name);
  const path = checkLocation({ ...options, persistence });
  oneOf("durability", durability, ["strict", "relaxed", "deferred"]);
  oneOf("tabs", tabs, ["shared", "exclusive"]);
  oneOf("thread", thread, ["inline", "worker"]);
  oneOf("requestPersistence", requestPersistence, ["never", "on-open", "on-first-write"]);
  if (!(deferredDelayMs >= 0 && deferredDelayMs <= deferredDelayMaxMs)) {
    throw invalid(`deferredDelayMs must be from 0 to ${deferredDelayMaxMs}.`);
  }
  if (!(memoryLimit >= 0)) throw invalid("memoryLimit is a number of bytes, or 0 for no limit.");
  if (thread === "worker" && options.clock !== undefined) {
    throw invalid("clock can't go with thread: \"worker\": functions can't be sent to a worker.");
  }
  if (history !== undefined) checkHistory(history);
  checkVersion(options);
  return {
    name,
    persistence,
    path,
    durability,
    deferredDelayMs,
    memoryLimit,
    history,
    requestPersistence,
    tabs,
    thread,
    wasm: options.wasm,
    // Undefined: the deferred wasm modules are in the folder of this package's code.
    deferredModuleUrls: undefined as DeferredModuleUrls | undefined,
    clock: options.clock ?? { now: () => Date.now() },
    account: accountFromOptions(options.account ?? {}, name),
    readOnly: options.readOnly ?? false,
    signal: options.signal,
    onWarning: options.onWarning === undefined ? printSevere : storeListener(options.onWarning),
  };
}

// The warnings that are printed if there is no listener: of lost data, and of mistakes in the
// program.
const printed: readonly WarningCode[] = [
  "PersistenceUnavailable",
  "WorkerUnavailable",
  "FilterCannotMatch",
  "OptionIgnored",
  "RequestRejected",
];

type OnWarning = (warning: StoreWarning) => void;

// One function for all stores of the page or process. Warnings that a listener gets once are
// therefore printed once, even if every test of a suite opens a store.
const printSevere = storeListener(({ code, message }) => {
  if (printed.includes(code)) console.warn(`entitable: ${message}`);
});

// Wraps the warning listener, whose errors do not affect the store. The warning
// "StorageNotPersisted" is passed on only once per page.
function storeListener(onWarning: OnWarning): OnWarning {
  const listener = isolatedListener(onWarning);
  return (warning) => {
    if (warning.code === "StorageNotPersisted") {
      if (warnedOfEviction) return;
      warnedOfEviction = true;
    }
    listener(warning);
  };
}

let warnedOfEviction = false; // for all stores of the page

// Throws ValidationFailed if the name cannot be used in names of folders, databases and locks.
export function checkName(name: string): void {
  if (!/^[A-Za-z0-9._-]{1,63}$/.test(name) || name === "." || name === "..") {
    throw invalid(`A store's name is 1 to 63 of A-Z a-z 0-9 . _ -, not ${JSON.stringify(name)}.`);
  }
}

// Returns the path of a store in files; undefined for other stores. Throws ValidationFailed.
export function checkLocation({ persistence = "auto", path }: StoreLocation): string | undefined {
  oneOf("persistence", persistence, ["auto", "memory", "indexeddb", "file"]);
  if (persistence !== "file") {
    if (path === undefined) return undefined;
    throw invalid(`path is for persistence: "file", not ${JSON.stringify(persistence)}.`);
  }
  if (typeof path === "string" && path !== "") return path;
  throw invalid('persistence: "file" needs path, the folder of its stores.');
}

function checkHistory(history: NonNullable<OpenOptions["history"]>): void {
  const { bytes = 0, ageMs = 0 } = Object(history) as typeof history;
  const isLimit = (limit: unknown) => typeof limit === "number" && limit >= 0;
  if (typeof history !== "object" || !isLimit(bytes) || !isLimit(ageMs))
    throw invalid("history is { bytes, ageMs }, two numbers of at least 0.");
  requireKnownOptions("openStore", history, ["bytes", "ageMs"], {}, "history");
}

function checkVersion({ version, upgrade }: OpenOptions): void {
  if (version === undefined) {
    if (upgrade !== undefined) throw invalid("upgrade needs version, the version to upgrade to.");
  } else if (!(Number.isInteger(version) && version >= 1 && version <= 0x7fffffff)) {
    throw invalid(`version must be a whole number from 1, not ${String(version)}.`);
  }
}

function oneOf(option: string, value: string, allowed: readonly string[]): void {
  if (allowed.includes(value)) return;
  throw invalid(`${option} must be one of ${allowed.join(", ")}, not ${JSON.stringify(value)}.`);
}

function invalid(message: string): StoreError {
  return new StoreError("ValidationFailed", message);
}
