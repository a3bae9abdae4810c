// The URLs of the wasm files next to this package's code. They have their own file for code that
// does not import module.ts.

import { absoluteUrl, movedPackageFolder } from "../util/asset-url.ts";

// The URLs must be literals, so that bundlers find and copy the files. The functions throw if a
// bundler removed `import.meta.url`, or gave the file a URL without an origin and there is no page.
function primaryFile(): URL {
  return absoluteUrl(new URL("./entitable.core.wasm", import.meta.url));
}

/** Returns the URL of the deferred module if the files are next to the code. May throw. */
export function deferredFile(): URL {
  return absoluteUrl(new URL("./entitable.rest.wasm", import.meta.url));
}

let folder: Promise<URL | undefined> | undefined;

/**
 * Resolves to the folder of the package's files if they are not next to the code
 * (util/asset-url.ts); undefined: they are. Rejects if the files cannot be found; the caller may
 * try again.
 */
export function movedPackage(): Promise<URL | undefined> {
  folder ??= (async () => movedPackageFolder(primaryFile()))();
  folder.catch(() => {
    folder = undefined;
  });
  return folder;
}

/** Resolves to the URL of the primary module. Rejects like movedPackage(). */
export async function primaryModuleUrl(): Promise<URL> {
  const moved = await movedPackage();
  return moved === undefined ? primaryFile() : new URL("dist/wasm/entitable.core.wasm", moved);
}

/** Resolves to the URL of the deferred module. Rejects like movedPackage(). */
export async function deferredModuleUrl(): Promise<URL> {
  const moved = await movedPackage();
  return moved === undefined ? deferredFile() : new URL("dist/wasm/entitable.rest.wasm", moved);
}
