// Takes out of the glue what nothing in it can call. Emscripten leaves out functions that are not used, but not methods: whoever
// needs a mount gets a whole file system, though no C code opens a file here.

import { createRequire } from "node:module";

const { parse } = createRequire(import.meta.url)("acorn"); // where emcc finds it: beside it, or in NODE_PATH

const fileSystem = new Set(["FS", "MEMFS", "IDBFS", "TTY", "PATH", "PATH_FS"]);
const requiredMethods = ["analyzePath", "mkdirTree", "mount", "getDB"]; // what web/src/wasm calls, by name

// Standard streams, and names for those who preload files into the file system.
const unusedInitializers = [
  /if\(!Module\["noFSInit"\]&&!FS\.init\.initialized\)FS\.init\(\);/g,
  /FS\.ignorePermissions=false;/g,
  /TTY\.init\(\);/g,
  /Module\["FS_[A-Za-z]+"\]=FS\.[A-Za-z]+;/g,
];

/** The glue without the methods that no code mentions which may run: by their names, so rather too few are taken. */
export function prune(glue) {
  const text = unusedInitializers.reduce((rest, pattern) => rest.replace(pattern, ""), glue);
  const program = parse(text, { ecmaVersion: "latest", sourceType: "module" });
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
  return removeRanges(text, [...unmentioned]);
}

function membersOfFileSystem(program) {
  const members = [];
  walk(program, (node) => {
    if (node.type === "VariableDeclarator" && node.init?.type === "ObjectExpression") {
      if (fileSystem.has(node.id.name)) members.push(...node.init.properties.filter(isMember));
    }
    return true;
  });
  return members;
}

// Not plain values: what is read may be written too.
function isMember({ type, computed, kind, value }) {
  const parts = ["FunctionExpression", "ArrowFunctionExpression", "ObjectExpression"];
  return type === "Property" && !computed && (kind !== "init" || parts.includes(value.type));
}

const nameOf = ({ key }) => key.name ?? key.value;

// The name that a node reads from some object, or may read: of texts it isn't known.
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
  let rest = text;
  for (const { start, end } of nodes.sort((a, b) => b.start - a.start)) {
    const comma = /^\s*,/.exec(rest.slice(end))?.[0].length ?? 0;
    rest = rest.slice(0, start) + rest.slice(end + comma);
  }
  return rest;
}
