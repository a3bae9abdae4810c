// Compares the includes of C++ files with the module map in core/MODULES.md.

import { dirname } from "node:path";
import { coreMapFile, type ModuleMap, reachableModules, readModuleMap } from "../module-map.ts";
import { findings, matching, type Repository } from "../repository.ts";

const sources = /^(core\/\w+|bindings)\/\w+\.(h|cc)$/;
const include = /^#include "([^"]+)"$/gm;

interface SourceFile {
  readonly module: string;
  readonly file: string;
}

function sourceFileOf(path: string): SourceFile {
  const file = path.slice(path.lastIndexOf("/") + 1).replace(/\.\w+$/, "");
  return { module: dirname(path), file };
}

function moduleMapOf(repository: Repository): ModuleMap {
  return readModuleMap(repository, coreMapFile);
}

/**
 * A file includes only files of modules that its module may use. Within a module, it includes only
 * files that are listed before it.
 */
export function includesFollowModuleMap(repository: Repository): string[] {
  const moduleMap = moduleMapOf(repository);
  const violations: string[] = [];
  for (const [path, text] of matching(repository, sources)) {
    const from = sourceFileOf(path);
    const allowed = reachableModules(moduleMap, from.module);
    for (const [, target] of text.matchAll(include)) {
      if (target === undefined) continue;
      const to = sourceFileOf(target);
      if (!allowed.has(to.module)) {
        violations.push(`${path}: ${from.module} may not use ${to.module}: ${target}`);
      } else if (to.module === from.module && to.file !== from.file) {
        const order = moduleMap.get(from.module)?.files ?? [];
        if (order.indexOf(to.file) > order.indexOf(from.file)) {
          violations.push(`${path}: ${to.file} is listed below ${from.file} in ${coreMapFile}`);
        }
      }
    }
  }
  return violations;
}

/** The module map lists exactly the files that exist. */
export function moduleMapIsComplete(repository: Repository): string[] {
  const moduleMap = moduleMapOf(repository);
  const present = new Map<string, Set<string>>();
  for (const [path] of matching(repository, sources)) {
    const { module, file } = sourceFileOf(path);
    present.set(module, (present.get(module) ?? new Set()).add(file));
  }
  const violations: string[] = [];
  for (const [module, files] of present) {
    const listed = new Set(moduleMap.get(module)?.files);
    for (const file of files.difference(listed)) {
      violations.push(`${module}/${file}: not in ${coreMapFile}`);
    }
  }
  for (const module of moduleMap.values()) {
    const files = present.get(module.name) ?? new Set();
    for (const file of new Set(module.files).difference(files)) {
      violations.push(`${coreMapFile}: there is no ${module.name}/${file}`);
    }
  }
  return violations;
}

/** The libraries in CMake are linked as in the module map. */
export function linksFollowModuleMap(repository: Repository): string[] {
  const cmake = repository.text.get("core/CMakeLists.txt") ?? "";
  const linked = new Map<string, string>();
  for (const [, module, uses] of cmake.matchAll(/^entitable_module\((\w+) ?([\w ]*)\)$/gm)) {
    linked.set(`core/${module}`, [...(uses ?? "").split(" ").filter(Boolean)].sort().join(", "));
  }
  const violations: string[] = [];
  for (const { name, uses } of moduleMapOf(repository).values()) {
    if (!name.startsWith("core/")) continue;
    const drawn = uses
      .map((used) => used.replace("core/", ""))
      .sort()
      .join(", ");
    if (linked.get(name) !== drawn) {
      violations.push(`core/CMakeLists.txt: ${name} links [${linked.get(name)}], drawn [${drawn}]`);
    }
  }
  return violations;
}

/** Only bindings/ mentions Emscripten. */
export function onlyBindingsKnowEmscripten(repository: Repository): string[] {
  return [...matching(repository, /^core\/.*\.(h|cc)$/)].flatMap(([path, text]) =>
    findings(path, text, /emscripten|\bEM_[A-Z]+/i, "only bindings/ know Emscripten"),
  );
}

/** The core uses no clock, no randomness, no I/O and no threads, and prints nothing. */
export function coreIsPure(repository: Repository): string[] {
  const impure =
    /#include <(iostream|ostream|istream|fstream|sstream|cstdio|stdio\.h|chrono|ctime|time\.h|random|thread|mutex|atomic|future|filesystem)>|\bstd::(cout|cerr|clog|rand)\b|\bs?n?printf\(/;
  return [...matching(repository, /^core\/.*\.(h|cc)$/)].flatMap(([path, text]) =>
    findings(path, text, impure, "the core is a pure function"),
  );
}
