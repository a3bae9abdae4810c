// The URLs of the wasm files next to this package's code. They have their own file for code that
// does not import module.ts.

import { absoluteUrl, movedPackageFolder } from "../util/asset-url.ts";

/** The deferred modules (module.ts). */
export type DeferredModuleName = "rest" | "live" | "snapshot" | "sync";
export const deferredModuleNames: readonly DeferredModuleName[] = [
  "rest",
  "live",
  "snapshot",
  "sync",
];
export type DeferredModuleUrls = Readonly<Record<DeferredModuleName, string>>;

export function deferredFileName(name: DeferredModuleName): string {
  return `entitable.${name}.wasm`;
}

// The URLs must be literals, so that bundlers find and copy the files. The functions throw if a
// bundler removed `import.meta.url`, or gave the file a URL without an origin and there is no page.
function primaryFile(): URL {
  return absoluteUrl(new URL("./entitable.core.wasm", import.meta.url));
}

const deferredFiles: Readonly<Record<DeferredModuleName, () => URL>> = {
  rest: () => absoluteUrl(new URL("./entitable.rest.wasm", import.meta.url)),
  live: () => absoluteUrl(new URL("./entitable.live.wasm", import.meta.url)),
  snapshot: () => absoluteUrl(new URL("./entitable.snapshot.wasm", import.meta.url)),
  sync: () => absoluteUrl(new URL("./entitable.sync.wasm", import.meta.url)),
};

/** Returns the URL of a deferred module if the files are next to the code. May throw. */
export function deferredFile(name: DeferredModuleName): URL {
  return deferredFiles[name]();
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

/** Resolves to the URL of a deferred module. Rejects like movedPackage(). */
export async function deferredModuleUrl(name: DeferredModuleName): Promise<URL> {
  const moved = await movedPackage();
  if (moved === undefined) return deferredFile(name);
  return new URL(`dist/wasm/${deferredFileName(name)}`, moved);
}

/** Resolves to the URLs of all deferred modules. Rejects like movedPackage(). */
export async function deferredModuleUrls(): Promise<DeferredModuleUrls> {
  const entries = deferredModuleNames.map(
    async (name) => [name, (await deferredModuleUrl(name)).href] as const,
  );
  return Object.fromEntries(await Promise.all(entries)) as DeferredModuleUrls;
}
