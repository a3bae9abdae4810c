// Checks every page of the guide that no other file checks.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Guide, openGuide, pagesOfGuide } from "../support/guide.ts";
import { checkPage, pagesWithOwnTest } from "../support/guide-check.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

const elsewhere = new Set<string>(Object.values(pagesWithOwnTest).flat());

// Two at a time: a page often waits for a frame or for its server.
describe("every page of the guide", { concurrency: 2 }, () => {
  for (const path of pagesOfGuide().filter((one) => !elsewhere.has(one))) {
    test(`/${path}: links lead to pages, every block runs, axe finds no problem, and phones do not scroll sideways`, async () => {
      const page = await guide.open(path);
      await checkPage(guide, page);
      await guide.leave(page);
    });
  }
});

test("no page of the guide printed or threw anything", () => {
  assert.deepEqual(guide.problems, []);
});
