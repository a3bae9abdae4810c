// node web/build.mjs [<folder of the built module>] [<folder for the package>]
//
// Puts the npm package together from the TypeScript sources and the WebAssembly build, packs it, and prints its sizes.
// Defaults: build/wasm/bindings and build/package. Result: staging/, the package as it is unpacked, and
// entitable-<version>.tgz.

import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

const web = import.meta.dirname;
const root = dirname(web);
const moduleFolder = resolve(process.argv[2] ?? join(root, "build/wasm/bindings"));
const packageFolder = resolve(process.argv[3] ?? join(root, "build/package"));
const staging = join(packageFolder, "staging");
const dist = join(staging, "dist");
const tools = createRequire(join(root, "package.json")); // where the pinned tools are

const binaries = ["entitable.wasm", "entitable.core.wasm", "entitable.rest.wasm"];

const manifest = JSON.parse(readFileSync(join(web, "package.json"), "utf8"));

rmSync(staging, { recursive: true, force: true });
mkdirSync(join(dist, "wasm"), { recursive: true });
compile();
await bundle("rest/hmac.js", "@noble/hashes");
await bundle("explorer/imports.js", "es-module-lexer");
await addModule();
await addServiceWorker();
await addWorker();
rewriteTypeImports();
keepReachable(".d.ts");
keepReachable(".js");
for (const [from, name] of [
  [web, "package.json"],
  [web, "README.md"],
  [root, "LICENSE"],
]) {
  copyFileSync(join(from, name), join(staging, name));
}
const tarball = pack();
printSizes(tarball);

function compile() {
  const tsc = join(root, "node_modules/.bin/tsc");
  const options = ["--noEmit", "false", "--outDir", dist];
  for (const project of ["tsconfig.json", "tsconfig.tools.json"]) {
    execFileSync(tsc, ["-p", join(web, project), ...options], { stdio: "inherit" });
  }
}

// Puts what a file imports from another package into it, with that one's licence: the package has no run-time dependencies.
async function bundle(name, from) {
  const { build } = tools("esbuild");
  const file = join(dist, name);
  const modules = join(root, "node_modules");
  const licence = readFileSync(join(modules, from, "LICENSE"), "utf8").trim();
  await build({
    entryPoints: [file],
    outfile: file,
    allowOverwrite: true,
    nodePaths: [modules],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    banner: { js: `/*! Contains ${from}:\n\n${licence}\n*/` },
  });
}

// The Service Worker's script: classic, and it finds the binary beside itself.
async function addServiceWorker() {
  await addScript("service-worker/main.js", "wasm/service-worker.js", "iife");
}

// The script of a store's worker: a module. The page sends it the binary.
async function addWorker() {
  await addScript("worker/main.js", "worker/entitable-worker.js", "esm");
}

// One file with everything in it but the binary. What is loaded only in Node, by pages that need it, or where that binary is missing, stays out; and there is
// no URL relative to a module in it that a bundler would look for.
async function addScript(entry, name, format) {
  const { build } = tools("esbuild");
  const contents = 'throw new Error("A worker has none.");';
  const leaveOut = {
    name: "leave-out",
    setup: ({ onLoad }) =>
      onLoad(
        { filter: /\/(file-stores|entitable-wasm-inline|transfer\/\w+|bulk\/index)\.js$/ },
        () => ({
          contents,
        }),
      ),
  };
  const { metafile } = await build({
    entryPoints: [join(dist, entry)],
    outfile: join(dist, name),
    bundle: true,
    minify: true,
    format,
    target: "es2022",
    define: { "import.meta.url": "self.location.href" },
    plugins: [leaveOut],
    metafile: true,
  });
  const left = Object.values(metafile.outputs).flatMap(({ imports }) => imports);
  if (left.length > 0) throw new Error(`${name} imports what it can't load.`);
}

// Keeps what the entries lead to. The rest (declarations of what is inside, JavaScript of files that hold only
// types) would be weight, and the declarations an invitation to import it.
function keepReachable(extension) {
  const reachable = new Set();
  const visit = (file) => {
    if (reachable.has(file) || !existsSync(file)) return;
    reachable.add(file);
    const text = readFileSync(file, "utf8");
    for (const [, path] of text.matchAll(/(?:from |import\()"(\.[^"]+)\.js"/g)) {
      visit(join(dirname(file), path + extension));
    }
  };
  for (const entry of entries(extension)) visit(join(dist, entry + extension));
  for (const name of globSync(`**/*${extension}`, { cwd: dist })) {
    const file = join(dist, name);
    if (!reachable.has(file)) rmSync(file);
  }
}

// The files of dist that package.json names, without ending. A command has nothing to declare.
function entries(extension) {
  const exported = Object.values(manifest.exports).map((entry) =>
    extension === ".js" ? (entry.default ?? entry) : (entry.types ?? ""),
  );
  const commands = extension === ".js" ? Object.values(manifest.bin) : [];
  return [...exported, ...commands].flatMap(
    (path) => /^(?:\.\/)?dist\/(.+?)(?:\.d\.ts|\.js)$/.exec(path)?.[1] ?? [],
  );
}

// The compiler rewrites the endings of imports in JavaScript only.
function rewriteTypeImports() {
  for (const name of globSync("**/*.d.ts", { cwd: dist })) {
    const file = join(dist, name);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace(/(from |import\()"(\.[^"]+)\.ts"/g, '$1"$2.js"'));
  }
}

async function addModule() {
  const glue = readFileSync(join(moduleFolder, "entitable.mjs"), "utf8");
  const { transform } = tools("esbuild");
  const minified = await transform(glue, { minify: true, format: "esm", legalComments: "none" });
  const folder = join(dist, "wasm");
  writeFileSync(join(folder, "entitable.mjs"), minified.code);
  // The last is for where no second file can be fetched: a bundler that copies no assets, a server that answers with HTML.
  for (const name of [...binaries, "entitable-wasm-inline.js"]) {
    copyFileSync(join(moduleFolder, name), join(folder, name));
  }
}

// What package.json's allow-list lets in is compared with what was put together, in both directions.
function pack() {
  const output = execFileSync(
    "npm",
    ["pack", "--json", "--ignore-scripts", "--pack-destination", packageFolder],
    { cwd: staging, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
  );
  const result = JSON.parse(output);
  const [packed] = Array.isArray(result) ? result : Object.values(result); // npm 12 answers by name
  const inside = packed.files.map(({ path }) => path).sort();
  const staged = globSync("**/*", { cwd: staging, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(staging, join(entry.parentPath, entry.name)))
    .sort();
  if (inside.join("\n") !== staged.join("\n")) {
    throw new Error(`Packed and staged differ:\n${inside.join("\n")}\n---\n${staged.join("\n")}`);
  }
  const file = join(packageFolder, `${manifest.name}-${manifest.version}.tgz`);
  if (!existsSync(file)) throw new Error(`npm pack did not write ${file}`);
  return file;
}

function printSizes(tarball) {
  const glue = join(dist, "wasm/entitable.mjs");
  const inline = join(dist, "wasm/entitable-wasm-inline.js");
  const workers = ["wasm/service-worker.js", "worker/entitable-worker.js"];
  const [serviceWorker, worker] = workers.map((name) => join(dist, name));
  const scripts = globSync("**/*.js", { cwd: dist })
    .map((name) => join(dist, name))
    .filter((file) => ![inline, serviceWorker, worker].includes(file));
  const rows = [
    ["package code", scripts],
    ["glue", [glue]],
    ...binaries.map((name) => [name, [join(dist, "wasm", name)]]),
    ["wasm inline (fallback)", [inline]],
    ["service worker", [serviceWorker]],
    ["worker", [worker]],
  ];
  process.stdout.write(`${"".padEnd(24)}${["raw", "gzip", "brotli"].map(right).join("")}\n`);
  for (const [name, files] of rows) {
    const bytes = Buffer.concat(files.map((file) => readFileSync(file)));
    const sizes = [
      bytes.length,
      gzipSync(bytes, { level: 9 }).length,
      brotliCompressSync(bytes).length,
    ];
    process.stdout.write(`${name.padEnd(24)}${sizes.map(right).join("")}\n`);
  }
  const packed = readFileSync(tarball).length;
  process.stdout.write(`${"tarball".padEnd(24)}${right(packed)}  ${relative(root, tarball)}\n`);
}

function right(value) {
  return String(value).padStart(10);
}
