// Bundles applications in the frameworks that the package has entries for. The frameworks are
// installed by tests/types.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Plugin, transform } from "esbuild";
import { linkFrameworks, newProject } from "../../web/support/project.ts";

const types = fileURLToPath(new URL("../../types/package.json", import.meta.url));
const folder = fileURLToPath(new URL("../frameworks", import.meta.url));
const required = createRequire(types);

export interface Variant {
  readonly name: string;
  readonly application: string; // the name of its file in ../frameworks
  readonly server: string; // renders the application
  readonly jsxImportSource?: string;
  readonly reactVersion?: 18;
}

const react = {
  application: "react.jsx",
  server: "react-server.jsx",
  jsxImportSource: "react",
} as const;

export const variants: readonly Variant[] = [
  { name: "React 19", ...react },
  { name: "React 18", ...react, reactVersion: 18 },
  {
    name: "Preact",
    application: "preact.jsx",
    server: "preact-server.jsx",
    jsxImportSource: "preact",
  },
  { name: "Vue", application: "vue.js", server: "vue-server.js" },
  { name: "Svelte", application: "svelte.js", server: "svelte-server.js" },
  { name: "Solid", application: "solid.jsx", server: "solid-server.jsx" },
];

/** A project with the package and the frameworks. */
export class FrameworkProject {
  readonly path = newProject([]);

  constructor() {
    linkFrameworks(this.path);
  }

  /** Returns the script of a page with the application and the contract. */
  async pageScript(variant: Variant): Promise<string> {
    const source = `import * as framework from "./${variant.application}";
      import * as entitable from "entitable";
      import { mountMany, runContract } from "./contract-tests.ts";
      import { takeRendered, takeShown } from "./rendered.js";
      const environment = { entitable, takeRendered, takeShown };
      globalThis.contract = {
        run: (html) => runContract({ ...framework, html }, environment),
        mountMany: (count) => mountMany(framework, environment, count),
      };`;
    return await this.#bundle(variant, source, { platform: "browser", format: "esm" });
  }

  /** Returns what the server renders, and what belongs in the page's head. */
  async serverHtml(variant: Variant): Promise<{ html: string; head: string }> {
    const source = `import * as server from "./${variant.server}";
      import { serverInputs } from "./contract.ts";
      export const html = () => server.render(serverInputs);
      export const head = server.head ?? "";`;
    const script = await this.#bundle(variant, source, { platform: "node", format: "cjs" });
    const file = join(this.path, `${variant.name.replace(" ", "-")}-server.cjs`);
    writeFileSync(file, script);
    const { html, head } = createRequire(file)(file);
    return { html: await html(), head };
  }

  async #bundle(variant: Variant, contents: string, options: BuildOptions): Promise<string> {
    const isServer = options.platform === "node";
    const { outputFiles } = await build({
      ...options,
      stdin: { contents, resolveDir: folder, loader: "js" },
      bundle: true,
      write: false,
      outdir: join(this.path, "dist"),
      nodePaths: [join(this.path, "node_modules")],
      conditions: ["development", "module", isServer ? "node" : "browser"],
      jsx: "automatic",
      ...(variant.jsxImportSource && { jsxImportSource: variant.jsxImportSource }),
      logLevel: "error",
      plugins: [
        compileSvelte(isServer),
        compileSolid(/frameworks\/solid.*\.jsx$/, isServer ? "ssr" : "dom"),
        ...this.#reactVersion(variant),
      ],
      define: {
        "process.env.NODE_ENV": '"development"',
        __VUE_OPTIONS_API__: "true",
        __VUE_PROD_DEVTOOLS__: "false",
        __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false",
        ...(isServer && { "import.meta.url": '"file:///"' }),
      },
    });
    return outputFiles?.[0]?.text ?? "";
  }

  // React 18 is installed under other names.
  #reactVersion({ reactVersion }: Variant): Plugin[] {
    if (reactVersion === undefined) return [];
    const setup: Plugin["setup"] = ({ onResolve, resolve }) =>
      onResolve({ filter: /^react(-dom)?(\/|$)/ }, ({ path, kind }) => {
        const [, name = "", rest = ""] = /^(react(?:-dom)?)(.*)$/.exec(path) ?? [];
        return resolve(`${name}${reactVersion}${rest}`, { kind, resolveDir: this.path });
      });
    return [{ name: "react-version", setup }];
  }

  remove(): void {
    rmSync(this.path, { recursive: true });
  }
}

function compileSvelte(isServer: boolean): Plugin {
  return {
    name: "svelte",
    setup: ({ onLoad }) =>
      onLoad({ filter: /\.svelte$/ }, ({ path: filename }) => {
        const { compile } = required("svelte/compiler");
        const generate = isServer ? "server" : "client";
        const { js } = compile(readFileSync(filename, "utf8"), { filename, generate, dev: true });
        return { contents: js.code, loader: "js" };
      }),
  };
}

/** Compiles JSX of Solid, after removing types. */
export function compileSolid(filter: RegExp, generate: "dom" | "ssr"): Plugin {
  return {
    name: "solid",
    setup: ({ onLoad }) =>
      onLoad({ filter }, async ({ path }) => {
        const { transformAsync } = required("@babel/core");
        const preset = required("babel-preset-solid");
        const source = readFileSync(path, "utf8");
        const { code: untyped } = await transform(source, { loader: "tsx", jsx: "preserve" });
        const { code } = await transformAsync(untyped, {
          filename: path,
          presets: [[preset, { generate, hydratable: true }]],
          configFile: false,
          babelrc: false,
        });
        return { contents: code, loader: "js", resolveDir: dirname(path) };
      }),
  };
}
