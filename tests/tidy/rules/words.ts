// Words: the field's terms instead of those that they replaced, and lines that fit a screen.

import { findings, matching, type Repository } from "../repository.ts";

// Data that tests read as it is, lock files, generated code, and the rule's own list.
const notProse =
  /^tests\/(testdata|fuzz\/corpus)\/|(^|\/)package-lock\.json$|unicode_tables|^tests\/tidy\/(rules\/words|tidy\.test)\.ts$/;
const written = /\.(h|cc|ts|tsx|mjs|md|css|html|txt|cmake|sh)$|\/[\w-]+$/;

// Each with what to say instead.
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

/** Names, comments and documents use the field's terms, not the words that these replaced. */
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
 * Comments and prose end at 100 columns. Code is the formatters' task; tables, code and front
 * matter of documents may be longer, and so may lines with a
 * URL or a directive of the linter.
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
