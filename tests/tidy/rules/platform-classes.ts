// Checks that the package recognizes objects of any realm.

import { matching, type Repository } from "../repository.ts";

// Classes of the language whose objects the package creates itself before it checks them.
const own = new Set(["Promise", "Map"]);

/**
 * `instanceof` is used only with the package's own classes. With a class of the platform, it is
 * false for objects of another realm, which frames, vm contexts and test runners have. The file
 * that recognizes those objects may use both.
 */
export function platformClassesAreNotCompared(repository: Repository): string[] {
  const violations: string[] = [];
  for (const [path, text] of matching(repository, /^web\/src\/.*\.m?ts$/)) {
    if (path === "web/src/util/platform-objects.ts") continue;
    const declared = new Set([...text.matchAll(/\bclass (\w+)/g)].map(([, name]) => name));
    const imported = [...text.matchAll(/^import ([^;]*) from "\./gm)].flatMap(
      ([, names = ""]) => names.match(/\w+/g) ?? [],
    );
    const known = new Set([...own, ...declared, ...imported]);
    for (const [index, line] of text.split("\n").entries()) {
      for (const [, name] of line.matchAll(/(?<!\/\/.*)\binstanceof ([A-Z]\w*)/g)) {
        if (name !== undefined && !known.has(name))
          violations.push(`${path}:${index + 1}: use util/platform-objects.ts for ${name}`);
      }
    }
  }
  return violations;
}
