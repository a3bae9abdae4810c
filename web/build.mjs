// node web/build.mjs [<folder of the built module>] [<folder for the package>]
//
// Builds the npm package from the TypeScript sources and the WebAssembly modules, packs it, and
// prints its sizes. Default folders: build/wasm/bindings and build/package. Writes staging/ (the
// package unpacked) and entitable-<version>.tgz.

import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
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
import { withAddresses, withSiteLinks } from "./addresses.ts";
import { addCommonJs } from "./commonjs.mjs";

const web = import.meta.dirname;
const root = dirname(web);
const moduleFolder = resolve(process.argv[2] ?? join(root, "build/wasm/bindings"));
const packageFolder = resolve(process.argv[3] ?? join(root, "build/package"));
const staging = join(packageFolder, "staging");
const dist = join(staging, "dist");
const tools = createRequire(join(root, "package.json")); // resolves the pinned tools

const binaries = Object.values(
  JSON.parse(readFileSync(join(root, "bindings/modules.json"), "utf8")),
);

// What bundles leave out: checks that run in development (src/client/development.ts).
const production = { "process.env.NODE_ENV": '"production"' };

const manifest = JSON.parse(readFileSync(join(web, "package.json"), "utf8"));

rmSync(staging, { recursive: true, force: true });
mkdirSync(join(dist, "wasm"), { recursive: true });
compile();
unwrapImports();
await bundle("rest/hmac.js", "@noble/hashes");
await bundle("explorer/module-imports.js", "es-module-lexer");
await addModule();
await addCommonJs({ build: tools("esbuild").build, dist, manifest, located });
await addElements();
await addServiceWorker();
await addWorkers();
cpSync(join(web, "src/jsx"), join(dist, "jsx"), { recursive: true });
rewriteTypeImports();
keepReachable(".d.ts");
keepReachable(".js");
const packed = JSON.stringify(withAddresses(manifest, process.env), undefined, 2);
writeFileSync(join(staging, "package.json"), `${packed}\n`);
const readme = readFileSync(join(web, "README.md"), "utf8");
writeFileSync(join(staging, "README.md"), withSiteLinks(readme, process.env));
copyFileSync(join(root, "LICENSE"), join(staging, "LICENSE"));
const tarball = pack();
printSizes(tarball);

function compile() {
  const tsc = join(root, "node_modules/.bin/tsc");
  const options = ["--noEmit", "false", "--outDir", dist];
  for (const project of ["tsconfig.json", "tsconfig.frameworks.json", "tsconfig.tools.json"]) {
    execFileSync(tsc, ["-p", join(web, project), ...options], { stdio: "inherit" });
  }
}

// The compiler wraps the argument of import(…) in a helper that rewrites relative paths. Bundlers
// would not find the comments in the argument that tell them to ignore it, and would warn. No such
// argument is a relative path, so the helper is removed.
function unwrapImports() {
  const name = "__rewriteRelativeImportExtension";
  const helper = new RegExp(`^var ${name} = [^]*?^};\n`, "m");
  const call = new RegExp(`import\\(${name}\\(([^()]*)\\)\\)`, "g");
  for (const path of globSync("**/*.js", { cwd: dist })) {
    const file = join(dist, path);
    const text = readFileSync(file, "utf8");
    const unwrapped = text.replace(helper, "").replace(call, "import($1)");
    if (unwrapped.includes(name)) throw new Error(`${path} has an import that was not unwrapped.`);
    if (unwrapped !== text) writeFileSync(file, unwrapped);
  }
}

// Bundles what file `name` imports from package `from` into it, with that package's licence. So our
// package has no run-time dependencies.
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

// Bundles the elements, and all of `entitable`, into one file for pages without a bundler. The URLs
// of the files that it loads are relative to the bundle.
async function addElements() {
  const { build } = tools("esbuild");
  const file = join(dist, "elements.js");
  await build({
    entryPoints: [file],
    outfile: file,
    allowOverwrite: true,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    define: production,
    // "browser" in package.json
    plugins: [located(dist), replaceFiles(/\/file-stores\.js$/, "export {};")],
  });
  markImports(file);
}

// Returns a plugin that makes URLs of the package's files relative to the folder of a bundle.
function located(folder) {
  const relativeUrl = /new URL\("(\.[\w./-]+)", import\.meta\.url\)/g;
  return {
    name: "located",
    setup: ({ onLoad }) =>
      onLoad({ filter: /\/(module-urls|start-worker|sync-script|command)\.js$/ }, ({ path }) => {
        const url = (_, file) =>
          `new URL("./${relative(folder, join(dirname(path), file))}", import.meta.url)`;
        return { contents: readFileSync(path, "utf8").replace(relativeUrl, url) };
      }),
  };
}

// Tells bundlers to ignore each import(variable) of a minified file, which has lost its comments.
function markImports(file) {
  const marked = "import(/* webpackIgnore: true */ $1)";
  writeFileSync(file, readFileSync(file, "utf8").replace(/\bimport\((\w+)\)/g, marked));
}

// Returns a plugin that replaces the contents of the files that match.
function replaceFiles(filter, contents) {
  return { name: "replace", setup: ({ onLoad }) => onLoad({ filter }, () => ({ contents })) };
}

// Builds the script of the Service Worker: a classic script that fetches the module from its own
// folder.
async function addServiceWorker() {
  await addScript("service-worker/main.js", "wasm/service-worker.js", "iife");
}

// Builds the script of a store's worker: an ES module. The page sends the compiled WebAssembly
// module. The script that syncs the store is another one, which the worker loads if it is needed.
async function addWorkers() {
  await addScript("worker/main.js", "worker/entitable-worker.js", "esm");
  await addScript("start-sync/sync-worker.js", "start-sync/entitable-sync-worker.js", "esm");
}

// Bundles a worker's script into one file. Leaves out what is loaded only in Node or only by pages.
// The file has no URL relative to import.meta.url, because a bundler would try to resolve the URL.
async function addScript(entry, name, format) {
  const { build } = tools("esbuild");
  const unused = /\/(file-stores|transfer\/\w+|bulk\/index)\.js$/;
  const { metafile } = await build({
    entryPoints: [join(dist, entry)],
    outfile: join(dist, name),
    bundle: true,
    minify: true,
    format,
    target: "es2022",
    define: { "import.meta.url": "self.location.href", ...production },
    plugins: [replaceFiles(unused, 'throw new Error("Not available in a worker.");')],
    metafile: true,
  });
  const left = Object.values(metafile.outputs).flatMap(({ imports }) => imports);
  if (left.length > 0) throw new Error(`${name} imports a module that a worker can't load.`);
  markImports(join(dist, name));
}

// Removes the files that no entry imports, directly or indirectly: declarations of internal files,
// and JavaScript of files that only declare types. They are not part of the package's interface.
function keepReachable(extension) {
  const reachable = new Set();
  const visit = (file) => {
    if (reachable.has(file) || !existsSync(file)) return;
    reachable.add(file);
    const text = readFileSync(file, "utf8");
    for (const [, path] of text.matchAll(/(?:from |import\(|new URL\()"(\.[^"]+)\.js"/g)) {
      visit(join(dirname(file), path + extension));
    }
  };
  for (const entry of entries(extension)) visit(join(dist, entry + extension));
  for (const name of globSync(`**/*${extension}`, { cwd: dist })) {
    const file = join(dist, name);
    if (!reachable.has(file)) rmSync(file);
  }
}

// Returns the files of dist that package.json lists, without extension. Commands have no
// declarations.
function entries(extension) {
  const exported = Object.values(manifest.exports).map((entry) =>
    extension === ".js" ? (entry.default ?? entry) : (entry.types?.default ?? entry.types ?? ""),
  );
  const commands = extension === ".js" ? Object.values(manifest.bin) : [];
  return [...exported, ...commands].flatMap(
    (path) => /^(?:\.\/)?dist\/(.+?)(?:\.d\.ts|\.js)$/.exec(path)?.[1] ?? [],
  );
}

// Rewrites imports of .ts files in declarations to .js. The compiler does so only in JavaScript.
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
  for (const name of [...binaries, "entitable-wasm-inline.js"]) {
    copyFileSync(join(moduleFolder, name), join(folder, name));
  }
}

// Packs staging/. Throws unless the packed files, which the list in package.json selects, are
// exactly the staged files. Returns the path of the tarball.
function pack() {
  const output = execFileSync(
    "npm",
    ["pack", "--json", "--ignore-scripts", "--pack-destination", packageFolder],
    { cwd: staging, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
  );
  const result = JSON.parse(output);
  // npm 12 returns an object whose keys are package names, older versions an array.
  const [packed] = Array.isArray(result) ? result : Object.values(result);
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
  const bundles = [
    "wasm/service-worker.js",
    "worker/entitable-worker.js",
    "start-sync/entitable-sync-worker.js",
    "elements.js",
  ].map((name) => join(dist, name));
  const [serviceWorker, worker, syncWorker, elements] = bundles;
  const scripts = globSync("**/*.js", { cwd: dist })
    .map((name) => join(dist, name))
    .filter((file) => ![inline, ...bundles].includes(file));
  const rows = [
    ["package code", scripts],
    ["glue", [glue]],
    ...binaries.map((name) => [name, [join(dist, "wasm", name)]]),
    ["entitable/inline", [inline]],
    ["service worker", [serviceWorker]],
    ["worker", [worker]],
    ["sync in a worker", [syncWorker]],
    ["entitable/elements", [elements]],
    ["CommonJS", [join(dist, "cjs/entitable.cjs")]],
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
