// The command line and AZURITE_ACCOUNTS, as values.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  accountOptions,
  parseAccounts,
  parseArguments,
  UsageError,
} from "../../web/src/server/arguments.ts";
import { emulatorKey } from "./support/server-process.ts";

const defaults = {
  port: 10002,
  host: "127.0.0.1",
  location: ".entitable",
  auth: "development",
  durability: "strict",
  cert: undefined,
  key: undefined,
  debug: undefined,
  seedData: undefined,
  repeats: undefined,
};
const noFolder = { ...defaults, location: undefined };
const parse = (line: string) => parseArguments(line.split(" ").filter((word) => word !== ""));

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
    ["serve --auth strict", { ...defaults, auth: "strict" }],
    ["serve --durability relaxed", { ...defaults, durability: "relaxed" }],
    ["serve --cert c --key k", { ...defaults, cert: "c", key: "k" }],
    ["serve --debug", { ...defaults, debug: true }],
    ["serve --debug --in-memory", { ...defaults, debug: true, location: undefined }],
    ["serve --debug log", { ...defaults, debug: "log" }],
    ["serve --seed-data d", { ...noFolder, seedData: "d" }],
    ["serve --in-memory --seed-data d", { ...noFolder, seedData: "d" }],
    ["serve --seed 0", { ...noFolder, repeats: { seed: 0 } }],
    ["serve --seed 4294967295", { ...noFolder, repeats: { seed: 2 ** 32 - 1 } }],
    ["serve --clock 2026-03-01", { ...noFolder, repeats: { clock: "2026-03-01" } }],
    ["serve --seed 7 --clock system", { ...noFolder, repeats: { seed: 7, clock: Date } }],
    ["--help", "help"],
    ["help", "help"],
    ["serve --help", "help"],
    ["--version", "version"],
  ];
  for (const [line, expected] of good) {
    test(line, () => assert.deepEqual(parse(line), expected));
  }

  const bad: [line: string, message: RegExp][] = [
    ["", /Which command/],
    ["start", /no command start/],
    ["serve twice", /no command serve twice/],
    ["serve --prot 1", /no option --prot/],
    ["serve -p 1", /no option -p/],
    ["serve --in-memory=1", /no option --in-memory=1/],
    ["serve --port", /--port needs a value/],
    ["serve --port --in-memory", /--port needs a value/],
    ["serve --port x", /0 to 65535, not x/],
    ["serve --port 65536", /0 to 65535/],
    ["serve --auth loose", /development or strict or off, not loose/],
    ["serve --durability x", /strict or relaxed or deferred, not x/],
    ["serve --cert c", /go together/],
    ["serve --key k", /go together/],
    ["serve --in-memory --location d", /--in-memory and --location exclude/],
    ["serve --seed-data s --location d", /--seed-data and --location exclude/],
    ["serve --seed 1 --location d", /--seed and --location exclude/],
    ["serve --clock system --location d", /--clock and --location exclude/],
    ["serve --seed 4294967296", /0 to 4294967295, not 4294967296/],
    ["serve --seed 1.5", /0 to 4294967295/],
    ["serve --clock soon", /a time or system, not soon/],
    ["serve --seed-data", /--seed-data needs a value/],
  ];
  for (const [line, message] of bad) {
    test(`refused: ${line}`, () =>
      assert.throws(
        () => parse(line),
        (error) => error instanceof UsageError && message.test(error.message),
      ));
  }
});

describe("AZURITE_ACCOUNTS", () => {
  const accounts = (text: string | undefined) => Object.fromEntries(parseAccounts(text));

  test("is the emulator's account by default", () => {
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
    test(`refused: ${text}`, () =>
      assert.throws(
        () => parseAccounts(text),
        (error) => error instanceof UsageError && !/a2V|secret/.test(error.message),
      ));
  }
});

test("what --auth means for an account", () => {
  const whose = { name: "one", keys: ["a2V5"] };
  const of = (auth: "development" | "strict" | "off") => accountOptions("one", ["a2V5"], auth);
  assert.deepEqual(of("off"), { ...whose, permissiveCors: true });
  assert.deepEqual(of("development"), { ...whose, authorize: true, permissiveCors: true });
  const strict = { strictVersions: true, strictDates: true, limitComparisons: true };
  assert.deepEqual(of("strict"), { ...whose, authorize: true, ...strict });
});
