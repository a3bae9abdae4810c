// The golden conversations of the REST door (tests/testdata/protocol) once more, through the module: byte for byte what the core
// answers natively, where they are written.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { Conversation } from "./support/conversation.ts";
import { goldenCases } from "./support/golden.ts";

const folder = new URL("../testdata/protocol/", import.meta.url);

describe("through the module the conversation is the same about", () => {
  const files = readdirSync(folder).filter((name) => name.endsWith(".http"));
  assert(files.length > 0);
  for (const name of files) {
    test(name.replace(".http", ""), async (t) => {
      const conversation = await Conversation.start();
      t.after(() => conversation.close());
      const cases = goldenCases(`protocol/${name}`);
      assert(cases.length > 0);
      for (const { line, input, expected } of cases) {
        assert.equal(conversation.say(input), expected, `${name}:${line}`);
      }
    });
  }
});
