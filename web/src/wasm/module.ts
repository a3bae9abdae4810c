// Finds, checks and instantiates the WebAssembly module.
//
// It comes whole, as entitable.wasm, or in halves (bindings/split.mjs): entitable.core.wasm, with all that tables need, and
// entitable.rest.wasm, which joins the first when it is called for.
//
// Without an explicit `wasm` option these places are tried: the file beside this one by its literal URL (bundlers see it
// and copy the file), read with node:fs under Node and streamed elsewhere; then, if what is found there is no module (404, an
// HTML page, cut off), the whole one instead of a half, and a JavaScript module that carries its bytes inline.

import { StoreError } from "../errors.ts";
import { deferredModuleUrl } from "./deferred-module.ts";
import createModule, { buildId, type EntitableModule } from "./entitable.mjs";
import { patchIdbfs } from "./idbfs-patch.ts";

export { buildId };

export type WasmSource = string | URL | Response | BufferSource | WebAssembly.Module;

/**
 * An instance with memory of its own.
 * @internal (its type is the glue's, which the package's declarations do without)
 */
export interface Instantiated {
  readonly module: EntitableModule;
  /** What the second half is to be joined to, before anything is called that bindings/split.mjs lists. Undefined: it is whole. */
  readonly exports: WebAssembly.Exports | undefined;
}

/**
 * The module of one that is whole. Rejects as compileModule().
 * @internal
 */
export async function instantiate(source?: WasmSource): Promise<EntitableModule> {
  return (await instantiateCompiled(compileModule(source))).module;
}

/** The code, which any number of instances may share. Rejects with StoreError WasmLoadFailed or WasmVersionMismatch. */
export async function compileModule(
  source?: WasmSource,
  wanted: "complete" | "primary" = "complete",
): Promise<WebAssembly.Module> {
  const compiled = await (source === undefined ? findModule(wanted) : compile(source));
  checkBuild(compiled);
  return compiled;
}

/**
 * Joins the second half, from there or from beside this code, to an instance of the first one. Rejects as compileModule(); then it
 * may be tried again.
 * @internal
 */
export async function linkDeferredModule(
  exports: WebAssembly.Exports,
  url = deferredModuleUrl(),
): Promise<void> {
  const name = "entitable.rest.wasm";
  try {
    if (url === undefined) throw new Error("nothing says where it is");
    const compiled = await cached(url, () => compileUrl(new URL(url)));
    checkBuild(compiled, name, url);
    await WebAssembly.instantiate(compiled, { primary: exports as WebAssembly.ModuleImports });
  } catch (error) {
    throw loadFailed("could not be loaded", error, name);
  }
}

/**
 * Begins to fetch and compile what will be wanted, if it is found by its address: that is kept, and tells its failures then. False: an
 * instance is not to be made before it is wanted for certain, since the source can be read only once, or is compiled anew each time.
 */
export function prefetchModule(source: WasmSource | undefined): boolean {
  if (source !== undefined && typeof source !== "string" && !(source instanceof URL))
    return isModule(source);
  compileModule(source, "primary").catch(() => {});
  return true;
}

/**
 * Makes the glue ready at once, which takes some 5 ms the first time, and then waits for the code. Rejects as compileModule() does.
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
      locateFile: (path) => path, // never asked for: the binary is here
      print: () => {},
      printErr: () => {},
    }).then((module) => {
      patchIdbfs(module.IDBFS);
      resolve({ module, exports });
    }, fail);
  });
}

// ---- Halves -----------------------------------------------------------------------------------------------------

// What a first half imports in the place of the second one's functions. Nothing calls these but a mistake of ours.
function deferredPlaceholders(compiled: WebAssembly.Module): WebAssembly.Imports {
  const all = WebAssembly.Module.imports(compiled).map(({ module }) => module);
  return Object.fromEntries(
    all.filter((name) => name.startsWith("placeholder")).map((name) => [name, throwingImports]),
  );
}

// Of the whole, or of a first half.
function moduleFileName(compiled: WebAssembly.Module): string {
  const isHalf = Object.keys(deferredPlaceholders(compiled)).length > 0;
  return isHalf ? "entitable.core.wasm" : "entitable.wasm";
}

const throwingImports: WebAssembly.ModuleImports = new Proxy(
  {},
  {
    get: () => () => {
      throw new Error("entitable.rest.wasm is not there");
    },
  },
);

// ---- The build --------------------------------------------------------------------------------------------------

// Glue and binary carry one build id (bindings/stamp.mjs). It is compared before anything runs: a stale binary may
// well link with this glue and then do something else.
function checkBuild(
  compiled: WebAssembly.Module,
  name = moduleFileName(compiled),
  url?: string,
): void {
  const section = WebAssembly.Module.customSections(compiled, "entitable")[0];
  const found = section === undefined ? "none" : new TextDecoder().decode(section);
  if (found === buildId) return;
  // The right one may be there at the next try. A first half that is wanted stays: where it was there may be another by now.
  if (url === undefined) compiledByUrl.clear();
  else compiledByUrl.delete(url);
  throw new StoreError(
    "WasmVersionMismatch",
    `${name} is of another build than its JavaScript: it is ${found}, wanted is ${buildId}.`,
    {
      hint: `Serve the ${name} of this very package version; clear caches that hold an older one.`,
    },
  );
}

function loadFailed(what: string, cause: unknown, name = "entitable.wasm"): StoreError {
  if (cause instanceof StoreError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StoreError("WasmLoadFailed", `${name} ${what}: ${reason}`, {
    cause,
    hint:
      "Pass where it is: openStore({ wasm: url }), or its bytes, a Response or a WebAssembly.Module. " +
      "Under a Content-Security-Policy script-src needs 'wasm-unsafe-eval'.",
  });
}

// ---- Sources ----------------------------------------------------------------------------------------------------

// Compiled code is immutable, so every store of a page shares it. A failure is not kept: the next try may succeed.
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
    if (typeof source === "string" || source instanceof URL) {
      const url = absolute(source);
      return await cached(url.href, () => compileUrl(url));
    }
    if (isModule(source)) return source;
    if (isResponse(source)) return await compileResponse(source);
    return await compileBytes(source);
  } catch (error) {
    throw loadFailed("could not be loaded from the `wasm` option", error);
  }
}

// By tag, since a module or response may come from another realm.
function isModule(source: object): source is WebAssembly.Module {
  return Object.prototype.toString.call(source) === "[object WebAssembly.Module]";
}
function isResponse(source: object): source is Response {
  return Object.prototype.toString.call(source) === "[object Response]";
}

function absolute(source: string | URL): URL {
  const base = globalThis as { document?: { baseURI: string }; location?: { href: string } };
  return new URL(source, base.document?.baseURI ?? base.location?.href);
}

async function findModule(wanted: "complete" | "primary"): Promise<WebAssembly.Module> {
  // Literal, so that bundlers find them.
  const half = () => new URL("./entitable.core.wasm", import.meta.url);
  const whole = () => new URL("./entitable.wasm", import.meta.url);
  let first: unknown;
  for (const place of wanted === "complete" ? [whole] : [half, whole]) {
    try {
      const url = place();
      return await cached(url.href, () => compileUrl(url));
    } catch (error) {
      first ??= error;
    }
  }
  try {
    return await cached("inline", compileInline);
  } catch {
    throw loadFailed("could not be loaded", first);
  }
}

async function compileUrl(url: URL): Promise<WebAssembly.Module> {
  const node = (globalThis as { process?: { versions?: { node?: string } } }).process?.versions
    ?.node;
  if (url.protocol === "file:" && node !== undefined) return compileBytes(await readFile(url));
  return compileResponse(await fetch(url, { credentials: "same-origin" }));
}

// The name is no literal, so that bundlers for browsers don't look for node:fs.
async function readFile(url: URL): Promise<BufferSource> {
  const name = "node:fs/promises";
  const fs = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as {
    readFile(url: URL): Promise<Uint8Array<ArrayBuffer>>;
  };
  return fs.readFile(url);
}

async function compileResponse(response: Response): Promise<WebAssembly.Module> {
  if (!response.ok) throw new Error(`HTTP status ${response.status} for ${response.url}`);
  // Streaming refuses every other type, so such an answer is judged by its first bytes instead.
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
    throw new Error("what was found is not a WebAssembly module");
  }
  return WebAssembly.compile(bytes as BufferSource);
}

async function compileInline(): Promise<WebAssembly.Module> {
  // The build writes it beside this file; a bundler makes a chunk of its own of it, loaded only when needed.
  const inline = await import("./entitable-wasm-inline.js");
  const text = atob(inline.default);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return compileBytes(bytes);
}
