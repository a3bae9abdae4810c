// Rules about links and references: links have targets, and every file is referenced.

import { posix } from "node:path";
import { matching, type Repository } from "../repository.ts";

const link = /\[[^\]]*\]\(([^)\s]+)\)/g;

/** Relative links in documents lead to existing files, and their fragments to headings. */
export function linksResolve(repository: Repository): string[] {
  const folders = new Set([...repository.bytes.keys()].flatMap((path) => foldersAbove(path)));
  const violations: string[] = [];
  for (const [path, text] of matching(repository, /\.md$/)) {
    for (const [, target = ""] of withoutCode(text).matchAll(link)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [file = "", fragment] = target.split("#");
      const to = file === "" ? path : posix.join(posix.dirname(path), file).replace(/\/$/, "");
      if (!repository.bytes.has(to) && !folders.has(to)) {
        violations.push(`${path}: ${target} is not there`);
      } else if (fragment && !headings(repository.text.get(to) ?? "").has(fragment)) {
        violations.push(`${path}: ${target} has no such heading`);
      }
    }
  }
  return violations;
}

function foldersAbove(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

function withoutCode(markdown: string): string {
  return markdown.replace(/^```.*?^```$/gms, "").replace(/`[^`\n]*`/g, "");
}

function headings(markdown: string): Set<string> {
  const titles = markdown.replace(/^```.*?^```$/gms, "").matchAll(/^#+ (.+)$/gm);
  const slug = (title: string) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-");
  return new Set([...titles].map(([, title = ""]) => slug(title)));
}

// Files that a tool reads by their name, or that CMake or tests/run finds by a pattern.
const referencedImplicitly = [
  /^[^/]*$/, // at the root: conventional names
  /(^|\/)(\.npmrc|\.gitignore|package\.json|package-lock\.json|tsconfig\.json|CMakeLists\.txt|README\.md|index\.html)$/,
  /^\.ci\/run$/,
  /\.cc$/,
  /\.test\.ts$/,
  /^demo\/site\/pages\/.*\.md$/, // every file in this folder is a page
  /^tests\/fixtures\/(astro|jest|next|nuxt|svelte-kit|vitest)\//, // the tool finds its files
  /^tests\/testdata\//, // see everyGoldenFileIsUsed
  /^tests\/fuzz\/(corpus\/|\w+\.dict$)/,
];

/** Every file is named in another file. */
export function everyFileIsReferenced(repository: Repository): string[] {
  const named = new Map<string, Set<string>>(); // base name -> files that contain it
  for (const [path, text] of repository.text) {
    for (const [name] of text.matchAll(/[\w.-]*\w/g)) {
      named.set(name, (named.get(name) ?? new Set()).add(path));
    }
  }
  return [...repository.bytes.keys()]
    .filter((path) => !referencedImplicitly.some((pattern) => pattern.test(path)))
    .filter((path) => {
      const name = posix.basename(path);
      // TypeScript files are also imported by the name of the compiled file.
      const names = [name, name.replace(/(\.d)?\.(m?)ts$/, ".$2js")];
      return !names.some((one) => named.get(one)?.difference(new Set([path])).size);
    })
    .map((path) => `${path}: no other file names it`);
}

/** Every golden file is used by a test that names the file or its folder. */
export function everyGoldenFileIsUsed(repository: Repository): string[] {
  const tests = [...matching(repository, /^tests\/.*(\.cc|\.h|\.ts|\.txt)$/)]
    .filter(([path]) => !path.startsWith("tests/testdata/"))
    .map(([, text]) => text)
    .join("\n");
  return [...repository.bytes.keys()]
    .filter((path) => path.startsWith("tests/testdata/"))
    .filter((path) => {
      const [, , folder = "", ...rest] = path.split("/");
      const names = [`${folder}/`, `"${folder}"`, rest.at(-1) ?? folder];
      return !names.some((name) => tests.includes(name));
    })
    .map((path) => `${path}: no test reads it`);
}

const emptyCorpus = "has no corpus, so tests/run never runs it";

/** Every fuzz target has seed files, and every corpus has a target. */
export function everyFuzzTargetHasSeeds(repository: Repository): string[] {
  const paths = [...repository.bytes.keys()];
  const targets = names(paths, /^tests\/fuzz\/(\w+)_fuzz\.cc$/);
  const corpora = names(paths, /^tests\/fuzz\/corpus\/(\w+)\//);
  return [
    ...[...targets.difference(corpora)].map((name) => `tests/fuzz/${name}_fuzz.cc: ${emptyCorpus}`),
    ...[...corpora.difference(targets)].map((name) => `tests/fuzz/corpus/${name}: of no target`),
  ];
}

function names(paths: string[], pattern: RegExp): Set<string> {
  return new Set(paths.flatMap((path) => pattern.exec(path)?.[1] ?? []));
}
