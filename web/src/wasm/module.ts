// Finds, checks and instantiates the WebAssembly module.
//
// The complete module is entitable.wasm. The same code also exists in five files
// (bindings/split.mjs): the *primary module* (entitable.core.wasm) has everything that tables need.
// The *deferred modules* have the rest, and are linked to the primary module when a call needs
// them: entitable.live.wasm for live queries and the change feed, entitable.snapshot.wasm for
// snapshots, restoring and verifying, entitable.sync.wasm for synced tables, and
// entitable.rest.wasm for the others.
//
// Without the option `wasm`, the primary module is loaded from its file (module-urls.ts). In Node,
// the file is read with node:fs; elsewhere, it is compiled while it streams in. No other copy of
// the engine is tried if that fails, because a bundler would then add each copy to every bundle.

import { StoreError } from "../errors.ts";
import { absoluteUrl } from "../util/asset-url.ts";
import { nodeModule, nodeProcess } from "../util/node.ts";
import { errorMessage, isPlatformObject, isUrl } from "../util/platform-objects.ts";
import createModule, { buildId, type EntitableModule } from "./entitable.mjs";
import { patchIdbfs } from "./idbfs-patch.ts";
import { NoModuleError, statusError } from "./module-missing.ts";
import {
  type DeferredModuleName,
  deferredFileName,
  deferredModuleNames,
  deferredModuleUrl,
  primaryModuleUrl,
} from "./module-urls.ts";

export { buildId };

export type WasmSource = string | URL | Response | BufferSource | WebAssembly.Module;

/**
 * An instance with its own memory.
 * @internal (its type is that of the generated entitable.mjs, which the package's declarations
 * omit)
 */
export interface Instantiated {
  readonly module: EntitableModule;
  /** The primary module's exports, for linkDeferredModule(). undefined: the module is complete. */
  readonly exports: WebAssembly.Exports | undefined;
}

/**
 * Compiles and instantiates a module. Rejects like compileModule().
 * @internal
 */
export async function instantiate(source?: WasmSource): Promise<EntitableModule> {
  return (await instantiateCompiled(compileModule(source))).module;
}

/**
 * Returns the given module, or the primary module, compiled. Any number of instances can be created
 * from it. Rejects with StoreError WasmLoadFailed or WasmVersionMismatch.
 */
export async function compileModule(source?: WasmSource): Promise<WebAssembly.Module> {
  const compiled = await (source === undefined ? compilePrimary() : compile(source));
  checkBuild(compiled);
  return compiled;
}

// Writes and close() wait for the download of a deferred module, so it must end.
const downloadSecondsMax = 60;

/**
 * Links a deferred module to an instance of the primary module. The URL defaults to the file next
 * to the code. Rejects with the errors of compileModule(), also if the download takes longer than
 * downloadSecondsMax; the caller may try again.
 * @internal
 */
export async function linkDeferredModule(
  name: DeferredModuleName,
  exports: WebAssembly.Exports,
  given?: string,
): Promise<void> {
  const fileName = deferredFileName(name);
  try {
    const url = given ?? (await deferredModuleUrl(name)).href;
    const compiled = await cached(url, () => compileUrlInTime(new URL(url)));
    checkBuild(compiled, fileName, url);
    await WebAssembly.instantiate(compiled, { primary: exports as WebAssembly.ModuleImports });
  } catch (error) {
    throw loadFailed("could not be loaded", error, fileName);
  }
}

async function compileUrlInTime(url: URL): Promise<WebAssembly.Module> {
  const abort = new AbortController();
  const late = new Error(`the download did not end within ${downloadSecondsMax} seconds`);
  const timer = setTimeout(() => abort.abort(late), downloadSecondsMax * 1000);
  try {
    return await compileUrl(url, abort.signal);
  } catch (error) {
    throw abort.signal.aborted ? late : error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * If the source is a URL, starts to fetch and compile the primary module; the result is cached, and
 * a failure is reported when the module is used. Returns whether the caller may create an instance
 * early. It may not if the source can be read only once, or if it would be compiled twice.
 */
export function prefetchModule(source: WasmSource | undefined): boolean {
  if (source !== undefined && typeof source !== "string" && !isUrl(source)) return isModule(source);
  compileModule(source).catch(() => {});
  return true;
}

/**
 * Creates an instance of a module that may still be compiling. The JavaScript part (entitable.mjs)
 * is set up while it compiles. Rejects with the errors of compileModule().
 * @internal
 */
export function instantiateCompiled(
  compiling: WebAssembly.Module | Promise<WebAssembly.Module>,
): Promise<Instantiated> {
  return new Promise((resolve, reject) => {
    let exports: WebAssembly.Exports | undefined;
    const fail = (cause: unknown) => reject(loadFailed("could not be instantiated", cause));
    createModule({
      instantiateWasm(imports, done) {
        const instantiate = async () => {
          const compiled = await compiling;
          const placeholders = deferredPlaceholders(compiled);
          const all = { ...imports, ...placeholders };
          const instance = await WebAssembly.instantiate(compiled, all);
          if (Object.keys(placeholders).length > 0) exports = instance.exports;
          done(instance, compiled);
        };
        instantiate().catch(fail);
        return {};
      },
      locateFile: (path) => path, // not called, because instantiateWasm supplies the module
      print: () => {},
      printErr: () => {},
    }).then((module) => {
      patchIdbfs(module.IDBFS);
      resolve({ module, exports });
    }, fail);
  });
}

// ---- Primary and deferred modules ---------------------------------------------------------------

// Returns placeholders for the primary module's imports from deferred modules. Calling one of them
// is a bug.
function deferredPlaceholders(compiled: WebAssembly.Module): WebAssembly.Imports {
  const all = WebAssembly.Module.imports(compiled).map(({ module }) => module);
  return Object.fromEntries(
    all.filter((name) => name.startsWith("placeholder")).map((name) => [name, throwingImports]),
  );
}

// Returns the file name of a compiled module, which is the complete or the primary one.
function moduleFileName(compiled: WebAssembly.Module): string {
  const isPrimary = Object.keys(deferredPlaceholders(compiled)).length > 0;
  return isPrimary ? primaryName : "entitable.wasm";
}

const throwingImports: WebAssembly.ModuleImports = new Proxy(
  {},
  {
    get: () => () => {
      throw new Error("a deferred module is not loaded");
    },
  },
);

// ---- Build id -----------------------------------------------------------------------------------

// Throws WasmVersionMismatch if the module is of another build than entitable.mjs. Both files
// contain a build id (bindings/stamp.mjs). A module of another build might link without an error
// and then behave differently.
function checkBuild(
  compiled: WebAssembly.Module,
  name = moduleFileName(compiled),
  url?: string,
): void {
  const section = WebAssembly.Module.customSections(compiled, "entitable")[0];
  const found = section === undefined ? "none" : new TextDecoder().decode(section);
  if (found === buildId) return;
  // The next attempt must fetch the module again. For a deferred module (`url`), the primary
  // module stays cached, because the file at its URL may be of another build by now.
  if (url === undefined) compiledByUrl.clear();
  else compiledByUrl.delete(url);
  throw new StoreError(
    "WasmVersionMismatch",
    `${name} is of another build than its JavaScript: found ${found}, expected ${buildId}.`,
    { hint: buildHint(name) },
  );
}

const primaryName = "entitable.core.wasm";
const deferredFileNames = deferredModuleNames.map(deferredFileName);

function buildHint(name: string): string {
  if (deferredFileNames.includes(name)) return redeployedHint(name);
  return `Serve the ${name} of the same package version; clear caches that hold an older one.`;
}

function redeployedHint(name: string): string {
  return (
    "Reload the page, because the site may have been redeployed since the page was loaded. If " +
    `that does not help, serve the ${name} of the same package version.`
  );
}

function loadFailed(what: string, cause: unknown, name = "entitable.wasm"): StoreError {
  if (cause instanceof StoreError) return cause;
  const reason = errorMessage(cause);
  const hint = hints[name] ?? optionHint;
  return new StoreError("WasmLoadFailed", `${name} ${what}: ${reason}`, { cause, hint });
}

const optionHint =
  "Pass its location: openStore({ wasm: url }), or its bytes, a Response or a WebAssembly.Module. " +
  "A Content-Security-Policy needs script-src with 'wasm-unsafe-eval'.";

// By file, for files that the package loads itself.
const hints: Readonly<Record<string, string>> = {
  [primaryName]:
    'On a server, do not bundle the package (Next.js: serverExternalPackages: ["entitable"]). In a ' +
    `page, copy ${[primaryName, ...deferredFileNames].join(", ")} to the folder of the bundle ` +
    "(they are in node_modules/entitable/dist/wasm), or import { wasm } from 'entitable/inline' " +
    "for openStore({ wasm }).",
  ...Object.fromEntries(deferredFileNames.map((name) => [name, redeployedHint(name)])),
};

// ---- Sources ------------------------------------------------------------------------------------

// Compiled modules by URL. They are immutable, so all stores of a page share them. A module that
// failed to load is removed, so that the next attempt loads it again.
const compiledByUrl = new Map<string, Promise<WebAssembly.Module>>();

function cached(url: string, load: () => Promise<WebAssembly.Module>): Promise<WebAssembly.Module> {
  let module = compiledByUrl.get(url);
  if (module === undefined) {
    module = load();
    compiledByUrl.set(url, module);
    module.catch(() => compiledByUrl.delete(url));
  }
  return module;
}

async function compile(source: WasmSource): Promise<WebAssembly.Module> {
  try {
    if (typeof source === "string" || isUrl(source)) {
      const url = absoluteUrl(source);
      return await cached(url.href, () => compileUrl(url));
    }
    if (isModule(source)) return source;
    if (isResponse(source)) return await compileResponse(source);
    return await compileBytes(source);
  } catch (error) {
    throw loadFailed("could not be loaded from the `wasm` option", error);
  }
}

function isModule(source: object): source is WebAssembly.Module {
  return isPlatformObject(source, "WebAssembly.Module");
}
function isResponse(source: object): source is Response {
  return isPlatformObject(source, "Response");
}

async function compilePrimary(): Promise<WebAssembly.Module> {
  try {
    const url = await primaryModuleUrl();
    return await cached(url.href, () => compileUrl(url));
  } catch (error) {
    throw loadFailed("could not be loaded", error, primaryName);
  }
}

async function compileUrl(url: URL, signal?: AbortSignal): Promise<WebAssembly.Module> {
  if (url.protocol === "file:" && nodeProcess() !== undefined) {
    const { promises } = await nodeModule("node:fs");
    const bytes = promises.readFile(url).catch(({ message }: Error) => {
      throw new NoModuleError(message);
    });
    return compileBytes(await bytes);
  }
  return compileResponse(await fetch(url, { credentials: "same-origin", signal: signal ?? null }));
}

async function compileResponse(response: Response): Promise<WebAssembly.Module> {
  if (!response.ok) throw statusError(response.status, response.url);
  // Streaming compilation requires this content type. Otherwise the bytes are compiled.
  const type = response.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (type === "application/wasm" && WebAssembly.compileStreaming !== undefined) {
    return WebAssembly.compileStreaming(response);
  }
  return compileBytes(await response.arrayBuffer());
}

async function compileBytes(source: BufferSource): Promise<WebAssembly.Module> {
  const bytes = ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
  if (bytes[0] !== 0x00 || bytes[1] !== 0x61 || bytes[2] !== 0x73 || bytes[3] !== 0x6d) {
    throw new NoModuleError("what was found is not a WebAssembly module");
  }
  return WebAssembly.compile(bytes as BufferSource);
}
