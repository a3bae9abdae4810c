// node split.mjs <folder> <folder of Binaryen's tools> [names]
//
// Cuts the module in two: entitable.core.wasm has all that tables need, entitable.rest.wasm what only some pages call, and joins
// the first when one of them does (web/src/wasm). entitable.wasm stays as it is, but for the names of its functions, by which they
// are told apart here and which nobody needs later.
//
// Only what can be reached through a door below, and in no other way, moves. Where that can't be seen a function stays: one too
// many only weighs, while a call of one that is not there would fail.
//
// With "names", for profiles and debuggers, they stay, and nothing is cut: what has the names of the halves is the whole then, twice.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [folder, tools, names] = process.argv.slice(2);
const [completeFile, primaryFile, deferredFile] = [
  "entitable",
  "entitable.core",
  "entitable.rest",
].map((name) => join(folder, `${name}.wasm`));
// What emcc of any version may have used, which not all of them say in the file, and halves need to share the pointer to the stack.
const features = [
  "bulk-memory",
  "exception-handling",
  "multivalue",
  "mutable-globals",
  "nontrapping-float-to-int",
  "sign-ext",
].map((name) => `--enable-${name}`);
const leastBytes = 150_000; // of each; less, and what is sought below has other names by now

// Exports that engine.ts calls only when the second half is there. Each must be found.
const deferredExports = [
  ...[
    "rest_read",
    "describe_request",
    "make_error_response",
    "response_outcome",
    "next_snapshot_chunk",
    "begin_restore",
  ],
  ...[
    "restore_chunk",
    "finish_restore",
    "begin_replace",
    "stage_merge",
    "fork",
    "retain_version",
    "rollback_to_version",
    "release_version",
  ],
].map((name) => `entitable_${name}`);
// The same inside of calls that have other work too, and by embind. What was inlined is not found, and stays.
const deferredFunctions = [
  /^entitable::rest::(handle|decode_http_request|encode_http_response)\(/, // a group of writes with an HTTP request in it
  /^entitable::explain\(/, // a read block that asks for a plan
  /^entitable::execute_as_service\(/, // a query that is to read what the service would
  /^\(anonymous namespace\)::verify\(/,
  /^__getTypeName$/, // for what embind says of mistakes in our own bindings
];
// Functions whose address is taken, though nobody has it but what moves: of these rooms, and what the library makes of their types.
const deferredAddressTaken =
  /^(entitable::(protocol|json)::|nlohmann::|(decltype\(auto\) )?std::.*(entitable::rest::|nlohmann::)|\(anonymous namespace\)::verify\()/;

const isDeferredEntryPoint = (name) =>
  deferredExports.includes(name) || deferredFunctions.some((pattern) => pattern.test(name));
const scratch = mkdtempSync(join(tmpdir(), "entitable-split-"));
try {
  if (names === "names")
    for (const file of [primaryFile, deferredFile]) copyFileSync(completeFile, file);
  else split();
} finally {
  rmSync(scratch, { recursive: true });
}

function split() {
  const { calls, roots } = read(completeFile);
  for (const name of deferredExports)
    if (!calls.has(name)) throw new Error(`No ${name} to split at.`);
  const others = roots.filter((name) => !isDeferredEntryPoint(name));
  splitModule(reach(others, calls), [...calls.keys()]);
  for (const file of [primaryFile, deferredFile])
    if (statSync(file).size < leastBytes) throw new Error(`${file} is too small to be true.`);
}

// Of each function of the module, in order, what it calls; and those that may be called by others.
function read(file) {
  const text = join(scratch, "whole.wat");
  run("wasm-dis", file, "-o", text);
  const calls = new Map();
  const roots = [];
  let current = [];
  for (const line of readFileSync(text, "utf8").split("\n")) {
    if (line.startsWith(" (func $")) {
      current = [];
      calls.set(namesIn(line)[0], current);
    } else if (line.startsWith(" (elem")) {
      roots.push(...namesIn(line).filter(staysInPrimary));
    } else if (/^ \((export|start)/.test(line)) {
      roots.push(...namesIn(line));
    } else if (/\((call|return_call|ref\.func) \$/.test(line)) {
      current.push(namesIn(line)[0]);
    }
  }
  return { calls, roots: roots.filter((name) => calls.has(name)) };
}

// As C++ has them.
function namesIn(line) {
  const byte = (_, code) => String.fromCharCode(Number.parseInt(code, 16));
  const found = [...line.matchAll(/ \$("[^"]*"|[^\s)]+)/g)];
  return found.map(([, name]) => name.replace(/^"|"$/g, "").replace(/\\([0-9a-f]{2})/g, byte));
}

// Of the functions whose address is taken. What is there twice has become one of several that do the same, and has the name of any.
function staysInPrimary(name, _, all) {
  const own = name.startsWith("entitable::") ? name.replace(/\((?!anonymous).*/, "") : name;
  return !deferredAddressTaken.test(own) || all.indexOf(name) !== all.lastIndexOf(name);
}

function reach(roots, calls) {
  const reached = new Set(roots);
  for (const name of reached) {
    for (const callee of calls.get(name) ?? [])
      if (!isDeferredEntryPoint(callee)) reached.add(callee);
  }
  return reached;
}

// Functions without names are called by their numbers.
function splitModule(primaryFunctions, functions) {
  const list = join(scratch, "kept");
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
