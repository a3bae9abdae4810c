// Runs a docker-compose file and a CI script that are written for Azurite: the services with
// Azurite and with this package, and the CI job with the packed package, which npm installs from a
// registry of this test. There is no Docker here: the services' commands run on this machine, with
// other ports and folders, as Docker would map them.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { TableClient } from "@azure/data-tables";
import { resolveEveryHostToLoopback } from "../web/support/sdk-environments.ts";
import { freePort } from "./backends.ts";

const timeout = 180_000;
const commandTimeout = timeout - 20_000; // ends first, so that the command's output is reported
const checkTimeout = 5000;
const root = fileURLToPath(new URL("../../", import.meta.url));
const scripts = join(root, "tests/differential/azurite-scripts");
const tools = join(root, "tests/differential/node_modules");
const compose = await readFile(join(scripts, "docker-compose.yml"), "utf8");
const ci = await readFile(join(scripts, "ci.sh"), "utf8");

let folder: string;
let packages: Server;
let env: NodeJS.ProcessEnv; // with npm's settings, and the programs that it installs
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "entitable-"));
  packages = await startRegistry();
  const bin = join(folder, "bin");
  const settings = {
    registry: `http://127.0.0.1:${(packages.address() as AddressInfo).port}/`,
    prefix: folder,
    cache: join(folder, "cache"),
    audit: "false",
    fund: "false",
    update_notifier: "false",
  };
  const npm = Object.entries(settings).map(([name, value]) => [`npm_config_${name}`, value]);
  env = { ...process.env, ...Object.fromEntries(npm) };
  env["PATH"] = [bin, join(tools, ".bin"), env["PATH"]].join(delimiter);
  delete env["AZURITE_ACCOUNTS"];
  delete env["NODE_TEST_CONTEXT"]; // the job's suite is no part of this one
  await mkdir(bin);
  await writeFile(join(bin, "nc"), netcat, { mode: 0o755 });
});
after(async () => {
  await Promise.all([...running].map((group) => group.stop("SIGKILL")));
  packages.close();
  await rm(folder, { recursive: true });
});

// `nc -z HOST PORT` of the images, which few machines have.
const netcat = `#!/usr/bin/env bash
[[ $1 == -z ]] && exec 3<>"/dev/tcp/$2/$3"
`;

// ---- Processes ---------------------------------------------------------------------------------

const running = new Set<ProcessGroup>();

// A command and the processes that it starts.
class ProcessGroup {
  output = "";
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;

  constructor(
    command: string,
    words: readonly string[],
    options: { cwd?: string; env: NodeJS.ProcessEnv } = { env },
  ) {
    this.#child = spawn(command, words, { ...options, detached: true });
    running.add(this);
    this.#closed = once(this.#child, "close").finally(() => running.delete(this));
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
      });
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async stop(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const { pid } = this.#child;
    try {
      if (pid !== undefined) process.kill(-pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // it has ended already
    }
    await this.#closed;
  }

  // Returns whether the command ended with status 0 within `ms`. It is killed after that time.
  async succeeds(ms: number): Promise<boolean> {
    const timer = setTimeout(() => void this.stop("SIGKILL"), ms);
    await this.#closed;
    clearTimeout(timer);
    return this.#child.exitCode === 0;
  }
}

// Runs a command to its end and returns its output.
async function run(
  command: string,
  words: readonly string[],
  options?: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<string> {
  const group = new ProcessGroup(command, words, options);
  const succeeded = await group.succeeds(commandTimeout);
  assert(succeeded, `${command} failed: ${group.output}`);
  return group.output;
}

// Runs a service's health check every now and then until it passes.
async function becomesHealthy(
  service: ProcessGroup,
  [command = "", ...words]: readonly string[],
): Promise<void> {
  const deadline = Date.now() + timeout / 2;
  while (!(await new ProcessGroup(command, words).succeeds(checkTimeout))) {
    const isStarting = !service.hasEnded && Date.now() < deadline;
    assert(isStarting, `not healthy: ${service.output}`);
    await sleep(100);
  }
}

// Serves the packed package as the registry of npm would.
async function startRegistry(): Promise<Server> {
  const built = join(root, "build/package");
  const [tarball = ""] = (await readdir(built)).filter((name) => name.endsWith(".tgz"));
  const manifest = JSON.parse(await readFile(join(built, "staging/package.json"), "utf8"));
  const { name, version } = manifest;
  const server = createServer(async ({ url, headers: { host } }, response) => {
    const dist = { tarball: `http://${host}/${tarball}` };
    const versions = { [version]: { ...manifest, dist } };
    const document = { name, "dist-tags": { latest: version }, versions };
    if (url === `/${name}`) response.end(JSON.stringify(document));
    else if (url === `/${tarball}`) response.end(await readFile(join(built, tarball)));
    else response.writeHead(404).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

// ---- What was changed --------------------------------------------------------------------------

// Returns the pairs of a line for Azurite, in a comment, and the line that takes its place.
function changedLines(text: string): [azurites: string, ours: string][] {
  return [...text.matchAll(/^( *)# (.*\bazurite\b.*)\n(.*)$/gm)]
    .filter(([, , , next]) => !/^ *#/.test(next ?? ""))
    .map(([, indent = "", azurites = "", ours = ""]) => [indent + azurites, ours]);
}

for (const [name, text, changes] of [
  ["docker-compose.yml", compose, 4],
  ["ci.sh", ci, 2],
] as const) {
  test(`only names were changed in ${name}`, () => {
    const changed = changedLines(text);
    assert.equal(changed.length, changes);
    for (const [azurites, ours] of changed)
      assert.equal(
        ours,
        /\bnpm install\b/.test(azurites)
          ? azurites.replace("azurite", "entitable")
          : azurites.replace(/mcr\S*\/azurite|azurite-table|azurite/, "entitable-azurite"),
      );
    const own = text.split("\n").filter((line) => /entitable/.test(line) && !/^ *#/.test(line));
    assert.deepEqual(
      own,
      changed.map(([, ours]) => ours),
    );
  });
}

// ---- Services ----------------------------------------------------------------------------------

interface Service {
  command: string;
  env: Record<string, string>;
  healthCheck: readonly string[];
}

// Reads a service of the file, with Azurite's lines or with ours.
function readService(name: string, isAzurite: boolean): Service {
  const [, block = ""] = new RegExp(`^  ${name}:\\n((?:    .*\\n)+)`, "m").exec(compose) ?? [];
  const value = (key: string, of = block) => {
    const [, text = ""] = new RegExp(`^ *${key}: (.*)$`, "m").exec(of) ?? [];
    return text.startsWith('"') || text.startsWith("[") ? JSON.parse(text) : text;
  };
  const [, variables = ""] = /^ {4}environment:\n((?: {6}.*\n)+)/m.exec(block) ?? [];
  const names = [...variables.matchAll(/^ *(\w+):/gm)].map(([, name = ""]) => name);
  const check = value("test");
  return {
    command: value(isAzurite ? "# command" : "command"),
    env: Object.fromEntries(names.map((name) => [name, value(name, variables)])),
    healthCheck: Array.isArray(check) ? check.slice(1) : ["sh", "-c", check],
  };
}

// Maps the ports and the folder of a container to those of this machine.
async function mapping(data: string): Promise<(text: string) => string> {
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  return (text) =>
    text
      .replace(/\b1000([012])\b/g, (_, port) => String(ports[port]))
      .replace(/(?<=\s)\/data\b/g, data);
}

test("the health checks use only commands of both images", () => {
  for (const name of ["tables", "storage"])
    assert.match(readService(name, false).healthCheck.join(" "), /^(sh -c )?(nc|wget) -/);
});

describe("the services of a docker-compose file", () => {
  before(() => run("npm", ["install", "--global", "entitable"]));
  const connections = readService("app", false).env;

  for (const name of ["tables", "storage"]) {
    for (const whose of ["Azurite", "entitable"]) {
      test(`${name}, with ${whose}`, { timeout }, async () => {
        const service = readService(name, whose === "Azurite");
        const data = await mkdtemp(join(folder, "data-"));
        const map = await mapping(data);
        const options = { cwd: data, env: { ...env, ...service.env } };
        const start = () => new ProcessGroup("sh", ["-c", `exec ${map(service.command)}`], options);
        const check = service.healthCheck.map(map);
        const first = start();
        await becomesHealthy(first, check);
        const loopback = { allowInsecureConnection: true, ...resolveEveryHostToLoopback() };
        const connection = map(connections[name.toUpperCase()] ?? "");
        const { hostname } = new URL(/TableEndpoint=(.*);/.exec(connection)?.[1] ?? "");
        assert.equal(isIP(hostname), 0); // the name of the service
        const people = TableClient.fromConnectionString(connection, "people", loopback);
        await people.createTable();
        await people.createEntity({ partitionKey: "p", rowKey: "r", age: 3 });
        await first.stop("SIGTERM");
        assert.match(
          first.output,
          /^Azurite Table service (?:is )?successfully (?:listening|started)/m,
        );
        if (whose === "Azurite") return; // it stores data and its log only after a while
        const log = await readFile(join(data, "debug.log"), "utf8");
        assert.match(log, /POST .*\/people/);
        const second = start();
        await becomesHealthy(second, check);
        assert.equal((await people.getEntity("p", "r"))["age"], 3);
        await second.stop("SIGTERM");
      });
    }
  }
});

// ---- The CI job --------------------------------------------------------------------------------

test("a CI job", { timeout }, async () => {
  const job = join(folder, "job");
  await cp(scripts, job, { recursive: true });
  const linked = [
    [join(root, "node_modules/@azure/data-tables"), "@azure/data-tables"],
    [join(tools, ".bin/wait-on"), ".bin/wait-on"],
  ] as const;
  for (const [target, link] of linked) {
    const path = join(job, "node_modules", link);
    await mkdir(dirname(path), { recursive: true });
    await symlink(target, path);
  }
  const own = { ...env, TABLE_PORT: String(await freePort()) };
  const output = await run(join(job, "ci.sh"), [], { cwd: job, env: own });
  assert.match(output, /^ℹ pass 2$/m);
  assert.match(await readFile(join(job, "data/debug.log"), "utf8"), / POST http/);
});
