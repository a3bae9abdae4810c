// Removes unused code from the glue. Emscripten removes unused functions, but not methods of
// objects: mounting a folder needs FS, and FS contains a whole file system that no C code uses
// here.

import { createRequire } from "node:module";

// Node finds acorn through NODE_PATH, as it does for emcc.
const { parse } = createRequire(import.meta.url)("acorn");

const fileSystem = new Set(["FS", "MEMFS", "IDBFS", "TTY", "PATH", "PATH_FS"]);
// The methods that web/src/wasm calls.
const requiredMethods = ["analyzePath", "mkdirTree", "mount", "getDB"];

// Make folders and devices that no code opens, set up the standard streams, export functions for
// preloaded files, and load the module, which web/src/wasm/module.ts does with `instantiateWasm`.
const unusedStatements = [
  /FS\.create(?:DefaultDirectories|DefaultDevices|SpecialDirectories)\(\);/g,
  /if\(!Module\["noFSInit"\]&&!FS\.(?:init\.)?initialized\)FS\.init\(\);/g,
  /FS\.ignorePermissions=false;/g,
  /TTY\.init\(\);/g,
  /Module\["FS_[A-Za-z]+"\]=FS\.[A-Za-z]+;/g,
  /instantiateAsync\([\w,]*\)\.catch\(readyPromiseReject\);return\{\}/g,
  /\{read_=\(url=>.*?\}\)\}(?=setWindowTitle=)/g,
];

// Only the removed statement for loading the module calls these.
const unusedFunctions = [
  "instantiateAsync",
  "instantiateArrayBuffer",
  "getBinaryPromise",
  "getBinary",
];

// The default URL of the complete module, which web/src/wasm never uses. Bundlers would add the
// file to every bundle.
const defaultUrl = /new URL\("entitable\.wasm",\s*import\.meta\.url\)\.(?:toString\(\)|href)/g;

// The operations of each kind of node. Only folders are made, in which IDBFS is mounted.
const nodeOperations = /(?<=MEMFS\.ops_table=)\{dir:\{.*?chrdev:\{.*?\}\}(?=\}|;)/g;
const folderOperations =
  "{dir:{node:{lookup:MEMFS.node_ops.lookup,mknod:MEMFS.node_ops.mknod},stream:{}}}";

/**
 * Returns the glue without its own URL, and without the methods whose name no reachable code
 * mentions. Two methods of the same name count as one, so some unused methods may stay.
 */
export function prune(glue) {
  const located = glue.replace(defaultUrl, '"entitable.wasm"').replaceAll("import.meta.url", '""');
  if (/new URL\("\w/.test(located))
    throw new Error("The glue has a URL that bundlers would follow.");
  const text = unusedStatements
    .reduce((rest, pattern) => rest.replace(pattern, ""), located)
    .replace(nodeOperations, folderOperations);
  // It would open devices that are not made.
  if (text.includes("FS.init()")) throw new Error("The glue still sets up the standard streams.");
  const program = parse(text, { ecmaVersion: "latest", sourceType: "module" });
  const loaders = functionsNamed(program, unusedFunctions);
  const members = membersOfFileSystem(program);
  const unmentioned = new Set(members);
  const mentioned = (name) => members.filter((m) => nameOf(m) === name && unmentioned.delete(m));
  const pending = [program];
  for (const name of requiredMethods) pending.push(...mentioned(name));
  for (let root = pending.pop(); root !== undefined; root = pending.pop()) {
    const start = root.type === "Property" ? root.value : root;
    walk(start, (node) => {
      if (unmentioned.has(node)) return false;
      const name = mention(node);
      if (name !== undefined) pending.push(...mentioned(name));
      return true;
    });
  }
  return removeRanges(text, [...unmentioned, ...loaders]);
}

function functionsNamed(program, names) {
  const found = [];
  walk(program, (node) => {
    if (node.type === "FunctionDeclaration" && names.includes(node.id.name)) found.push(node);
    return true;
  });
  return found;
}

function membersOfFileSystem(program) {
  const members = [];
  walk(program, (node) => {
    if (node.type === "VariableDeclarator" && node.init?.type === "ObjectExpression") {
      if (fileSystem.has(node.id.name)) members.push(...membersOf(node.init));
    }
    return true;
  });
  return members;
}

// Returns the members of an object, and of the objects in it.
function membersOf({ properties }) {
  const nested = ({ value }) => (value.type === "ObjectExpression" ? membersOf(value) : []);
  return properties.filter(isMember).flatMap((member) => [member, ...nested(member)]);
}

// Whether a property is a method, an accessor or an object. Plain values stay, because other code
// may assign them.
function isMember({ type, computed, kind, value }) {
  const parts = ["FunctionExpression", "ArrowFunctionExpression", "ObjectExpression"];
  return type === "Property" && !computed && (kind !== "init" || parts.includes(value.type));
}

const nameOf = ({ key }) => key.name ?? key.value;

// Returns the property name that a node reads. A string literal counts, because it may be used as a
// property name.
function mention(node) {
  if (node.type === "MemberExpression" && !node.computed) return node.property.name;
  return node.type === "Literal" && typeof node.value === "string" ? node.value : undefined;
}

function walk(node, visit) {
  if (Array.isArray(node)) {
    for (const child of node) walk(child, visit);
  } else if (typeof node?.type === "string" && visit(node)) {
    for (const child of Object.values(node)) walk(child, visit);
  }
}

function removeRanges(text, nodes) {
  const isInside = ({ start, end }) => nodes.some((n) => n.start < start && end < n.end);
  let rest = text;
  for (const { start, end } of nodes
    .filter((n) => !isInside(n))
    .sort((a, b) => b.start - a.start)) {
    const comma = /^\s*,/.exec(rest.slice(end))?.[0].length ?? 0;
    rest = rest.slice(0, start) + rest.slice(end + comma);
  }
  return rest;
}
