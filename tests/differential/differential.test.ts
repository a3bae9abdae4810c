// The REST door against Azurite's table service: the same seeded requests to both. Where they differ, the specification has
// said so before (exceptions.ts), or the test fails and shows what was asked and answered.
//
//   ENTITABLE_REQUESTS=500 ENTITABLE_SEED=7 tests/run --only differential

import assert from "node:assert/strict";
import { test } from "node:test";
import { batchClaims } from "./batch-claims.ts";
import { batchSasClaims } from "./batch-sas-claims.ts";
import { Conversation, type Failure } from "./conversation.ts";
import { type Exception, exceptions } from "./exceptions.ts";
import { followed, pageClaims } from "./page-claims.ts";
import { policyClaims } from "./policy-claims.ts";
import { queryClaims } from "./query-claims.ts";
import { readClaims } from "./read-claims.ts";
import { sasClaims } from "./sas-claims.ts";
import { serviceClaims } from "./service-claims.ts";
import { openEntitable, startAzurite } from "./sides.ts";
import { tableClaims } from "./table-claims.ts";
import { writeClaims } from "./write-claims.ts";

const seed = Number(process.env.ENTITABLE_SEED ?? 1);
const wholeRun = 10_000; // in so many requests nothing that is claimed or excepted may be missing
const requests = Number(process.env.ENTITABLE_REQUESTS ?? wholeRun);
const failuresMax = 100;
const claims = [
  ...writeClaims,
  ...readClaims,
  ...queryClaims,
  ...tableClaims,
  ...serviceClaims,
  ...pageClaims,
  ...sasClaims,
  ...policyClaims,
  ...batchClaims,
  ...batchSasClaims,
];

const shortened = (text: string) => (text.length > 600 ? `${text.slice(0, 600)} …` : text);

function describe({ step, difference, requests: [request], responses }: Failure): string {
  const lines = [
    `${step.operation}, about: ${[...step.about].join(", ")}`,
    `  ${difference.path}: ours ${JSON.stringify(difference.ours)}, Azurite's ${JSON.stringify(difference.theirs)}`,
    `  ${request.method} ${request.url}`,
    ...request.headers.map(([name, value]) => `  ${name}: ${value}`),
    `  ${shortened(request.body ?? "")}`,
  ];
  for (const [i, { status, headers, body }] of responses.entries()) {
    lines.push(
      `  ${i === 0 ? "ours" : "Azurite's"}: ${status} ${JSON.stringify([...headers])}`,
      `  ${shortened(body)}`,
    );
  }
  return lines.join("\n");
}

// How often which difference was met, and when.
function summary(failures: readonly Failure[]): string {
  const counts = new Map<string, number>();
  for (const { step, difference } of failures) {
    const path = difference.path.replaceAll(/\.\d+\b/g, ".#");
    const pair = shortened(
      `${JSON.stringify(difference.ours)} / ${JSON.stringify(difference.theirs)}`,
    );
    const line = `${step.operation} [${[...step.about]}] ${path}: ${pair}`;
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  return sorted.map(([line, count]) => `${`${count}`.padStart(6)}  ${line}`).join("\n");
}

function explained(exception: Exception): string {
  const why = "unlisted" in exception ? ` | not in §10: ${exception.unlisted}` : "";
  return exception.reason + why;
}

function mustAgree({ failures }: Conversation): void {
  if (failures.length === 0) return;
  const shown = failures.slice(0, 10).map(describe).join("\n\n");
  assert.fail(
    `ENTITABLE_SEED=${seed}: ${failures.length} differences\n${summary(failures)}\n\n${shown}`,
  );
}

test("two Azurites do not differ", async () => {
  await using one = await startAzurite();
  await using other = await startAzurite();
  const conversation = new Conversation({
    seed,
    sides: [one, other],
    claims,
    followed,
    exceptions: [],
    judges: false,
  });
  await conversation.run(Math.min(requests, 500), failuresMax);
  mustAgree(conversation);
});

test("the REST door differs from Azurite as the specification says", async () => {
  await using azurite = await startAzurite();
  await using store = await openEntitable(azurite.base);
  const conversation = new Conversation({
    seed,
    sides: [store, azurite],
    claims,
    followed,
    exceptions,
    judges: true,
  });
  await conversation.run(requests, failuresMax);
  console.log(`ENTITABLE_SEED=${seed} ENTITABLE_REQUESTS=${conversation.requests}`);
  console.log(conversation.coverage.lines().join("\n"));
  const { rounds, pagesMax, coverage } = conversation;
  console.log(
    `${claims.length} claims, all dealt ${rounds} times, each answered as it says ${coverage.least()} times or more`,
  );
  console.log(`longest query: ${pagesMax} pages`);
  for (const [exception, count] of conversation.hits) {
    console.log(`${count}`.padStart(6), explained(exception));
  }
  mustAgree(conversation);
  if (requests < wholeRun) return;
  assert.deepEqual(coverage.missed(), [], "claimed, and never answered so");
  const dead = [...conversation.hits].filter(([, count]) => count === 0);
  assert.deepEqual(
    dead.map(([{ reason }]) => reason),
    [],
    "exceptions that nothing needed",
  );
});
