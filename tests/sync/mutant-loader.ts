// Loads the simulation with a mutant: other instances of all modules of sync and of this folder.

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { basename } from "node:path";
import { type Mutant, mutants } from "./mutants.ts";

const folders = [import.meta.url, import.meta.resolve("../../web/src/sync/store.ts")].map((url) =>
  url.slice(0, url.lastIndexOf("/") + 1),
);

let isRegistered = false;

export async function loadMutant(name: string): Promise<typeof import("./simulation.ts")> {
  if (!isRegistered) register();
  isRegistered = true;
  return import(`./simulation.ts?mutant=${name}`);
}

function register(): void {
  registerHooks({
    // Modules that a module of a mutant imports belong to the same mutant.
    resolve(specifier, context, nextResolve) {
      const result = nextResolve(specifier, context);
      const query = /\?mutant=.*/.exec(context.parentURL ?? "")?.[0];
      const isMutable = folders.some((folder) => result.url.startsWith(folder));
      return query && isMutable ? { ...result, url: result.url + query } : result;
    },
    load(url, context, nextLoad) {
      const [file = "", name] = url.split("?mutant=");
      if (name === undefined) return nextLoad(url, context);
      const found = mutants.find((mutant) => mutant.name === name) as Mutant;
      const source = mutate(readFileSync(new URL(file), "utf8"), basename(file), found);
      return { format: "module-typescript", source, shortCircuit: true };
    },
  });
}

function mutate(source: string, file: string, { name, edits }: Mutant): string {
  return edits.reduce((text, { file: wanted, find, replace }) => {
    if (wanted !== file) return text;
    const [before = "", after, ...more] = text.split(find);
    if (after === undefined || more.length > 0) {
      throw new Error(`Mutant ${name}: ${file} does not contain exactly once: ${find}`);
    }
    return before + replace + after;
  }, source);
}
