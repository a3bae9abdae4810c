// Compares what the documentation states with the code: error codes, sizes, and addresses.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { withAddresses, withSiteLinks } from "../../web/addresses.ts";
import { corsRule } from "../../web/src/sync-remote/cors.ts";

const root = new URL("../../", import.meta.url);
const read = (name: string) => readFileSync(new URL(name, root), "utf8");

function between(text: string, from: RegExp, to: RegExp): string {
  const rest = text.slice(text.search(from));
  return rest.slice(0, rest.search(to));
}

/** Returns the codes in the table below this heading of the page on errors. */
function documentedCodes(heading: string): string[] {
  const sections = read("demo/site/pages/errors.md").split(/^## /m);
  const section = sections.find((one) => one.startsWith(`${heading}\n`)) ?? "";
  const rows = section.matchAll(/^\|(?: \d{3} \|)? `(\w+)` \|/gm);
  return [...rows].map(([, code = ""]) => code).sort();
}

test("the page on errors has every code of the service", () => {
  const lines = read("core/model/service_error.cc").matchAll(/\{(\d{3}), "(\w+)",/g);
  const codes = [...lines].map(([, , code = ""]) => code);
  assert(codes.length > 50);
  assert.deepEqual(documentedCodes("Codes of RestError"), codes.sort());
});

test("the page on errors has every code of StoreError", () => {
  const union = between(read("web/src/hints/store-errors.ts"), /export type StoreErrorCode =/, /;/);
  const codes = [...union.matchAll(/\| "(\w+)"/g)].map(([, code = ""]) => code);
  assert(codes.length > 10);
  assert.deepEqual(documentedCodes("Codes of StoreError"), codes.sort());
});

test("the page on errors has every warning", () => {
  const union = between(read("web/src/types.ts"), /export type WarningCode =/, /;\n\n/);
  const codes = [...union.matchAll(/\| "(\w+)"/g)].map(([, code = ""]) => code);
  assert(codes.length > 4);
  assert.deepEqual(documentedCodes("Warnings"), codes.sort());
});

test("the page on accounts for sync has the CORS rule that the doctor prints", () => {
  const page = read("demo/site/pages/sync-account.md");
  const { allowedOrigins: _, ...rule } = corsRule;
  const [table = "", command = "", program = ""] = [
    /\n\| .*?\n\n/s,
    /az storage cors.*?```/s,
    /const rule.*?};/s,
  ].map((pattern) => pattern.exec(page)?.[0]);
  for (const value of Object.values(rule)) {
    assert(table.includes(`\`${value}\``), `${value} in the table`);
    assert(
      command.replaceAll("GET POST", "GET,POST").includes(` ${value}`),
      `${value} in the command`,
    );
    assert(
      program.includes(typeof value === "number" ? `${value}` : `"${value}"`),
      `${value} in the program`,
    );
  }
});

test("the README's sizes are those of the benchmark", () => {
  const sizes = between(read("tests/bench/README.md"), /<!-- sizes -->/, /<!-- end of sizes -->/);
  const kilobytesOf = (row: RegExp) => {
    const [line = ""] = row.exec(sizes) ?? [];
    const bytes = line.split("|").at(-2)?.replaceAll(",", "");
    return String(Math.round(Number(bytes) / 1000));
  };
  const stated = between(read("web/README.md"), /^## Sizes/m, /\n\n## /);
  assert.deepEqual(
    [...stated.matchAll(/\| (\d+) \|$/gm)].map(([, size]) => size),
    [
      kilobytesOf(/.*a page that opens a store.*/),
      kilobytesOf(/.*of it entitable\.core\.wasm.*/),
      kilobytesOf(/.*of it JavaScript.*/),
      kilobytesOf(/.*entitable\.rest\.wasm.*/),
      kilobytesOf(/.*entitable\.live\.wasm.*/),
      kilobytesOf(/.*entitable\.snapshot\.wasm.*/),
    ],
  );
});

test("the packed README links to the site that the publisher names, or to nothing", () => {
  const readme =
    "See [errors](../demo/site/pages/errors.md#warnings) and [npm](https://npmjs.com).";
  assert.equal(withSiteLinks(readme, {}), "See errors and [npm](https://npmjs.com).");
  assert.equal(
    withSiteLinks(readme, { ENTITABLE_SITE: "https://example.com/docs" }),
    "See [errors](https://example.com/docs/errors/#warnings) and [npm](https://npmjs.com).",
  );
  assert.doesNotMatch(withSiteLinks(read("web/README.md"), {}), /\]\(\.\.\//);
});

test("the packed manifest has the addresses that the publisher names", () => {
  const manifest = { name: "entitable" };
  assert.deepEqual(withAddresses(manifest, {}), manifest);
  const page = "https://example.com/owner/name";
  assert.deepEqual(withAddresses(manifest, { ENTITABLE_REPOSITORY: `${page}/` }), {
    name: "entitable",
    repository: { type: "git", url: `git+${page}.git`, directory: "web" },
    bugs: `${page}/issues`,
    homepage: `${page}#readme`,
  });
  const site = { ENTITABLE_SITE: "https://example.com/site/" };
  assert.deepEqual(withAddresses(manifest, site), {
    name: "entitable",
    homepage: "https://example.com/site/",
  });
});
