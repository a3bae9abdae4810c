// Rules about the text of all files.

import { findings, matching, type Repository } from "../repository.ts";

// Test data that must stay unchanged, and npm's lock files.
const notOurs = /^tests\/(testdata|fuzz\/corpus)\/|(^|\/)package-lock\.json$/;

function* ours(repository: Repository): Generator<[string, string]> {
  for (const entry of repository.text) {
    if (!notOurs.test(entry[0])) yield entry;
  }
}

/** Comments postpone no work. */
export function nothingLeftToDo(repository: Repository): string[] {
  const words = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"];
  const pattern = new RegExp(`\\b(${words.join("|")})\\b`);
  return [...ours(repository)].flatMap(([path, text]) =>
    findings(path, text, pattern, "finish it, or file an issue"),
  );
}

const printingFile = "web/src/open/options.ts";

/** The package prints only warnings, in one place. (For the core, see coreIsPure.) */
export function packagePrintsNothing(repository: Repository): string[] {
  return [...matching(repository, /^web\/src\/.*\.ts$/)].flatMap(([path, text]) => {
    const ownCode = text.replace(/^\s*(\/\/|\*|\/\*).*$/gm, "");
    const code = path === printingFile ? ownCode.replace("console.warn(", "") : ownCode;
    return findings(path, code, /\bconsole\.\w+|\bdebugger\b|\balert\(/, "left from debugging");
  });
}

/** No file depends on one machine or one registry. */
export function namesNoMachine(repository: Repository): string[] {
  const paths = ["work", "root", "home", "Users"].map((folder) => `/${folder}/[\\w.]`);
  const hosts = ["registry\\.", "deb\\.debian", "snapshot\\.debian", "pypi\\.", "\\.pkg\\.dev"];
  const pattern = new RegExp(
    `(?<![\\w.$}"\`)*-])(${paths.join("|")})|(//|\\b)(${hosts.join("|")})\\w+`,
  );
  return [...repository.text].flatMap(([path, text]) =>
    findings(path, text, pattern, "names a machine or a registry").concat(
      path.endsWith("package-lock.json")
        ? findings(path, text, /"resolved": "http/, "a lock file names no registry")
        : [],
    ),
  );
}

/**
 * Text files end with a newline. They have no carriage returns, tabs or spaces at the ends of
 * lines.
 */
export function textIsTidy(repository: Repository): string[] {
  return [...ours(repository)].flatMap(([path, text]) => [
    ...(text !== "" && !text.endsWith("\n") ? [`${path}: no newline at the end`] : []),
    ...findings(path, text, /[ \t\r]+$/, "white space at the end of a line"),
  ]);
}

/** A C++ header begins with a comment about its purpose, followed by #pragma once. */
export function headersIntroduceThemselves(repository: Repository): string[] {
  return [...matching(repository, /^(core|bindings|tests)\/.*\.h$/)].flatMap(([path, text]) => [
    ...(/^\/\/ \S/.test(text) ? [] : [`${path}: no comment at the top`]),
    ...(/^(\/\/.*\n)+#pragma once\n/.test(text) ? [] : [`${path}: no #pragma once below it`]),
  ]);
}

/** Every TypeScript file of the package begins with a comment about its purpose. */
export function modulesIntroduceThemselves(repository: Repository): string[] {
  return [...matching(repository, /^web\/src\/.*\.ts$/)].flatMap(([path, text]) =>
    /^(#!.*\n)?(\/\/ |\/\*\*?\s)/.test(text) ? [] : [`${path}: no comment at the top`],
  );
}

const mebibyte = 1 << 20;

/** No file is large: large files are built, or installed by a package manager. */
export function nothingIsBig(repository: Repository): string[] {
  return [...repository.bytes]
    .filter(([, size]) => size > mebibyte)
    .map(([path, size]) => `${path}: ${size} bytes, over 1 MiB`);
}
