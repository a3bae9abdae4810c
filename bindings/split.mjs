// node split.mjs <folder> <folder of Binaryen's tools> [names]
//
// Splits entitable.wasm into the primary module (entitable.core.wasm), which has everything that
// tables need, and the deferred module (entitable.rest.wasm), which web/src/wasm links to the
// primary module when a call needs it. entitable.wasm stays complete and loses only its function
// names, which this script needs.
//
// deferred-functions.json lists what moves. A function moves if it is reachable only through the
// listed functions. A function whose callers are unknown stays in the primary module: that costs a
// few bytes, while a call of a missing function would fail. An entry of the list that moves nothing
// fails the build.
//
// With "names" (profiles, debuggers) the names stay and nothing is split: the files of the primary
// and the deferred module are copies of the complete module.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const readList = (name) => JSON.parse(readFileSync(join(import.meta.dirname, name), "utf8"));
const modules = readList("modules.json");

// `exports`: C exports that web/src/wasm/wasm-engine.ts calls only after the deferred module is
//     linked.
// `functions`: C++ functions, without parameters, that other exports call for some requests only.
// `addressTaken`: namespaces and functions. Their functions in the function table may move, because
//     only deferred functions call through these pointers.
const deferred = readList("deferred-functions.json");

const [folder, tools, names] = process.argv.slice(2);
const [completeFile, primaryFile, deferredFile] = [
  modules.complete,
  modules.primary,
  modules.deferred,
].map((name) => join(folder, name));
// Features that emcc of any version may have used, and that not every version records in the file.
// mutable-globals: both modules share the stack pointer.
const features = [
  "bulk-memory",
  "exception-handling",
  "multivalue",
  "mutable-globals",
  "nontrapping-float-to-int",
  "sign-ext",
].map((name) => `--enable-${name}`);
const moduleBytesMin = 150_000; // a smaller module means that the list no longer fits the code

const scratch = mkdtempSync(join(tmpdir(), "entitable-split-"));
try {
  if (names === "names")
    for (const file of [primaryFile, deferredFile]) copyFileSync(completeFile, file);
  else split();
} finally {
  rmSync(scratch, { recursive: true });
}

function split() {
  const { calls, roots, table } = readCallGraph(completeFile);
  const entryPoints = new Set([...calls.keys()].filter(isEntryPoint));
  const primaryFunctions = reachableFrom(roots, calls, entryPoints);
  checkList([...calls.keys()], table, primaryFunctions);
  splitModule(primaryFunctions, [...calls.keys()]);
  for (const file of [primaryFile, deferredFile])
    if (statSync(file).size < moduleBytesMin) throw new Error(`${file} is too small.`);
}

// Returns the callees of each function, in the order of the module; the functions that code outside
// the module or unknown code may call; and the functions in the function table.
function readCallGraph(file) {
  const text = join(scratch, "complete.wat");
  run("wasm-dis", file, "-o", text);
  const calls = new Map();
  const roots = [];
  const table = [];
  let current = [];
  for (const line of readFileSync(text, "utf8").split("\n")) {
    if (line.startsWith(" (func $")) {
      current = [];
      calls.set(namesIn(line)[0], current);
    } else if (line.startsWith(" (elem")) {
      table.push(...namesIn(line));
    } else if (/^ \((export|start)/.test(line)) {
      roots.push(...namesIn(line).filter((name) => !isEntryPoint(name)));
    } else if (/\((call|return_call|ref\.func) \$/.test(line)) {
      current.push(namesIn(line)[0]);
    }
  }
  roots.push(...table.filter((name) => staysInPrimary(name, table)));
  return { calls, roots: roots.filter((name) => calls.has(name)), table };
}

// Returns the function names of a line, as C++ writes them.
function namesIn(line) {
  const byte = (_, code) => String.fromCharCode(Number.parseInt(code, 16));
  const found = [...line.matchAll(/ \$("[^"]*"|[^\s)]+)/g)];
  return found.map(([, name]) => name.replace(/^"|"$/g, "").replace(/\\([0-9a-f]{2})/g, byte));
}

function withoutParameters(name) {
  return name.replace(/\((?!anonymous).*/, "");
}

function isEntryPoint(name) {
  return deferred.exports.includes(name) || deferred.functions.includes(withoutParameters(name));
}

// A name that is in the table twice belongs to several identical functions that the optimiser
// merged: other code may call it by its other names, so it stays.
function staysInPrimary(name, table) {
  const movable = deferred.addressTaken.some((entry) => isAddressTakenBy(name, entry));
  return !movable || table.indexOf(name) !== table.lastIndexOf(name);
}

// Whether a function in the table belongs to the entry: by its own name, or as an instance of a
// template of the standard library with a type of that namespace.
function isAddressTakenBy(name, entry) {
  if (!entry.endsWith("::")) return withoutParameters(name) === entry;
  if (name.startsWith("entitable::")) return withoutParameters(name).startsWith(entry);
  return (
    name.startsWith(entry) || (/^(decltype\(auto\) )?std::/.test(name) && name.includes(entry))
  );
}

function reachableFrom(roots, calls, entryPoints) {
  const reached = new Set(roots);
  for (const name of reached) {
    for (const callee of calls.get(name) ?? []) if (!entryPoints.has(callee)) reached.add(callee);
  }
  return reached;
}

// REQUIRES: `functions` are all functions of the module. Throws if an entry of the list matches no
// function, or if what it matches stays in the primary module. With any version of the tools
// (scripts/setup) it only warns, because other compilers inline other functions.
function checkList(functions, table, primaryFunctions) {
  const matches = [
    ...deferred.exports.map((entry) => [entry, functions.filter((name) => name === entry)]),
    ...deferred.functions.map((entry) => [
      entry,
      functions.filter((name) => withoutParameters(name) === entry),
    ]),
  ];
  for (const [entry, matching] of matches) {
    if (matching.length === 0) fail(entry, "matches no function: renamed, or inlined");
    const stays = matching.find((name) => primaryFunctions.has(name));
    if (stays !== undefined) fail(entry, `stays in the primary module, as ${stays}`);
  }
  for (const entry of deferred.addressTaken) {
    const matching = table.filter((name) => isAddressTakenBy(name, entry));
    if (matching.length === 0) fail(entry, "matches no function whose address is taken");
    if (matching.every((name) => primaryFunctions.has(name)))
      fail(entry, "moves no function: the primary module reaches all of them");
  }
}

function fail(entry, reason) {
  const message = `bindings/deferred-functions.json: "${entry}" ${reason}.`;
  if (process.env.ENTITABLE_ANY_VERSION === undefined) throw new Error(message);
  console.warn(message);
}

// The names are stripped first, so wasm-split takes the functions by their numbers.
function splitModule(primaryFunctions, functions) {
  const list = join(scratch, "primary-functions");
  writeFileSync(
    list,
    functions.flatMap((name, i) => (primaryFunctions.has(name) ? [i] : [])).join("\n"),
  );
  const outputs = ["-o1", primaryFile, "-o2", deferredFile];
  run("wasm-opt", completeFile, ...features, "--strip-debug", "-o", completeFile);
  run(
    "wasm-split",
    completeFile,
    "--split",
    ...features,
    `--keep-funcs=@${list}`,
    ...outputs,
    "--export-prefix=%",
  );
  for (const file of [primaryFile, deferredFile])
    run("wasm-opt", file, ...features, "-O3", "-o", file);
}

function run(tool, ...args) {
  execFileSync(join(tools, tool), args, { stdio: "inherit" });
}
