// The commands of `entitable`: `serve` opens a store for each account and serves the stores until
// it is stopped; `sync` syncs a store.

import { StoreError } from "../errors.ts";
import { openStore } from "../open-store.ts";
import { connectionStringOf, developmentKey } from "../rest/development-account.ts";
import { seedStore } from "../testing/fixtures.ts";
import { openMock } from "../testing/mock-store.ts";
import { RequestRecorder } from "../testing/request-recorder.ts";
import type { MockOptions } from "../testing/types.ts";
import type { OpenOptions, Store, StoreWarning } from "../types.ts";
import {
  type NodeFs,
  type NodeProcess,
  nodeModule,
  nodeProcess,
  systemErrorCode,
} from "../util/node.ts";
import { errorMessage } from "../util/platform-objects.ts";
import {
  accountOptions,
  type Command,
  parseAccounts,
  parseArguments,
  type ServeCommand,
  usage,
} from "./arguments.ts";
import { type DoctorCommand, doctorUsage } from "./doctor-arguments.ts";
import { readFaultFile } from "./fault-file.ts";
import { readSeedFolder } from "./seed-folder.ts";
import { type ServedRequest, type ServeOptions, serve, type TableServer } from "./serve.ts";
import { type SyncCommand, syncUsage } from "./sync-arguments.ts";
import { UsageError } from "./usage-error.ts";

const process = nodeProcess() as NodeProcess;
const print = (line: string) => process.stdout.write(`${line}\n`);
const printError = (line: string) => process.stderr.write(`entitable: ${line}\n`);

// Cleanup steps, run in reverse order when the process ends or fails to start.
const closers: (() => Promise<void>)[] = [];
let stopping: Promise<void> | undefined;

// The exit code after a signal, and what it means if a cleanup step fails.
const onStop = { code: 0, problem: "acknowledged writes may not be stored" };

const resets: (() => Promise<void>)[] = []; // one for each mock store

// Runs the command of this process. `isAzurite`: with Azurite's command line and messages.
export async function runCommand({ isAzurite = false } = {}): Promise<void> {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, onSignal);
  try {
    const util = await nodeModule("node:util");
    const { argv, env } = process;
    await run(parseArguments(argv.slice(2), util, { isAzurite, env }));
  } catch (error) {
    await fail(error);
  }
}

async function run(command: Command): Promise<void> {
  const fs = await nodeModule("node:fs");
  if (command === "help") print(usage.trimEnd());
  else if (command === "syncHelp") print(syncUsage.trimEnd());
  else if (command === "doctorHelp") print(doctorUsage.trimEnd());
  else if (command === "version") print(version(fs));
  else if ("sync" in command) await sync(command, fs);
  else if ("doctor" in command) await runDoctor(command);
  else await start(command, fs);
}

/** Without --once, until this process is stopped. */
async function sync(command: SyncCommand, fs: NodeFs): Promise<void> {
  const { openReplica } = await import("./sync-replica.ts");
  const { seedOut } = command.sync;
  if (seedOut !== undefined) await requireWritable(seedOut, fs);
  const replica = await openReplica(command, print);
  closers.push(() => replica.close());
  if (!command.sync.once) return;
  const { complete, parked } = await replica.once();
  const isSeed = seedOut !== undefined && complete && parked === 0;
  if (isSeed) await writeFile(seedOut, replica.seed(), fs);
  await closeAll();
  if (complete && (isSeed || seedOut === undefined)) return;
  printError(
    complete
      ? "no seed was written: the remote refuses some of the local writes."
      : "the remote and the store do not have the same yet.",
  );
  process.exit(1);
}

const unfinished = (path: string) => `${path}.tmp`;

/** A wrong path is found before everything is read. */
async function requireWritable(path: string, fs: NodeFs): Promise<void> {
  await (await fs.promises.open(unfinished(path), "w")).close();
  await fs.promises.unlink(unfinished(path));
}

/** The file that was there stays until the new one is complete. */
async function writeFile(path: string, chunks: AsyncIterable<Uint8Array>, fs: NodeFs) {
  const file = await fs.promises.open(unfinished(path), "w");
  try {
    for await (const chunk of chunks) {
      for (let from = 0; from < chunk.length; )
        from += (await file.write(chunk, from, chunk.length - from)).bytesWritten;
    }
    await file.sync();
    await file.close();
    await fs.promises.rename(unfinished(path), path);
  } catch (error) {
    await file.close().catch(() => {});
    await fs.promises.unlink(unfinished(path)).catch(() => {});
    throw error;
  }
}

/** Deletes the table also if it is stopped. */
async function runDoctor({ doctor }: DoctorCommand): Promise<void> {
  const { examine } = await import("./doctor.ts");
  Object.assign(onStop, { code: 130, problem: "the scratch table may be left" });
  const lines = await examine(doctor, (table) => {
    printError(`measuring on the table ${table.name}, which is deleted afterwards`);
    closers.push(() => table.drop());
  }).catch(async (error: unknown) => {
    await stopping; // what fails because the table is gone is no news
    throw error;
  });
  for (const line of lines) print(line);
}

async function start(command: ServeCommand, fs: NodeFs): Promise<void> {
  const accounts = parseAccounts(process.env["AZURITE_ACCOUNTS"]);
  for (const warning of command.warnings) printError(warning);
  const certificate = await readCertificate(command, fs);
  const stores = await openAll(accounts, command);
  const onRequest = command.debug === undefined ? undefined : await log(command.debug, fs);
  const onReset = command.allowReset ? resetAll : undefined;
  if (command.azurite)
    print(`Azurite Table service is starting on ${command.host}:${command.port}`);
  const server = await serve(stores, {
    port: command.port,
    host: command.host,
    limits: command.limits,
    feed: command.feed,
    ...certificate,
    ...(onRequest === undefined ? {} : { onRequest }),
    ...(onReset === undefined ? {} : { onReset }),
  }).catch((error: unknown) => {
    if (error instanceof StoreError) throw error;
    throw new Error(listenProblem(error, command), { cause: error });
  });
  closers.push(() => server.close());
  printEndpoints(server, command, accounts);
}

type Certificate = Pick<ServeOptions, "cert" | "key" | "pfx" | "passphrase">;

async function readCertificate(command: ServeCommand, fs: NodeFs): Promise<Certificate> {
  const { cert, key, password } = command;
  if (cert === undefined) return {};
  if (password !== undefined)
    return { pfx: await fs.promises.readFile(cert), passphrase: password };
  const text = (file: string) => fs.readFileSync(file, "utf8");
  return key === undefined ? {} : { cert: text(cert), key: text(key) };
}

// Restores the initial data of all stores, which are mock stores, because --allow-reset implies it.
async function resetAll(): Promise<void> {
  await Promise.all(resets.map((reset) => reset()));
}

async function openAll(
  accounts: ReadonlyMap<string, string[]>,
  command: ServeCommand,
): Promise<Record<string, Store>> {
  const { seedData, faults } = command;
  const files: Files = {
    fixtures: seedData === undefined ? {} : await readSeedFolder(seedData),
    faults: faults === undefined ? [] : await readFaultFile(faults),
  };
  const opening = [...accounts].map(async ([name, keys]): Promise<[string, Store]> => {
    const account = accountOptions(name, keys, command);
    // Clients are of any kind, and get the hint in a header; --debug logs their requests.
    const onWarning = ({ code, message }: StoreWarning) => {
      if (code !== "RequestRejected") printError(message);
    };
    const store = await open(command, files, { name, account, onWarning });
    store.on("persist-error", ({ error }) => printError(`${name}: ${error.message}`));
    return [name, store];
  });
  await Promise.allSettled(opening); // so that all stores are closed if one cannot be opened
  return Object.fromEntries(await Promise.all(opening));
}

type Files = Required<Pick<MockOptions, "fixtures" | "faults">>;
type Common = Pick<OpenOptions, "name" | "account" | "onWarning">;

async function open(command: ServeCommand, files: Files, more: Common): Promise<Store> {
  const { location, durability, mock } = command;
  if (mock !== undefined) {
    const store = await openMock(
      { ...mock, ...files, ...more },
      new RequestRecorder({ retains: false }),
    );
    closers.push(() => store.close());
    const autoAdvance = () => {
      // otherwise simulated delays would never end, because nothing else advances the clock
      store.clock.autoAdvance = mock.clock !== Date;
    };
    autoAdvance();
    resets.push(() => store.reset().then(autoAdvance));
    return store;
  }
  const kept: OpenOptions =
    location === undefined
      ? { persistence: "memory" }
      : { persistence: "file", path: location, durability };
  const store = await openStore({ ...kept, ...more });
  closers.push(() => store.close());
  await seedStore(store, files.fixtures);
  return store;
}

// Prints the URL of each account, and connection strings. A key of the user's own is a secret,
// which does not belong into logs.
function printEndpoints(
  server: TableServer,
  { location, host, azurite }: ServeCommand,
  accounts: ReadonlyMap<string, string[]>,
): void {
  const where = location === undefined ? "in memory" : `in ${location}`;
  for (const name of accounts.keys()) print(`${server.url}/${name} (${where})`);
  for (const [name, keys] of accounts) {
    const key = keys.includes(developmentKey) ? developmentKey : "<its key in AZURITE_ACCOUNTS>";
    print(connectionStringOf(name, key, `${reachable(server.url)}/${name}`));
  }
  if (!azurite) return;
  print(`Azurite Table service is successfully listening at ${server.url}`);
  print(`Azurite Table service successfully started on ${host}:${server.port}`);
}

// Returns the URL with an address that clients on this machine can use, if the server listens on
// all addresses.
function reachable(url: string): string {
  return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
}

// ---- The end ---------------------------------------------------------------------------------

// Stops the server. A second signal exits immediately.
function onSignal(): void {
  if (stopping !== undefined) process.exit(1);
  stopping = closeAll().then(
    () => process.exit(onStop.code),
    (error: unknown) => {
      printError(`${onStop.problem}: ${messageOf(error)}`);
      process.exit(1);
    },
  );
}

// Runs the cleanup steps. The server closes first, so that its pending requests are served and
// their writes stored.
async function closeAll(): Promise<void> {
  const failures: unknown[] = [];
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
    await close().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

async function fail(error: unknown): Promise<void> {
  if (error instanceof UsageError) {
    printError(`${error.message} (entitable --help)`);
    process.exit(2);
  }
  printError(messageOf(error));
  await closeAll().catch(() => {});
  process.exit(1);
}

function messageOf(error: unknown): string {
  const hint = error instanceof StoreError && error.hint !== undefined ? ` ${error.hint}` : "";
  return errorMessage(error) + hint;
}

function listenProblem(error: unknown, { host, port }: ServeCommand): string {
  switch (systemErrorCode(error)) {
    case "EADDRINUSE":
      return `port ${port} of ${host} is in use; say another one with --port.`;
    case "EACCES":
      return `port ${port} is not allowed; say another one with --port.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `${host} is no address of this machine.`;
    default:
      return `could not listen on ${host}, port ${port}: ${messageOf(error)}`;
  }
}

// ---- Small things ----------------------------------------------------------------------------

async function log(to: string | true, fs: NodeFs): Promise<(served: ServedRequest) => void> {
  if (to === true) return (served) => void print(lineOf(served));
  const { dirname } = await nodeModule("node:path");
  await fs.promises.mkdir(dirname(to), { recursive: true });
  fs.appendFileSync(to, ""); // reports an unwritable file now, not at the first request
  let complained = false;
  return (served) => {
    try {
      fs.appendFileSync(to, `${lineOf(served)}\n`);
    } catch (error) {
      if (!complained) printError(`cannot write to ${to}: ${messageOf(error)}`);
      complained = true;
    }
  };
}

function lineOf(served: ServedRequest): string {
  const { at, client, method, url, status, requestBytes, responseBytes, milliseconds } = served;
  const took = `${milliseconds.toFixed(1)} ms`;
  return [at.toISOString(), client, method, url, status, requestBytes, responseBytes, took].join(
    " ",
  );
}

function version(fs: NodeFs): string {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(fs.readFileSync(file, "utf8")) as { version: string }).version;
}
