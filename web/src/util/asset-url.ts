// The URLs of files that the package loads while it runs.

import { StoreError } from "../errors.ts";

/**
 * Returns the absolute form of a URL. Next.js gives files URLs without an origin, as objects that
 * only look like a URL. Throws TypeError if there is no base, as in Node.
 */
export function absoluteUrl(url: string | URL): URL {
  const base = globalThis as { document?: { baseURI: string }; location?: { href: string } };
  return new URL(url, base.document?.baseURI ?? base.location?.href);
}

/**
 * Returns the package's folder on Vite's dev server, given the URL of a wasm file; undefined: the
 * file is at its URL. Before version 8, that server bundles a dependency into its folder "deps",
 * without the files that the dependency loads by URL. Rejects with StoreError WasmLoadFailed if the
 * folder cannot be found.
 */
export async function movedPackageFolder({ href, pathname }: URL): Promise<URL | undefined> {
  const [, base, file] = /^(.*?\/)(?:@fs|node_modules)\/.*\/deps\/([\w.]+)$/.exec(pathname) ?? [];
  if (base === undefined) return undefined;
  const inRoot = new URL(`${base}node_modules/entitable/`, href);
  const found = await fetch(new URL("package.json", inRoot), { method: "HEAD" });
  if (found.ok && !isPage(found)) return inRoot;
  // The package is installed above the root of the site, as in a workspace. Vite resolves it.
  const resolved = await fetch(new URL(`${base}@id/entitable/${file}?import&url`, href));
  const [, path] =
    /"([^"]*\/)dist\/wasm\//.exec(isPage(resolved) ? "" : await resolved.text()) ?? [];
  if (path === undefined) throw movedByViteError();
  return new URL(path, href);
}

function movedByViteError(): StoreError {
  const hint = 'Add this line to vite.config: optimizeDeps: { exclude: ["entitable"] }';
  const message = `Vite's dev server moved this package's code away from its files. ${hint}`;
  return new StoreError("WasmLoadFailed", message, { hint });
}

// Whether a dev server responded with the site's page, as it does for unknown paths.
function isPage(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/html") === true;
}
