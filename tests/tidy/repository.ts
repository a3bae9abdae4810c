// The files that a rule checks: those of git (tracked, or new and not ignored), or a few sample
// files in a canary test.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

export interface Repository {
  /** Contents by path from the root, with "/". Binary files are not included. */
  readonly text: ReadonlyMap<string, string>;
  /** Size in bytes by path, of every file. */
  readonly bytes: ReadonlyMap<string, number>;
}

/** Returns one line per violation, each of which begins with the path. */
export type Rule = (repository: Repository) => string[];

export function readRepository(root: string): Repository {
  const listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const paths = execFileSync("git", listing, { cwd: root, encoding: "utf8", maxBuffer: 1 << 26 })
    .split("\0")
    .filter((path) => path !== "" && existsSync(join(root, path)));
  const text = new Map<string, string>();
  const bytes = new Map<string, number>();
  for (const path of paths) {
    const file = join(root, path);
    const contents = readFileSync(file);
    bytes.set(path, statSync(file).size);
    if (!contents.includes(0)) text.set(path, contents.toString("utf8"));
  }
  return { text, bytes };
}

export function repositoryOf(files: Record<string, string>): Repository {
  const text = new Map(Object.entries(files));
  const bytes = new Map([...text].map(([path, contents]) => [path, Buffer.byteLength(contents)]));
  return { text, bytes };
}

/** Yields the text files whose path matches. */
export function* matching(repository: Repository, path: RegExp): Generator<[string, string]> {
  for (const entry of repository.text) {
    if (path.test(entry[0])) yield entry;
  }
}

/** Returns each line that matches `pattern`, as `path:line: what`. */
export function findings(path: string, text: string, pattern: RegExp, what: string): string[] {
  const lines = text.split("\n");
  return lines.flatMap((line, index) => {
    const match = pattern.exec(line);
    return match ? [`${path}:${index + 1}: ${what}: ${match[0].trim()}`] : [];
  });
}
