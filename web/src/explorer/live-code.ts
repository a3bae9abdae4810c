// Runs code that the user typed, by importing it as a module with a blob: URL. This needs no eval,
// so the Content-Security-Policy `script-src 'self' blob:` is enough. A module with a blob: URL
// cannot import by name or relative path. Each imported name is therefore replaced by the blob: URL
// of a module that re-exports the requested one.

import { isError } from "../util/platform-objects.ts";
import type { Modules } from "./instrumented-modules.ts";

/**
 * Runs prepared code; `bindings` are its variables. Rejects with the error that the code throws.
 */
export type CodeFunction = (bindings: object) => Promise<void>;

const registryKey = Symbol.for("entitable.playground.modules");

/**
 * Prepares `code` to run with variables called `names`; the code may declare them again. Top-level
 * await and imports work; exports do not. Rejects with SyntaxError if the code is invalid or
 * imports a module that is not in `modules`.
 */
export async function prepareCode(
  code: string,
  names: readonly string[],
  modules: Modules,
): Promise<CodeFunction> {
  const url = blobUrl(await moduleOf(code, names, modules));
  try {
    const module = await import(/* @vite-ignore */ /* webpackIgnore: true */ url);
    const { default: main } = module as { default: CodeFunction };
    return async (bindings) => {
      try {
        await main(bindings);
      } catch (error) {
        recordErrorLine(error, url);
        throw error;
      }
    };
  } finally {
    URL.revokeObjectURL(url);
  }
}

// Returns the source of the module to run. Everything that is added stands on the first line, so
// that the line numbers in errors are those of `code`.
async function moduleOf(code: string, names: readonly string[], modules: Modules): Promise<string> {
  const { body, imports } = await withoutImports(code, modules);
  return `${imports.join(";")};export default async({${names.join()}})=>{{${body}\n}}`;
}

async function withoutImports(
  code: string,
  modules: Modules,
): Promise<{ body: string; imports: string[] }> {
  if (!/\bimport\b/.test(code)) return { body: code, imports: [] };
  const { findImports } = await import("./module-imports.ts");
  const imports: string[] = [];
  let body = code;
  for (const found of (await findImports(code)).reverse()) {
    const { from, start, end, nameStart, nameEnd, isStatement } = found;
    if (from === undefined) throw new SyntaxError("The argument of import(…) must be a string.");
    const address = await blobUrlOf(from, modules);
    if (isStatement) {
      imports.unshift(`${code.slice(start, nameStart)}${address}${code.slice(nameEnd, end)}`);
      const lines = code.slice(start, end).replace(/[^\n]/g, "");
      body = body.slice(0, start) + lines + body.slice(end);
    } else {
      body = `${body.slice(0, nameStart)}"${address}"${body.slice(nameEnd)}`;
    }
  }
  return { body, imports: imports.map((statement) => statement.replaceAll("\n", " ")) };
}

// ---- Modules by name -------------------------------------------------------------------------

const blobUrls = new Map<object, string>();

// Returns the blob: URL of a module that re-exports the named one.
async function blobUrlOf(name: string, modules: Modules): Promise<string> {
  const load = Object.hasOwn(modules, name) ? modules[name] : undefined;
  if (load === undefined) {
    const known = Object.keys(modules).join(", ");
    throw new SyntaxError(
      `The module "${name}" is not available here. Available modules: ${known}.`,
    );
  }
  const exported = await load();
  let address = blobUrls.get(exported);
  if (address === undefined) {
    const loaded = registry();
    const index = loaded.push(exported) - 1;
    const source = `globalThis[Symbol.for("${registryKey.description}")][${index}]`;
    const names = Object.keys(exported).filter((key) => key !== "default");
    const defaults = "default" in exported ? "export default m.default;" : "";
    address = blobUrl(`const m=${source};export const {${names.join()}}=m;${defaults}`);
    // never revoked, because code that runs later may import it too
    blobUrls.set(exported, address);
  }
  return address;
}

function registry(): object[] {
  const holder = globalThis as { [registryKey]?: object[] };
  holder[registryKey] ??= [];
  return holder[registryKey];
}

function blobUrl(source: string): string {
  return URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
}

// ---- Line numbers of errors ------------------------------------------------------------------

const lines = new WeakMap<object, number>();

function recordErrorLine(error: unknown, url: string): void {
  if (!isError(error)) return;
  const [, line] = new RegExp(`${url}:(\\d+)`).exec(error.stack ?? "") ?? [];
  if (line !== undefined) lines.set(error, Number(line));
}

/**
 * Returns the line of the playground's code (from 1) where an error was thrown; undefined: unknown.
 */
export function errorLineOf(error: unknown): number | undefined {
  return isError(error) ? lines.get(error) : undefined;
}
