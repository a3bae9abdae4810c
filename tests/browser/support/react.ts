// Bundles React applications for pages that serve the package under /dist. React is installed by
// the example.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = new URL("../../../", import.meta.url);

/** Returns the bundled script of an application written in JSX. */
export async function bundleReact(application: string): Promise<string> {
  execFileSync(fileURLToPath(new URL("scripts/setup", root)), ["demo/example"]);
  const { outputFiles } = await build({
    stdin: {
      contents: application,
      resolveDir: fileURLToPath(new URL("demo/example", root)),
      loader: "jsx",
    },
    bundle: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    external: ["/dist/*"],
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return outputFiles[0]?.text ?? "";
}
