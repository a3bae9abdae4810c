// The names of the wasm files. bindings/modules.json lists them for the build. The package's
// sources repeat them, because bundlers copy a file only if its URL is a literal.

import { matching, type Repository } from "../repository.ts";

const listFile = "bindings/modules.json";
const url = /\bnew URL\("\.\/([\w.]+\.wasm)", import\.meta\.url\)/g;
const quotedName = /"(?:\.\/)?([\w.]+\.wasm)"/g;

/**
 * The URLs in web/src/wasm are those of the primary and the deferred modules, and no source names a
 * file that is not listed. A URL of the complete module would add a second copy of the engine to
 * every bundle.
 */
export function wasmFilesAgree(repository: Repository): string[] {
  const modules: Record<string, string> = JSON.parse(repository.text.get(listFile) ?? "{}");
  const { complete, ...loaded } = modules;
  const listed = new Set(Object.values(modules));
  const unlisted = [...matching(repository, /^web\/src\/.*\.ts$/)].flatMap(([path, text]) =>
    namesIn(text, quotedName)
      .filter((name) => !listed.has(name))
      .map((name) => `${path}: ${name} is not listed in ${listFile}`),
  );
  const located = new Set(
    [...matching(repository, /^web\/src\/wasm\/.*\.ts$/)].flatMap(([, text]) => namesIn(text, url)),
  );
  const unlocated = Object.values(loaded)
    .filter((name) => !located.has(name))
    .map((name) => `${listFile}: no URL in web/src/wasm names ${name}`);
  const second = [...located]
    .filter((name) => name === complete)
    .map((name) => `web/src/wasm: a URL adds ${name} to every bundle`);
  return [...unlisted, ...unlocated, ...second];
}

function namesIn(text: string, pattern: RegExp): string[] {
  return Array.from(text.matchAll(pattern), ([, name = ""]) => name);
}
