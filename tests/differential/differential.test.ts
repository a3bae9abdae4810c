// Sends the same seeded requests to the REST entry point and to Azurite's table service. If the
// responses differ, known-differences.ts must allow the difference. Otherwise the test fails and
// shows the request and both responses.
//
//   ENTITABLE_REQUESTS=500 ENTITABLE_SEED=7 tests/run --only differential

import assert from "node:assert/strict";
import { test } from "node:test";
import { openEntitable, startAzurite } from "./backends.ts";
import { batchSasScenarios } from "./batch-sas-scenarios.ts";
import { batchScenarios } from "./batch-scenarios.ts";
import { DifferentialSession, type Failure } from "./differential-session.ts";
import { type KnownDifference, knownDifferences } from "./known-differences.ts";
import { followed, pageScenarios } from "./page-scenarios.ts";
import { policyScenarios } from "./policy-scenarios.ts";
import { queryScenarios } from "./query-scenarios.ts";
import { readScenarios } from "./read-scenarios.ts";
import { sasScenarios } from "./sas-scenarios.ts";
import { serviceScenarios } from "./service-scenarios.ts";
import { tableScenarios } from "./table-scenarios.ts";
import { writeScenarios } from "./write-scenarios.ts";

const seed = Number(process.env.ENTITABLE_SEED ?? 1);
const wholeRun = 10_000; // requests; from here on, every scenario and known difference must occur
const requests = Number(process.env.ENTITABLE_REQUESTS ?? wholeRun);
const failuresMax = 100;
const scenarios = [
  ...writeScenarios,
  ...readScenarios,
  ...queryScenarios,
  ...tableScenarios,
  ...serviceScenarios,
  ...pageScenarios,
  ...sasScenarios,
  ...policyScenarios,
  ...batchScenarios,
  ...batchSasScenarios,
];

const shortened = (text: string) => (text.length > 600 ? `${text.slice(0, 600)} …` : text);

function describe({ step, difference, requests: [request], responses }: Failure): string {
  const lines = [
    `${step.operation}, tags: ${[...step.tags].join(", ")}`,
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

// Counts each difference and lists the requests where it occurred.
function summary(failures: readonly Failure[]): string {
  const counts = new Map<string, number>();
  for (const { step, difference } of failures) {
    const path = difference.path.replaceAll(/\.\d+\b/g, ".#");
    const pair = shortened(
      `${JSON.stringify(difference.ours)} / ${JSON.stringify(difference.theirs)}`,
    );
    const line = `${step.operation} [${[...step.tags]}] ${path}: ${pair}`;
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  return sorted.map(([line, count]) => `${`${count}`.padStart(6)}  ${line}`).join("\n");
}

function explained(knownDifference: KnownDifference): string {
  const why =
    "unlisted" in knownDifference ? ` | not in the table: ${knownDifference.unlisted}` : "";
  return knownDifference.reason + why;
}

function mustAgree({ failures }: DifferentialSession): void {
  if (failures.length === 0) return;
  const shown = failures.slice(0, 10).map(describe).join("\n\n");
  assert.fail(
    `ENTITABLE_SEED=${seed}: ${failures.length} differences\n${summary(failures)}\n\n${shown}`,
  );
}

test("two Azurites do not differ", async () => {
  await using one = await startAzurite();
  await using other = await startAzurite();
  const session = new DifferentialSession({
    seed,
    backends: [one, other],
    scenarios,
    followed,
    knownDifferences: [],
    enforcesRules: false,
  });
  await session.run(Math.min(requests, 500), failuresMax);
  mustAgree(session);
});

test("the REST entry point differs from Azurite only in known ways", async () => {
  await using azurite = await startAzurite();
  await using store = await openEntitable(azurite.base);
  const session = new DifferentialSession({
    seed,
    backends: [store, azurite],
    scenarios,
    followed,
    knownDifferences,
    enforcesRules: true,
  });
  await session.run(requests, failuresMax);
  console.log(`ENTITABLE_SEED=${seed} ENTITABLE_REQUESTS=${session.requests}`);
  console.log(session.coverage.lines().join("\n"));
  const { rounds, pagesMax, coverage } = session;
  console.log(
    `${scenarios.length} scenarios, each used ${rounds} times, each with its expected outcome at least ${coverage.leastExpected()} times`,
  );
  console.log(`longest query: ${pagesMax} pages`);
  for (const [knownDifference, count] of session.hits) {
    console.log(`${count}`.padStart(6), explained(knownDifference));
  }
  mustAgree(session);
  if (requests < wholeRun) return;
  assert.deepEqual(coverage.uncovered(), [], "expected outcomes that never occurred");
  const dead = [...session.hits].filter(([, count]) => count === 0);
  assert.deepEqual(
    dead.map(([{ reason }]) => reason),
    [],
    "known differences that did not occur",
  );
});
