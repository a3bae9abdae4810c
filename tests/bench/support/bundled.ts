// A script for a page, in one file. The package itself is not bundled: it is served as users get it.

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export async function bundled(entry: URL): Promise<string> {
  const built = await build({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
    format: "esm",
    write: false,
    external: ["/dist/*"],
  });
  return built.outputFiles[0]?.text ?? "";
}
