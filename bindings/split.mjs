// node split.mjs <folder> <folder of Binaryen's tools> [names]
//
// Cuts the module in two: entitable-tables.wasm has all that tables need, entitable-more.wasm what only some pages call, and joins
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
const [whole, first, second] = ["entitable", "entitable-tables", "entitable-more"].map((name) =>
  join(folder, `${name}.wasm`),
);
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
const exported = [
  ...["handle", "describe", "refuse", "outcome", "next_snapshot_piece", "begin_restore"],
  ...["restore", "restored", "begin_replace", "stage_merge", "fork", "keep", "rollback", "forget"],
].map((name) => `entitable_${name}`);
// The same inside of calls that have other work too, and by embind. What was inlined is not found, and stays.
const inside = [
  /^entitable::protocol::(handle|read_request|write_response)\(/, // a group of writes with an HTTP request in it
  /^entitable::explain\(/, // a read block that asks for a plan
  /^entitable::execute_as_service\(/, // a query that is to read what the service would
  /^\(anonymous namespace\)::verify\(/,
  /^__getTypeName$/, // for what embind says of mistakes in our own bindings
];
// Functions whose address is taken, though nobody has it but what moves: of these rooms, and what the library makes of their types.
const taken =
  /^(entitable::(protocol|json)::|nlohmann::|(decltype\(auto\) )?std::.*(entitable::protocol::|nlohmann::)|\(anonymous namespace\)::verify\()/;

const isDoor = (name) => exported.includes(name) || inside.some((door) => door.test(name));
const scratch = mkdtempSync(join(tmpdir(), "entitable-split-"));
try {
  if (names === "names") for (const half of [first, second]) copyFileSync(whole, half);
  else split();
} finally {
  rmSync(scratch, { recursive: true });
}

function split() {
  const { calls, roots } = read(whole);
  for (const name of exported) if (!calls.has(name)) throw new Error(`No ${name} to cut at.`);
  const others = roots.filter((name) => !isDoor(name));
  cut(reach(others, calls), [...calls.keys()]);
  for (const file of [first, second])
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
      roots.push(...namesIn(line).filter(stays));
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
function stays(name, _, all) {
  const own = name.startsWith("entitable::") ? name.replace(/\((?!anonymous).*/, "") : name;
  return !taken.test(own) || all.indexOf(name) !== all.lastIndexOf(name);
}

function reach(roots, calls) {
  const reached = new Set(roots);
  for (const name of reached) {
    for (const callee of calls.get(name) ?? []) if (!isDoor(callee)) reached.add(callee);
  }
  return reached;
}

// Functions without names are called by their numbers.
function cut(kept, functions) {
  const list = join(scratch, "kept");
  writeFileSync(list, functions.flatMap((name, i) => (kept.has(name) ? [i] : [])).join("\n"));
  const outputs = ["-o1", first, "-o2", second];
  run("wasm-opt", whole, ...features, "--strip-debug", "-o", whole);
  run(
    "wasm-split",
    whole,
    "--split",
    ...features,
    `--keep-funcs=@${list}`,
    ...outputs,
    "--export-prefix=%",
  );
  for (const file of [first, second]) run("wasm-opt", file, ...features, "-O3", "-o", file);
}

function run(tool, ...args) {
  execFileSync(join(tools, tool), args, { stdio: "inherit" });
}
