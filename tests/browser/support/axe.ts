// What axe has to say about a page, shadow roots included.
import axe from "axe-core";
import type { Page } from "playwright-core";

// A line for each element that breaks a rule of WCAG 2.2 AA, or one of axe's best practices.
export async function accessibilityProblems(page: Page): Promise<string[]> {
  await page.evaluate(axe.source); // by the debugger, so that no policy of the page is in the way
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run(document, {
      resultTypes: ["violations"],
    }),
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} (${help}): ${target}\n${failureSummary}`),
  );
}
