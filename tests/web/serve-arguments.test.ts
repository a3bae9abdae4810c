// Tests parsing the command line and AZURITE_ACCOUNTS.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as util from "node:util";
import { accountOptions, parseAccounts, parseArguments } from "../../web/src/server/arguments.ts";
import { UsageError } from "../../web/src/server/usage-error.ts";
import { emulatorKey } from "./support/server-process.ts";

const defaults = {
  port: 10002,
  host: "127.0.0.1",
  location: ".entitable",
  auth: "development",
  durability: "strict",
  cert: undefined,
  key: undefined,
  password: undefined,
  anyVersion: false,
  bearerTokens: false,
  allowReset: false,
  feed: false,
  azurite: false,
  warnings: [],
  debug: undefined,
  seedData: undefined,
  mock: undefined,
  faults: undefined,
  limits: {},
};
const noFolder = { ...defaults, location: undefined };
const parse = (line: string) =>
  parseArguments(
    line.split(" ").filter((word) => word !== ""),
    util,
  );

describe("the command line", () => {
  const good: [line: string, expected: unknown][] = [
    ["serve", defaults],
    ["serve --port 0", { ...defaults, port: 0 }],
    ["serve --port=65535", { ...defaults, port: 65535 }],
    ["--port 1 serve --host ::", { ...defaults, port: 1, host: "::" }],
    ["serve --location d", { ...defaults, location: "d" }],
    ["serve --location=--d", { ...defaults, location: "--d" }],
    ["serve --in-memory", { ...defaults, location: undefined }],
    ["serve --auth off", { ...defaults, auth: "off" }],
    ["serve --feed", { ...defaults, feed: true }],
    ["serve --feed --azurite", { ...defaults, feed: true, azurite: true }],
    ["serve --max-feeds 7", { ...defaults, limits: { feeds: 7 } }],
    ["serve --auth strict", { ...defaults, auth: "strict" }],
    ["serve --durability relaxed", { ...defaults, durability: "relaxed" }],
    ["serve --cert c --key k", { ...defaults, cert: "c", key: "k" }],
    ["serve --debug", { ...defaults, debug: true }],
    ["serve --debug --in-memory", { ...defaults, debug: true, location: undefined }],
    ["serve --debug log", { ...defaults, debug: "log" }],
    ["--debug --port 1 serve", { ...defaults, debug: true, port: 1 }],
    ["serve --port 1 --port 2", { ...defaults, port: 2 }],
    ["serve --seed-data d", { ...noFolder, seedData: "d" }],
    ["serve --in-memory --seed-data d", { ...noFolder, seedData: "d" }],
    ["serve --seed 0", { ...noFolder, mock: { seed: 0 } }],
    ["serve --seed 4294967295", { ...noFolder, mock: { seed: 2 ** 32 - 1 } }],
    ["serve --clock 2026-03-01", { ...noFolder, mock: { clock: "2026-03-01" } }],
    ["serve --seed 7 --clock system", { ...noFolder, mock: { seed: 7, clock: Date } }],
    ["serve --faults f", { ...noFolder, faults: "f", mock: { clock: Date } }],
    ["serve --seed 7 --faults f", { ...noFolder, faults: "f", mock: { seed: 7 } }],
    ["serve --latency 20", { ...noFolder, mock: { clock: Date, latency: 20 } }],
    ["serve --latency 0.5-80", { ...noFolder, mock: { clock: Date, latency: [0.5, 80] } }],
    [
      "serve --latency lognormal:20-200 --seed 7",
      { ...noFolder, mock: { seed: 7, latency: { lognormal: { median: 20, p99: 200 } } } },
    ],
    ["serve --latency cloud", { ...noFolder, mock: { clock: Date, latency: "cloud" } }],
    ["serve --throttle azure", { ...noFolder, mock: { clock: Date, throttle: "azure" } }],
    [
      "serve --throttle 5,20 --seed 7 --clock system",
      {
        ...noFolder,
        mock: {
          seed: 7,
          clock: Date,
          throttle: { partitionOpsPerSecond: 5, accountOpsPerSecond: 20 },
        },
      },
    ],
    ["serve --empty-pages 0.25", { ...noFolder, mock: { clock: Date, emptyPages: 0.25 } }],
    ["serve --scans azure", { ...noFolder, mock: { clock: Date, scans: "azure" } }],
    ["serve --scans azure --seed 7", { ...noFolder, mock: { seed: 7, scans: "azure" } }],
    ["serve --max-body-bytes 4194304", { ...defaults, limits: { bodyBytes: 4194304 } }],
    [
      "serve --max-body-bytes 9007199254740991",
      { ...defaults, limits: { bodyBytes: 9007199254740991 } },
    ],
    [
      "serve --max-response-bytes 67108864 --response-timeout 1",
      { ...defaults, limits: { responseBytes: 67108864, responseMs: 1 } },
    ],
    [
      "serve --max-connections 1 --max-requests 2147483647",
      { ...defaults, limits: { connections: 1, requestsPerConnection: 2147483647 } },
    ],
    [
      "serve --headers-timeout 1 --request-timeout 1 --idle-timeout 2147483647",
      { ...defaults, limits: { headersMs: 1, requestMs: 1, idleMs: 2147483647 } },
    ],
    ["serve --headers-timeout 120000", { ...defaults, limits: { headersMs: 120000 } }],
    ["serve --request-timeout 1", { ...defaults, limits: { requestMs: 1 } }],
    ["serve --cert c --pwd p", { ...defaults, cert: "c", password: "p" }],
    ["serve --cert c --key k --pwd p", { ...defaults, cert: "c", key: "k" }],
    [
      "serve --oauth basic --cert c --key k",
      { ...defaults, bearerTokens: true, cert: "c", key: "k" },
    ],
    ["serve --allow-reset", { ...noFolder, allowReset: true, mock: { clock: Date } }],
    ["serve --allow-reset --seed 7", { ...noFolder, allowReset: true, mock: { seed: 7 } }],
    ["serve --azurite", { ...defaults, azurite: true }],
    // Azurite's
    ["serve --tableHost 0.0.0.0 --tablePort=1", { ...defaults, host: "0.0.0.0", port: 1 }],
    ["serve -l d", { ...defaults, location: "d" }],
    ["serve --inMemoryPersistence --extentMemoryLimit 50", noFolder],
    ["serve -d log -s -L", { ...defaults, debug: "log" }],
    ["serve -d -s", { ...defaults, debug: true }],
    ["serve -sL", defaults],
    ["serve --silent --loose --disableProductStyleUrl --disableTelemetry", defaults],
    ["serve --skipApiVersionCheck", { ...defaults, anyVersion: true }],
    ["serve --tableKeepAliveTimeout 5", { ...defaults, limits: { idleMs: 5000 } }],
    ["serve --tableKeepAliveTimeout 0", defaults],
    [
      "serve --blobHost 0.0.0.0 --blobPort 1 --blobKeepAliveTimeout 5 --queueHost h --queuePort 2",
      {
        ...defaults,
        warnings: [
          "only the Table service is served, so these options have no effect: " +
            "--blobHost, --blobPort, --blobKeepAliveTimeout, --queueHost, --queuePort.",
        ],
      },
    ],
    [
      "serve --oauth basic",
      {
        ...defaults,
        bearerTokens: true,
        warnings: ["bearer tokens need HTTPS, so --oauth has no effect without --cert."],
      },
    ],
    ["--help", "help"],
    ["help", "help"],
    ["serve --help", "help"],
    ["--version", "version"],
  ];
  for (const [line, expected] of good) {
    test(line, () => assert.deepEqual(parse(line), expected));
  }

  const bad: [line: string, message: RegExp][] = [
    ["", /No command given/],
    ["start", /no command start/],
    ["serve twice", /no command serve twice/],
    ["serve --prot 1", /no option --prot/],
    ["serve -p 1", /no option -p/],
    ["serve -port 1", /no option -port\./],
    ["serve --", /no option --\./],
    ["serve --no-in-memory", /no option --no-in-memory/],
    ["serve --constructor 1", /no option --constructor/],
    ["serve --in-memory=1", /no option --in-memory=1/],
    ["serve --port", /--port needs a value/],
    ["serve --port --in-memory", /--port needs a value/],
    ["serve --port x", /0 to 65535, not x/],
    ["serve --port 65536", /0 to 65535/],
    ["serve --max-body-bytes 4194303", /4194304 to 9007199254740991, not 4194303/],
    ["serve --max-body-bytes 9007199254740992", /4194304 to 9007199254740991/],
    ["serve --max-connections 0", /--max-connections must be a number from 1 to 2147483647, not 0/],
    ["serve --max-requests 2147483648", /--max-requests must be a number from 1 to 2147483647/],
    ["serve --headers-timeout 0", /--headers-timeout must be a number from 1/],
    ["serve --request-timeout 1.5", /--request-timeout must be a number from 1/],
    ["serve --idle-timeout x", /--idle-timeout must be a number from 1/],
    ["serve --headers-timeout 120001", /--headers-timeout must not exceed --request-timeout/],
    ["serve --headers-timeout 2 --request-timeout 1", /must not exceed --request-timeout/],
    ["serve --auth loose", /development or strict or off, not loose/],
    ["serve --durability x", /strict or relaxed or deferred, not x/],
    ["serve --cert c", /must be given together/],
    ["serve --key k", /must be given together/],
    ["serve --key k --pwd p", /must be given together/],
    ["serve --pwd p", /--pwd is the password of a .pfx file, which --cert must name/],
    ["serve --oauth full", /--oauth must be basic, not full/],
    ["serve --oauth", /--oauth needs a value/],
    ["serve --tablePort x", /0 to 65535, not x/],
    ["serve --tableKeepAliveTimeout x", /number of seconds from 0 to 999999, not x/],
    ["serve --inMemoryPersistence -l d", /--in-memory and --location exclude/],
    ["serve --allow-reset --location d", /--allow-reset and --location exclude/],
    ["serve --silent=1", /no option --silent=1/],
    ["serve --in-memory --location d", /--in-memory and --location exclude/],
    ["serve --seed-data s --location d", /--seed-data and --location exclude/],
    ["serve --seed 1 --location d", /--seed and --location exclude/],
    ["serve --clock system --location d", /--clock and --location exclude/],
    ["serve --seed 4294967296", /0 to 4294967295, not 4294967296/],
    ["serve --seed 1.5", /0 to 4294967295/],
    ["serve --clock soon", /a time or system, not soon/],
    ["serve --faults f --location d", /--faults and --location exclude/],
    ["serve --latency 1 --location d", /--latency and --location exclude/],
    ["serve --latency fast", /--latency must be milliseconds .*, not fast/],
    ["serve --latency 20-10", /--latency must be/],
    ["serve --latency 20-", /--latency must be/],
    ["serve --latency lognormal:0-10", /--latency must be/],
    ["serve --latency=-1", /--latency must be/],
    ["serve --throttle much", /--throttle must be azure, or two numbers such as 2000,20000/],
    ["serve --throttle 0,5", /--throttle must be/],
    ["serve --throttle azure --seed 7", /--throttle needs a running clock: add --clock system/],
    ["serve --throttle azure --clock 2026-03-01", /--throttle needs a running clock/],
    ["serve --empty-pages 2", /--empty-pages must be a probability from 0 to 1, not 2/],
    ["serve --empty-pages x", /--empty-pages must be/],
    ["serve --scans Azure", /--scans must be azure, not Azure/],
    ["serve --scans", /--scans needs a value/],
    ["serve --scans azure --location d", /--scans and --location exclude/],
    ["serve --seed-data", /--seed-data needs a value/],
  ];
  for (const [line, message] of bad) {
    test(`rejects: ${line}`, () =>
      assert.throws(
        () => parse(line),
        (error) => error instanceof UsageError && message.test(error.message),
      ));
  }
});

describe("the command line of entitable-azurite", () => {
  const azurite = (line: string) =>
    parseArguments(
      line.split(" ").filter((word) => word !== ""),
      util,
      { isAzurite: true },
    );

  test("needs no command", () => {
    assert.deepEqual(azurite(""), { ...defaults, azurite: true });
    assert.deepEqual(azurite("-l d"), { ...defaults, azurite: true, location: "d" });
    assert.deepEqual(azurite("serve"), { ...defaults, azurite: true });
    assert.equal(azurite("--help"), "help");
    assert.equal(azurite("--version"), "version");
    assert.throws(() => azurite("start"), /no command start/);
  });
});

describe("AZURITE_ACCOUNTS", () => {
  const accounts = (text: string | undefined) => Object.fromEntries(parseAccounts(text));

  test("defaults to the emulator's account", () => {
    const emulator = { devstoreaccount1: [emulatorKey] };
    for (const text of [undefined, "", " "]) assert.deepEqual(accounts(text), emulator);
  });

  test("has accounts of one key or two", () => {
    assert.deepEqual(accounts("one:a2V5; two:a2V5:a2V5Mg==;"), {
      one: ["a2V5"],
      two: ["a2V5", "a2V5Mg=="],
    });
  });

  for (const text of [
    "one",
    "one:",
    "one:a2V5:a2V5:a2V5",
    "on:a2V5",
    "One:a2V5",
    "o-ne:a2V5",
    ":a2V5",
    "one:a2V5;one:a2V5",
    "one:secret!",
    "one:a2V",
    ";",
  ]) {
    test(`rejects: ${text}`, () =>
      assert.throws(
        () => parseAccounts(text),
        (error) => error instanceof UsageError && !/a2V|secret/.test(error.message),
      ));
  }
});

test("--auth decides how an account authorizes", () => {
  const whose = { name: "one", keys: ["a2V5"] };
  const of = (auth: "development" | "strict" | "off", anyVersion = false, bearerTokens = false) =>
    accountOptions("one", ["a2V5"], { auth, anyVersion, bearerTokens });
  const checked = { ...whose, authorize: true, bearerTokens: false };
  assert.deepEqual(of("off"), { ...whose, permissiveCors: true });
  assert.deepEqual(of("development"), { ...checked, permissiveCors: true });
  const strict = { strictVersions: true, strictDates: true, limitComparisons: true };
  assert.deepEqual(of("strict"), { ...checked, ...strict });
  assert.deepEqual(of("strict", true), { ...checked, ...strict, strictVersions: false });
  for (const auth of ["development", "strict"] as const)
    assert.equal(of(auth, false, true).bearerTokens, true);
});
