// node split.mjs <folder> <folder of Binaryen's tools> [names]
//
// Splits entitable.wasm into the primary module (entitable.core.wasm), which has everything that
// tables need, and the deferred modules, which web/src/wasm links to the primary module when a call
// needs them: entitable.rest.wasm (the REST protocol, plans, versions), entitable.live.wasm (live
// queries and the change feed), entitable.snapshot.wasm (snapshots, restoring, verifying) and
// entitable.sync.wasm (synced tables).
// entitable.wasm stays complete and loses only its function names, which this script needs.
//
// deferred-functions.json lists for each deferred module what moves into it. A function moves if it
// is reachable only through the functions that are listed for one module. Other functions stay in
// the primary module: those that several modules need, and those whose callers are unknown. That
// costs a few bytes, while a call of a missing function would fail. An entry of the list that moves
// nothing fails the build.
//
// With "names" (profiles, debuggers) the names stay and nothing is split: the files of the primary
// and the deferred modules are copies of the complete module.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withoutTableMaximum } from "./wasm-binary.mjs";

const readList = (name) => JSON.parse(readFileSync(join(import.meta.dirname, name), "utf8"));
const modules = readList("modules.json");

// By deferred module:
// `bytesMin`: a smaller module means that the list no longer fits the code.
// `exports`: C exports that web/src/wasm/wasm-engine.ts calls only after the module is linked.
// `functions`: C++ functions, without parameters, that other functions call for some requests only,
//     or only while what they need is open, which a function of the module has opened.
// `addressTaken`: namespaces and functions. Their functions in the function table may move, because
//     these pointers are called only while the module is linked.
const deferred = readList("deferred-functions.json");
const deferredNames = Object.keys(deferred);

const [folder, tools, names] = process.argv.slice(2);
const fileOf = (module) => join(folder, modules[module]);
const splitNames = ["primary", ...deferredNames];
const primaryBytesMin = 150_000;
// Features that emcc of any version may have used, and that not every version records in the file.
// mutable-globals: the modules share the stack pointer.
const features = [
  "bulk-memory",
  "exception-handling",
  "multivalue",
  "mutable-globals",
  "nontrapping-float-to-int",
  "sign-ext",
].map((name) => `--enable-${name}`);

const scratch = mkdtempSync(join(tmpdir(), "entitable-split-"));
try {
  if (names === "names")
    for (const module of splitNames) copyFileSync(fileOf("complete"), fileOf(module));
  else split();
} finally {
  rmSync(scratch, { recursive: true });
}

function split() {
  const { calls, roots, table } = readCallGraph(fileOf("complete"));
  const functions = [...calls.keys()];
  const moduleOf = placeFunctions(calls, roots, table);
  for (const module of deferredNames) checkList(module, functions, table, moduleOf);
  splitModule(functions, moduleOf);
  for (const module of splitNames) {
    const bytesMin = deferred[module]?.bytesMin ?? primaryBytesMin;
    if (statSync(fileOf(module)).size < bytesMin) throw new Error(`${module} is too small.`);
  }
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
      roots.push(...namesIn(line).filter((name) => moduleEnteredBy(name) === undefined));
    } else if (/\((call|return_call|ref\.func) \$/.test(line)) {
      current.push(namesIn(line)[0]);
    }
  }
  roots.push(...table.filter((name) => moduleOfTableFunction(name, table) === undefined));
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

// Returns the deferred module whose list has the function as an entry point.
function moduleEnteredBy(name) {
  return deferredNames.find(
    (module) =>
      deferred[module].exports.includes(name) ||
      deferred[module].functions.includes(withoutParameters(name)),
  );
}

// Returns the deferred module into which a function of the table may move. A name that is in the
// table twice belongs to several identical functions that the optimiser merged: other code may call
// it by its other names, so it stays.
function moduleOfTableFunction(name, table) {
  if (table.indexOf(name) !== table.lastIndexOf(name)) return undefined;
  return deferredNames.find((module) =>
    deferred[module].addressTaken.some((entry) => isAddressTakenBy(name, entry)),
  );
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

// Returns the deferred module of each function that moves.
function placeFunctions(calls, roots, table) {
  const primary = reachableFrom(roots, calls);
  const moduleOf = new Map();
  const shared = new Set();
  for (const module of deferredNames) {
    const entryPoints = [...calls.keys()].filter((name) => moduleEnteredBy(name) === module);
    const pointers = table.filter((name) => moduleOfTableFunction(name, table) === module);
    for (const name of reachableFrom([...entryPoints, ...pointers], calls)) {
      if (moduleOf.has(name)) shared.add(name);
      else if (!primary.has(name)) moduleOf.set(name, module);
    }
  }
  for (const name of shared) moduleOf.delete(name);
  return moduleOf;
}

// Entry points are not followed: they are called through the function table.
function reachableFrom(roots, calls) {
  const reached = new Set(roots);
  for (const name of reached) {
    for (const callee of calls.get(name) ?? [])
      if (moduleEnteredBy(callee) === undefined) reached.add(callee);
  }
  return reached;
}

// REQUIRES: `functions` are all functions. Throws if an entry of the module's list matches no
// function, or if what it matches does not move into the module. With any version of the tools
// (scripts/setup) it only warns, because other compilers inline other functions.
function checkList(module, functions, table, moduleOf) {
  const { exports, functions: listed, addressTaken } = deferred[module];
  const moves = (name) => moduleOf.get(name) === module;
  const matches = [
    ...exports.map((entry) => [entry, functions.filter((name) => name === entry)]),
    ...listed.map((entry) => [
      entry,
      functions.filter((name) => withoutParameters(name) === entry),
    ]),
  ];
  for (const [entry, matching] of matches) {
    if (matching.length === 0) fail(entry, "matches no function: renamed, or inlined");
    const stays = matching.find((name) => !moves(name));
    if (stays !== undefined) fail(entry, `does not move into ${modules[module]}, as ${stays}`);
  }
  for (const entry of addressTaken) {
    const matching = table.filter((name) => isAddressTakenBy(name, entry));
    if (matching.length === 0) fail(entry, "matches no function whose address is taken");
    if (!matching.some(moves)) fail(entry, `moves no function into ${modules[module]}`);
  }
}

function fail(entry, reason) {
  const message = `bindings/deferred-functions.json: "${entry}" ${reason}.`;
  if (process.env.ENTITABLE_ANY_VERSION === undefined) throw new Error(message);
  console.warn(message);
}

// Splits off one deferred module after the other. The names are stripped first, so wasm-split takes
// the functions by their numbers, in what is left of the primary module. It adds functions after
// them, for exports that moved.
function splitModule(functions, moduleOf) {
  const primary = join(scratch, "primary.wasm");
  run("wasm-opt", fileOf("complete"), ...features, "--strip-debug", "-o", fileOf("complete"));
  copyFileSync(fileOf("complete"), primary);
  let left = functions;
  for (const module of deferredNames) {
    const list = join(scratch, `functions-of-${module}`);
    const numbers = left.flatMap((name, i) => (moduleOf.get(name) === module ? [i] : []));
    writeFileSync(list, numbers.join("\n"));
    const outputs = ["-o1", primary, "-o2", fileOf(module), "--export-prefix=%"];
    run("wasm-split", primary, "--split", ...features, `--split-funcs=@${list}`, ...outputs);
    left = left.filter((name) => moduleOf.get(name) !== module);
  }
  copyFileSync(primary, fileOf("primary"));
  for (const module of splitNames)
    run("wasm-opt", fileOf(module), ...features, "-O3", "-o", fileOf(module));
  // Each split enlarges the table, so the one that it was split from has another maximum.
  for (const module of deferredNames)
    writeFileSync(fileOf(module), withoutTableMaximum(readFileSync(fileOf(module))));
}

function run(tool, ...args) {
  execFileSync(join(tools, tool), args, { stdio: "inherit" });
}
