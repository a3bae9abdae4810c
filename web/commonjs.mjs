// The CommonJS form of the package, for programs that can't load ES modules: Jest, and `require` in
// Node before 20.19. The condition `require` in package.json names its files.
//
// All entries are in one bundle, so they share their state, and each runs when it is first
// required. Other conditions, which precede `require`, keep programs that know ES modules from
// loading both forms: `module-sync` is Node's and Deno's, `module` that of bundlers, `bun` that of
// Bun. The bundle contains no wasm: it loads the package's files.

import { writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

const web = import.meta.dirname;
const bundleName = "entitable.cjs";

/** Adds the bundle, and two small files for each entry: its code and its declarations. */
export async function addCommonJs({ build, dist, manifest, located }) {
  const folder = join(dist, "cjs");
  const entries = commonJsEntries(manifest);
  await build({
    stdin: { contents: accessors(entries), resolveDir: dirname(dist) },
    outfile: join(folder, bundleName),
    bundle: true,
    minify: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    packages: "external",
    legalComments: "linked", // the licences are in a file beside the bundle
    supported: { "dynamic-import": false }, // vm contexts have no import()
    inject: [join(web, "commonjs-globals.mjs")],
    define: { "import.meta.url": "fileUrl" },
    banner: { js: 'const fileUrl = require("node:url").pathToFileURL(__filename).href;' },
    plugins: [located(folder), inlineFromFile],
  });
  for (const { name, types } of entries) {
    const required = `require("./${bundleName}")[${JSON.stringify(name)}]()`;
    writeFileSync(join(folder, `${name}.cjs`), `module.exports = ${required};\n`);
    const declared = relative(folder, join(dirname(dist), types)).replace(/\.d\.ts$/, ".js");
    writeFileSync(join(folder, `${name}.d.cts`), `export * from "${declared}";\n`);
  }
}

// Returns the name of each CommonJS file, and the ES module and the declarations that it stands
// for.
function commonJsEntries({ exports }) {
  return Object.values(exports)
    .filter((entry) => entry.require !== undefined)
    .map(({ require, types, default: module }) => {
      return { name: basename(require, ".cjs"), module, types: types.default };
    });
}

// Returns the script that the bundle is made of: a function for each entry, which runs its module.
function accessors(entries) {
  const lines = entries.map(
    ({ name, module }) => `${JSON.stringify(name)}: () => require(${JSON.stringify(module)}),`,
  );
  return `module.exports = {\n${lines.join("\n")}\n};\n`;
}

// Reads the complete wasm module of `entitable/inline` from its file.
const inlineFromFile = {
  name: "inline-from-file",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/entitable-wasm-inline\.js$/ }, () => ({
      contents: `import { readFileSync } from "node:fs";
        import { join } from "node:path";
        export default readFileSync(join(__dirname, "../wasm/entitable.wasm"), "base64");`,
    })),
};
