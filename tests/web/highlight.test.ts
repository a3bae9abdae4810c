// Tests syntax highlighting: tokens get the right colours, and the text never changes.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { highlight } from "../../web/src/explorer/highlight.ts";

const coloured = (code: string) =>
  highlight(code)
    .filter(({ kind }) => kind !== "plain")
    .map(({ kind, text }) => `${kind} ${text}`);

describe("syntax highlighting colours", () => {
  test("comments, strings, numbers, keywords", () => {
    assert.deepEqual(
      coloured('const a = "it\'s"; // a "comment"\nreturn `b {1}` + 0.5e3 + 10n /* const */;'),
      [
        "keyword const",
        'string "it\'s"',
        'comment // a "comment"',
        "keyword return",
        "string `b {1}`",
        "number 0.5e3",
        "number 10n",
        "comment /* const */",
      ],
    );
  });

  test("no text that only looks like a token", () => {
    assert.deepEqual(coloured("x.return + constant + a1 + this.#field + $new"), ["keyword this"]);
    assert.deepEqual(coloured("npm install entitable # a comment"), ["comment # a comment"]);
  });

  test("an unterminated token to its end", () => {
    assert.deepEqual(coloured('"open\nlet'), ['string "open', "keyword let"]);
    assert.deepEqual(coloured("/* open\nlet"), ["comment /* open\nlet"]);
    assert.deepEqual(coloured("`open\nlet"), ["string `open\nlet"]);
  });

  test("without changing the text, whatever it is", (t) => {
    const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000);
    t.diagnostic(`ENTITABLE_SEED=${seed}`);
    let state = seed + 1;
    const next = (below: number) => {
      state = (state * 48_271) % 2_147_483_647;
      return state % below;
    };
    const letters = [
      '"',
      "'",
      "`",
      "\\",
      "/",
      "*",
      "\n",
      "#",
      " ",
      "a",
      "1",
      ".",
      "$",
      "{",
      "let",
      "😀",
    ];
    for (let i = 0; i < 2000; ++i) {
      const code = Array.from({ length: next(40) }, () => letters[next(letters.length)]).join("");
      const pieces = highlight(code);
      assert.equal(pieces.map(({ text }) => text).join(""), code);
      assert(
        pieces.every(({ text }) => text !== ""),
        JSON.stringify(code),
      );
    }
  });
});
