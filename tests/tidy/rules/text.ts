// What no file may say, and how every file looks.

import { findings, matching, type Repository } from "../repository.ts";

// Data that tests read as it is, and lock files, which are npm's.
const notOurs = /^tests\/(testdata|fuzz\/corpus)\/|(^|\/)package-lock\.json$/;

function* ours(repository: Repository): Generator<[string, string]> {
  for (const entry of repository.text) {
    if (!notOurs.test(entry[0])) yield entry;
  }
}

/** Nothing is left for later in a comment. */
export function nothingLeftToDo(repository: Repository): string[] {
  const words = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"];
  const pattern = new RegExp(`\\b(${words.join("|")})\\b`);
  return [...ours(repository)].flatMap(([path, text]) =>
    findings(path, text, pattern, "finish it, or file an issue"),
  );
}

/** The package prints nothing. (The core: see coreIsPure.) */
export function packagePrintsNothing(repository: Repository): string[] {
  return [...matching(repository, /^web\/src\/.*\.ts$/)].flatMap(([path, text]) => {
    const code = text.replace(/^\s*(\/\/|\*|\/\*).*$/gm, "");
    return findings(path, code, /\bconsole\.\w+|\bdebugger\b|\balert\(/, "left from debugging");
  });
}

/** Nothing depends on one machine or one registry. */
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

/** Text ends with a newline, and has no carriage returns, tabs or spaces at the ends of lines. */
export function textIsTidy(repository: Repository): string[] {
  return [...ours(repository)].flatMap(([path, text]) => [
    ...(text !== "" && !text.endsWith("\n") ? [`${path}: no newline at the end`] : []),
    ...findings(path, text, /[ \t\r]+$/, "white space at the end of a line"),
  ]);
}

/** A header says first what it is for, and is included once. */
export function headersIntroduceThemselves(repository: Repository): string[] {
  return [...matching(repository, /^(core|bindings|tests)\/.*\.h$/)].flatMap(([path, text]) => [
    ...(/^\/\/ \S/.test(text) ? [] : [`${path}: no comment at the top`]),
    ...(/^(\/\/.*\n)+#pragma once\n/.test(text) ? [] : [`${path}: no #pragma once below it`]),
  ]);
}

/** So does every module of the package. */
export function modulesIntroduceThemselves(repository: Repository): string[] {
  return [...matching(repository, /^web\/src\/.*\.ts$/)].flatMap(([path, text]) =>
    /^(#!.*\n)?(\/\/ |\/\*\*?\s)/.test(text) ? [] : [`${path}: no comment at the top`],
  );
}

const mebibyte = 1 << 20;

/** What is big is built, or fetched by a package manager. */
export function nothingIsBig(repository: Repository): string[] {
  return [...repository.bytes]
    .filter(([, size]) => size > mebibyte)
    .map(([path, size]) => `${path}: ${size} bytes, over 1 MiB`);
}
