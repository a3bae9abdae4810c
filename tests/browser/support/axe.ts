// What axe has to say about a page, shadow roots included.
import axe from "axe-core";
import type { Page } from "playwright-core";

// A line for each element that breaks a rule of WCAG 2.2 AA, or one of axe's best practices; or
// only one of `rules`.
export async function accessibilityProblems(page: Page, rules?: string[]): Promise<string[]> {
  await page.evaluate(axe.source); // by the debugger, so that no policy of the page is in the way
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
