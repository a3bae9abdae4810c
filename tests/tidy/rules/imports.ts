// Compares the imports of TypeScript files with the module map in web/src/MODULES.md.

import { posix } from "node:path";
import { readModuleMap, webMapFile } from "../module-map.ts";
import { matching, type Repository } from "../repository.ts";

const importing = /(?:\bfrom |\bimport\(|^import )"([^"]+)"/gm;

/** Returns the module of a file in web/src: its folder, or its name without extension. */
function moduleOf(path: string): string {
  const [first = ""] = path.replace(/^web\/src\//, "").split("/");
  return first.replace(/(\.d)?\.m?[jt]s$/, "");
}

/** A module imports only the modules on its line, and nothing from outside the package. */
export function importsFollowModuleMap(repository: Repository): string[] {
  const moduleMap = readModuleMap(repository, webMapFile);
  const violations: string[] = [];
  for (const [path, text] of matching(repository, /^web\/src\/.*\.m?ts$/)) {
    const from = moduleOf(path);
    const module = moduleMap.get(from);
    if (!module) {
      violations.push(`${path}: ${from} is not in ${webMapFile}`);
      continue;
    }
    for (const [, target] of text.matchAll(importing)) {
      if (target === undefined) continue;
      const to = target.startsWith(".")
        ? posix.join(posix.dirname(path), target)
        : `package ${target}`;
      const used = to.startsWith("web/src/") ? moduleOf(to) : (to.split("/")[0] ?? to);
      if (used !== from && !module.uses.includes(used)) {
        violations.push(`${path}: ${from} may not use ${used}: ${target}`);
      }
    }
  }
  return violations;
}

/** A demo imports only packages that it depends on, and its own files. */
export function demoUsesThePackage(repository: Repository): string[] {
  const violations: string[] = [];
  for (const [path, text] of matching(repository, /^demo\/\w+\/src\/.*\.tsx?$/)) {
    const home = path.split("/").slice(0, 3).join("/");
    const manifest = JSON.parse(repository.text.get(posix.join(home, "../package.json")) ?? "{}");
    const packages = Object.keys(manifest.dependencies ?? {});
    // installed from the package that was just packed
    if (/^demo\/(site|example)\//.test(home)) packages.push("entitable");
    for (const [, target] of text.matchAll(importing)) {
      if (target === undefined || packages.includes(packageOf(target))) continue;
      const to = posix.join(posix.dirname(path), target);
      if (!target.startsWith(".") || !to.startsWith(`${home}/`)) {
        violations.push(`${path}: imports ${target}, which is not the package`);
      }
    }
  }
  return violations;
}

function packageOf(target: string): string {
  const [scope = "", name] = target.split("/");
  return scope.startsWith("@") ? `${scope}/${name}` : scope;
}
