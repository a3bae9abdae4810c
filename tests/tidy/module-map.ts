// The module maps: the fenced blocks of core/MODULES.md and web/src/MODULES.md.
//
//   core/index            uses core/model       a module, and the modules that it may use
//     leaf  leaf_split    what they are         its files without extension, in dependency order
//
// In C++, a module may also use the modules that those on its line may use. In TypeScript it may
// not.

import type { Repository } from "./repository.ts";

export interface Module {
  readonly name: string;
  readonly uses: readonly string[];
  /** File names without extension. Each comes after those that it may include. */
  readonly files: readonly string[];
}

export type ModuleMap = ReadonlyMap<string, Module>;

export const coreMapFile = "core/MODULES.md";
export const webMapFile = "web/src/MODULES.md";

/**
 * Parses the module map in `file`. Throws if the repository has no such file or if it has no map.
 */
export function readModuleMap(repository: Repository, file: string): ModuleMap {
  const lines = mapLines(repository, file);
  const modules = new Map<string, { name: string; uses: string[]; files: string[] }>();
  let module: { name: string; uses: string[]; files: string[] } | undefined;
  for (const line of lines) {
    const opening = /^(\S+) +uses (.+)$/.exec(line);
    const files = /^ {2}(\S+(?: \S+)*)(?: {2,}.*)?$/.exec(line);
    if (opening?.[1] && opening[2]) {
      const uses = opening[2] === "nothing" ? [] : opening[2].split(/, */);
      module = { name: opening[1], uses, files: [] };
      modules.set(module.name, module);
    } else if (files?.[1] && module) {
      module.files.push(...files[1].split(" "));
    } else if (line.trim() !== "") {
      throw new Error(`${file}: neither a module nor files of one: ${line}`);
    }
  }
  return modules;
}

function mapLines(repository: Repository, file: string): string[] {
  const match = /^```modules\n(.*?)^```$/ms.exec(repository.text.get(file) ?? "");
  if (!match?.[1]) throw new Error(`${file} has no \`\`\`modules block`);
  return match[1].split("\n");
}

/**
 * Returns the modules that a module may use: itself, those on its line, and recursively those on
 * their lines.
 */
export function reachableModules(moduleMap: ModuleMap, name: string): Set<string> {
  const reached = new Set<string>();
  const visit = (next: string) => {
    if (reached.has(next)) return;
    reached.add(next);
    for (const used of moduleMap.get(next)?.uses ?? []) visit(used);
  };
  visit(name);
  return reached;
}
