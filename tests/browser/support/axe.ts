// Checks a page by axe, including shadow roots.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type axe from "axe-core";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// Returns a line for each element that violates a rule of WCAG 2.2 AA or one of axe's best
// practices; if `rules` is given, only one of those.
export async function accessibilityProblems(page: Page, rules?: string[]): Promise<string[]> {
  // evaluated by the debugger, which the page's policy does not restrict
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(source);
  const options: axe.RunOptions = { resultTypes: ["violations"] };
  if (rules !== undefined) options.runOnly = rules;
  const { violations } = await page.evaluate(
    (given) => (globalThis as unknown as { axe: typeof axe }).axe.run(document, given),
    options,
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} (${help}): ${target}\n${failureSummary}`),
  );
}
