// Creates a project as a user would have: a folder in which the built package and some of the
// tests' packages are installed.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageFolder } from "./package.ts";

const installed = fileURLToPath(new URL("../../../node_modules", import.meta.url));

// The package is copied and not linked, so that its imports are resolved in the project's folder.
export function newProject(packages: readonly string[] = []): string {
  const project = mkdtempSync(join(tmpdir(), "entitable-project-"));
  writeFileSync(join(project, "package.json"), '{ "type": "module" }');
  cpSync(fileURLToPath(packageFolder), join(project, "node_modules/entitable"), {
    recursive: true,
  });
  for (const name of packages) {
    const link = join(project, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(installed, name), link);
  }
  return project;
}

// Installs the frameworks that the package has entries for, from tests/types.
export function linkFrameworks(project: string): void {
  const folder = fileURLToPath(new URL("../../types/node_modules", import.meta.url));
  const names = Object.keys(
    JSON.parse(readFileSync(join(folder, "../package.json"), "utf8")).devDependencies,
  );
  for (const name of names) {
    if (name === "typescript") continue;
    const link = join(project, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(folder, name), link);
  }
}
