// Checks the project's rules. Each rule also has canaries: sample files that violate the rule,
// which prove that it can fail.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Rule, readRepository, repositoryOf } from "./repository.ts";
import {
  everyFileIsReferenced,
  everyFuzzTargetHasSeeds,
  everyGoldenFileIsUsed,
  linksResolve,
} from "./rules/documents.ts";
import { longestFunction, longestFunctionsDoNotGrow, recordFile } from "./rules/functions.ts";
import { demoUsesThePackage, importsFollowModuleMap } from "./rules/imports.ts";
import {
  coreIsPure,
  includesFollowModuleMap,
  linksFollowModuleMap,
  moduleMapIsComplete,
  onlyBindingsKnowEmscripten,
} from "./rules/includes.ts";
import { messageKindsAgree } from "./rules/message-kinds.ts";
import { platformClassesAreNotCompared } from "./rules/platform-classes.ts";
import {
  headersIntroduceThemselves,
  modulesIntroduceThemselves,
  namesNoMachine,
  nothingIsBig,
  nothingLeftToDo,
  packagePrintsNothing,
  textIsTidy,
} from "./rules/text.ts";
import { wasmFilesAgree } from "./rules/wasm-files.ts";
import { linesAreShort, noRetiredWords } from "./rules/words.ts";

const repository = readRepository(`${import.meta.dirname}/../..`);

// Two modules of the core, one of which uses the other, and three modules of the package.
const moduleMaps = {
  "ARCHITECTURE.md": "See core/MODULES.md and web/src/MODULES.md.\n",
  "core/MODULES.md": [
    "```modules",
    "core/base   uses nothing",
    "  low       what is below",
    "  high      and above",
    "core/model  uses core/base",
    "  key",
    "```",
    "",
  ].join("\n"),
  "web/src/MODULES.md": [
    "```modules",
    "errors      uses nothing",
    "host        uses errors",
    "client      uses errors",
    "```",
    "",
  ].join("\n"),
};

type Files = Record<string, string>;

// Checks that the repository follows the rule, that the rule accepts `fine`, and that it rejects
// each of `broken`. The module maps are added to these files.
function rule(name: string, check: Rule, broken: Files[], fine: Files): void {
  describe(name, () => {
    test("holds", () => assert.equal(check(repository).join("\n"), ""));
    test("lets pass what is right", () => {
      const violations = check(repositoryOf({ ...moduleMaps, ...fine }));
      assert.equal(violations.join("\n"), "");
    });
    broken.forEach((files, index) => {
      test(`canary ${index + 1}: ${Object.keys(files).join(", ")}`, () => {
        const violations = check(repositoryOf({ ...moduleMaps, ...files }));
        assert.equal(violations.length, 1, violations.join("\n"));
      });
    });
  });
}

const includes = (path: string) => `#include "${path}"\n`;

rule(
  "includes go down",
  includesFollowModuleMap,
  [
    { "core/base/low.h": includes("core/model/key.h") },
    { "core/base/low.cc": includes("core/base/high.h") },
    { "core/base/low.h": includes("tests/support/prng.h") },
  ],
  {
    "core/base/high.cc": includes("core/base/high.h") + includes("core/base/low.h"),
    "core/model/key.h": includes("core/base/high.h"),
  },
);

const allFiles = { "core/base/low.h": "", "core/base/high.h": "", "core/model/key.cc": "" };

rule(
  "the module map names every file of the modules",
  moduleMapIsComplete,
  [
    { ...allFiles, "core/base/other.h": "" },
    { "core/base/low.h": "", "core/model/key.h": "" },
    { ...allFiles, "bindings/handle.h": "" },
  ],
  allFiles,
);

rule(
  "libraries are linked as drawn",
  linksFollowModuleMap,
  [{ "core/CMakeLists.txt": "entitable_module(base)\nentitable_module(model)\n" }],
  { "core/CMakeLists.txt": "entitable_module(base)\nentitable_module(model base)\n" },
);

rule(
  "only bindings know Emscripten",
  onlyBindingsKnowEmscripten,
  [{ "core/base/low.h": "#ifdef __EMSCRIPTEN__\n" }, { "core/base/low.cc": "EM_ASM(0);\n" }],
  { "bindings/embind.cc": "#include <emscripten/bind.h>\n" },
);

rule(
  "the core is a pure function",
  coreIsPure,
  [
    { "core/base/low.cc": "#include <iostream>\n" },
    { "core/base/low.cc": "#include <chrono>\n" },
    { "core/base/low.cc": '  printf("here");\n' },
  ],
  {
    "core/base/low.cc": "#include <string>\n",
    "tests/support/test_host.h": "#include <fstream>\n",
  },
);

rule(
  "objects of other realms are recognized",
  platformClassesAreNotCompared,
  [
    { "web/src/client/a.ts": "// A.\nif (value instanceof Uint8Array) use(value);\n" },
    { "web/src/errors.ts": "// E.\nconst text = error instanceof Error ? error.message : '';\n" },
    { "web/src/host/b.ts": "// instanceof is fine.\nreturn !(error instanceof DOMException);\n" },
  ],
  {
    "web/src/client/a.ts":
      'import { type A, C } from "../errors.ts";\nif (x instanceof C) use(x);\n',
    "web/src/errors.ts": "class C {}\n// not instanceof Error\nconst is = x instanceof C;\n",
    "web/src/host/b.ts": "return response instanceof Promise ? await response : response;\n",
    "web/src/util/platform-objects.ts": "return value instanceof Date || isTagged(value);\n",
  },
);

rule(
  "imports follow the module map",
  importsFollowModuleMap,
  [
    { "web/src/client/a.ts": 'import { x } from "../host/b.ts";\n' },
    { "web/src/host/b.ts": 'import type { X } from "somewhere";\n' },
    { "web/src/client/a.ts": 'const x = await import("../host/b.ts");\n' },
    { "web/src/errors.ts": 'import "../../tests/web/support/x.ts";\n' },
    { "web/src/other.ts": "export const x = 1;\n" },
  ],
  { "web/src/client/a.ts": 'export * from "../errors.ts";\nimport { c } from "./c.ts";\n' },
);

rule(
  "the demo uses the package",
  demoUsesThePackage,
  [
    { "demo/site/src/main.ts": 'import { x } from "../../../web/src/index.ts";\n' },
    { "demo/site/src/main.ts": 'import { x } from "lodash";\n' },
    {
      "demo/shop/package.json": '{ "dependencies": { "react-dom": "1.0.0" } }\n',
      "demo/shop/src/main.tsx": 'import { openStore } from "entitable";\n',
    },
  ],
  {
    "demo/site/src/main.ts": 'import { openStore } from "entitable";\nimport "./dom.ts";\n',
    "demo/shop/package.json": '{ "dependencies": { "@a/b": "1.0.0", "react-dom": "1.0.0" } }\n',
    "demo/shop/src/main.tsx": 'import { x } from "react-dom/client";\nimport "@a/b";\n',
  },
);

const kindFiles = {
  "core/rpc/LAYOUT.md": [
    "# RPC messages",
    "## Requests",
    "Kinds 64 and 65 are HTTP messages. Kind 32 is a call.",
    "| 4 | list tables | text |",
    "## Responses",
    "| 15 | error | text |",
    "",
  ].join("\n"),
  "core/rpc/message.h":
    "enum class RequestKind : std::uint8_t {\n  list_tables = 4,\n};\n" +
    "enum class ResponseKind : std::uint8_t {\n  error = 15,\n};\n",
  "core/dispatch/call_header.h": "// call = 32:u8\n",
  "core/dispatch/call_header.cc": "constexpr std::uint8_t call_kind = 32;\n",
  "core/rest/http_codec.h":
    "// request  = 64:u8\n// response = 65:u8\n" +
    "constexpr int http_request_kind = 64;\nconstexpr int http_response_kind = 65;\n",
  "web/src/util/engine-message-kinds.ts":
    "export const requestKind = {\n  listTables: 4,\n};\n" +
    "export const responseKind = {\n  error: 15,\n};\n" +
    "const callKind = 32;\nconst httpRequestKind = 64;\nconst httpResponseKind = 65;\n",
};

/** Returns the files with `before` replaced in one of them. */
function changedKinds(path: keyof typeof kindFiles, before: string, after: string): Files {
  assert.ok(kindFiles[path].includes(before));
  return { ...kindFiles, [path]: kindFiles[path].replace(before, after) };
}

rule(
  "documentation, C++ and TypeScript have the same message kinds",
  messageKindsAgree,
  [
    changedKinds("web/src/util/engine-message-kinds.ts", "listTables: 4", "listTables: 5"),
    changedKinds("web/src/util/engine-message-kinds.ts", "error: 15", "failure: 15"),
    changedKinds("web/src/util/engine-message-kinds.ts", "callKind = 32", "callKind = 33"),
    changedKinds("core/rpc/message.h", "error = 15,", "error = 15,\n  page = 1,"),
    changedKinds("core/dispatch/call_header.cc", "32", "33"),
    changedKinds("core/rest/http_codec.h", "response_kind = 65", "response_kind = 66"),
    changedKinds("core/rpc/LAYOUT.md", "| 15 | error | text |\n", ""),
  ],
  kindFiles,
);

const wasmFiles = {
  "bindings/modules.json": '{ "complete": "all.wasm", "primary": "all.core.wasm" }\n',
  "web/src/wasm/module.ts":
    'const name = "all.wasm";\nnew URL("./all.core.wasm", import.meta.url);\n',
};

rule(
  "the package locates the wasm files that bindings/modules.json lists",
  wasmFilesAgree,
  [
    {
      ...wasmFiles,
      "bindings/modules.json":
        '{ "complete": "all.wasm", "primary": "all.core.wasm", "deferred": "all.rest.wasm" }\n',
    },
    {
      ...wasmFiles,
      "web/src/wasm/module.ts":
        'new URL("./all.wasm", import.meta.url);\nnew URL("./all.core.wasm", import.meta.url);\n',
    },
    { ...wasmFiles, "bindings/modules.json": '{ "primary": "all.core.wasm" }\n' },
    { ...wasmFiles, "web/src/service-worker/serve.ts": 'const wasm = "all.rest.wasm";\n' },
    { ...wasmFiles, "web/src/wasm/module.ts": 'const name = "all.core.wasm";\n' },
  ],
  wasmFiles,
);

rule(
  "nothing is left to do",
  nothingLeftToDo,
  [{ "a.ts": `// ${"TO"}${"DO"}: later\n` }, { "b.md": `${"FIX"}${"ME"}\n` }],
  { "a.ts": "// What is to do is done.\n" },
);

rule(
  "the package prints nothing",
  packagePrintsNothing,
  [
    { "web/src/open-store.ts": "  console.log(1);\n" },
    { "web/src/open-store.ts": "  console.warn(1);\n" },
    { "web/src/open-store.ts": "debugger;\n" },
    { "web/src/open/options.ts": "console.warn(1);\nconsole.warn(2);\n" },
  ],
  {
    "web/src/open-store.ts": " * console.log(1);\n",
    "web/src/open/options.ts": "console.warn(1);\n",
    "web/build.mjs": "console.log(1);\n",
  },
);

rule(
  "nothing names a machine or a registry",
  namesNoMachine,
  [
    { "a.md": `see /${"work"}/main\n` },
    { "a.sh": `cd /${"home"}/me\n` },
    { "package-lock.json": `"resolved": "${"http"}s://example/x.tgz"\n` },
    { "a.sh": `curl https://${"registry"}.example\n` },
  ],
  { "a.md": `src/${"work"}/x, \${root}/${"work"}/x\n` },
);

rule("text is tidy", textIsTidy, [{ "a.md": "a" }, { "a.md": "a \nb\n" }, { "a.md": "a\r\n" }], {
  "a.md": "a\n",
  "tests/testdata/x.txt": "a \r\n",
});

rule(
  "headers introduce themselves",
  headersIntroduceThemselves,
  [
    { "core/base/a.h": "#pragma once\n// x\n".replace("#pragma once\n", "") },
    { "tests/support/a.h": "// A.\n" },
  ],
  { "core/base/a.h": "// A.\n//\n// B.\n#pragma once\n" },
);

rule(
  "modules introduce themselves",
  modulesIntroduceThemselves,
  [{ "web/src/a.ts": "export const a = 1;\n" }],
  { "web/src/a.ts": "// A.\n", "web/src/b.ts": "/** B. */\n", "web/src/c.ts": "#!x\n// C.\n" },
);

rule("nothing is big", nothingIsBig, [{ "a.bin": "x".repeat((1 << 20) + 1) }], {
  "a.bin": "x".repeat(1 << 20),
});

rule(
  "links lead somewhere",
  linksResolve,
  [
    { "docs/a.md": "[b](b.md)\n" },
    { "a.md": "# One\n\n[x](#two)\n" },
    { "a.md": "[b](b.md#c)\n", "b.md": "# D\n" },
  ],
  {
    "a.md": "# One `thing`, two\n[x](#one-thing-two) [d](docs) [e](docs/b.md#c) [f](https://x.y)\n",
    "docs/b.md": "## C\n```\n[g](nowhere.md)\n```\n",
  },
);

rule(
  "no file is dead",
  everyFileIsReferenced,
  [{ "core/base/a.h": "// See a.h.\n" }, { "web/src/b.ts": "", "web/src/c.test.ts": "b.tsx" }],
  { "core/base/a.h": "", "core/base/b.cc": includes("core/base/a.h"), "web/src/index.test.ts": "" },
);

rule("every golden file is used", everyGoldenFileIsUsed, [{ "tests/testdata/filter/a.txt": "" }], {
  "tests/testdata/filter/a.txt": "",
  "tests/core/a_test.cc": 'golden("filter/" + name)',
});

rule(
  "every fuzz target has seeds",
  everyFuzzTargetHasSeeds,
  [{ "tests/fuzz/a_fuzz.cc": "" }, { "tests/fuzz/corpus/b/seed": "" }],
  { "tests/fuzz/a_fuzz.cc": "", "tests/fuzz/corpus/a/seed": "" },
);

rule(
  "no retired words",
  noRetiredWords,
  [
    { "core/base/low.h": "// Nobody calls this.\n" },
    { "web/src/a.ts": "// The second half of the module.\n" },
    { "tests/run": "# Besides, it counts.\n" },
  ],
  { "core/base/low.h": "// No caller uses this.\n", "tests/testdata/a.txt": "nobody\n" },
);

rule(
  "comments and prose end at 100 columns",
  linesAreShort,
  [
    { "core/base/low.h": `// ${"word ".repeat(20)}\n` },
    { "web/src/a.ts": `const a = 1; // ${"word ".repeat(20)}\n` },
    { "a.md": `${"word ".repeat(21)}\n` },
  ],
  {
    "core/base/low.h": `// ${"word ".repeat(19)}\n`,
    "a.md": `---\nsummary: ${"word ".repeat(21)}\n---\n| ${"word ".repeat(21)}|\n`,
    "web/src/a.ts": `const a = "${"word ".repeat(21)}";\n`,
  },
);

const threeLines = "int f() {\n  return 1;\n}\n";

rule(
  "functions get shorter",
  longestFunctionsDoNotGrow,
  [
    { "core/base/low.cc": threeLines, [recordFile]: '{ "core": 2 }' },
    { "core/base/low.cc": threeLines, [recordFile]: '{ "core": 4 }' },
  ],
  { "core/base/low.cc": threeLines, [recordFile]: '{ "core": 3 }' },
);

test("the length of a function", () => {
  const lines = (text: string) => longestFunction("a", text).lines;
  const body = "  x();\n".repeat(8);
  assert.equal(lines(`void f() {\n${body}}\n`), 10);
  assert.equal(lines(`namespace a {\n${body}}\n`), 0);
  assert.equal(lines(`class A {\n void f() const {\n${body} }\n};\n`), 10);
  assert.equal(lines(`export async function f(): Promise<void> {\n${body}}\n`), 10);
  assert.equal(lines(`const f = () => {\n${body}};\n`), 10);
  assert.equal(lines(`export class A {\n  f(): void {\n${body}  }\n}\n`), 10);
  assert.equal(lines(`void f() {\n  if (a) {\n${body}  } else {\n${body}  }\n}\n`), 21);
});
