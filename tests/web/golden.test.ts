// Runs the golden conversations of the REST entry point (tests/testdata/rest) through the
// WebAssembly module. The responses must have the same bytes as those of the native core.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { goldenCases } from "./support/golden.ts";
import { RestSession } from "./support/rest-session.ts";

const folder = new URL("../testdata/rest/", import.meta.url);

describe("the conversation through the module equals the native one about", () => {
  const files = readdirSync(folder).filter((name) => name.endsWith(".http"));
  assert(files.length > 0);
  for (const name of files) {
    test(name.replace(".http", ""), async (t) => {
      const session = await RestSession.start();
      t.after(() => session.close());
      const cases = goldenCases(`rest/${name}`);
      assert(cases.length > 0);
      for (const { line, input, expected } of cases) {
        assert.equal(session.responseTo(input), expected, `${name}:${line}`);
      }
    });
  }
});
