// Rules about words and line lengths: files use the terms of the field, and lines are short.

import { findings, matching, type Repository } from "../repository.ts";

// Test data that must stay unchanged, lock files, generated code, and the rule's own list.
const notProse =
  /^tests\/(testdata|fuzz\/corpus)\/|(^|\/)package-lock\.json$|unicode_categories|^tests\/tidy\/(rules\/words|tidy\.test)\.ts$/;
const written = /\.(h|cc|ts|tsx|mjs|md|css|html|txt|cmake|sh)$|\/[\w-]+$/;

// Each retired word, and what to use instead.
const retired: ReadonlyArray<[word: string, instead: string]> = [
  ["whoever|nobody|somebody|anybody", "name the reader, caller, tab or client"],
  ["besides", "in addition, also"],
  ["for ever|as ever", "always, as before"],
  ["by and by", "gradually"],
  ["need not", "does not have to"],
  ["let go of|letGo", "release"],
  ["in one go", "at once"],
  ["dearer|dearest", "more expensive"],
  ["stillness|lull", "idle"],
  ["doors?", "entry point"],
  ["second half|NeededHalf", "primary module, deferred module"],
  ["absent (leaf|leaves)", "unloaded leaf"],
  ["NeedParts|needParts|need_parts", "PartsNeeded, parts_needed"],
  ["core/(direct|protocol|doors)", "core/rpc, core/rest, core/dispatch"],
];

/** Names, comments and documents do not use retired words. */
export function noRetiredWords(repository: Repository): string[] {
  return [...matching(repository, written)]
    .filter(([path]) => !notProse.test(path))
    .flatMap(([path, text]) =>
      retired.flatMap(([word, instead]) => {
        const pattern = new RegExp(`(?<![\\w"'])(${word})(?![\\w"'])`, "i");
        return findings(path, text, pattern, `retired word (say: ${instead})`);
      }),
    );
}

const columnsMax = 100;
const exempt = /\bhttps?:|biome-ignore/;

/**
 * Comments and prose end at 100 columns. Formatters handle code. In documents, tables, code and
 * front matter may be longer. So may lines with a URL or a linter directive.
 */
export function linesAreShort(repository: Repository): string[] {
  return [...matching(repository, written)]
    .filter(([path]) => !notProse.test(path))
    .flatMap(([path, text]) => {
      const isProse = path.endsWith(".md") ? isProseOfDocument(text) : isComment;
      return text.split("\n").flatMap((line, index) => {
        if (line.length <= columnsMax || !isProse(line, index) || exempt.test(line)) return [];
        return [`${path}:${index + 1}: ${line.length} columns, over ${columnsMax}`];
      });
    });
}

function isComment(line: string): boolean {
  return /^\s*(\/\/|\*|\/\*|# )/.test(line) || /^[^"'`]*\S +(\/\/|#) /.test(line);
}

function isProseOfDocument(text: string): (line: string, index: number) => boolean {
  const lines = text.split("\n");
  const frontMatterEnd = lines[0] === "---" ? lines.indexOf("---", 1) : -1;
  let isCode = false;
  const codeLines = lines.map((line) => {
    if (/^\s*```/.test(line)) isCode = !isCode;
    return isCode;
  });
  return (line, index) =>
    index > frontMatterEnd && !codeLines[index] && !/^(\||#|\s{4})/.test(line);
}
