// Checks a page by axe, including shadow roots.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type axe from "axe-core";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// The rules whose results depend on the styles of a text and of the elements around it.
const contrastRules = ["color-contrast", "link-in-text-block"];

interface AxeGlobal {
  axe: typeof axe;
  textToCheck: Map<string, Element>; // set by textStyles()
}

// Returns a line for each element that violates a rule of WCAG 2.2 AA or one of axe's best
// practices; if `rules` is given, only one of those.
export async function accessibilityProblems(page: Page, rules?: string[]): Promise<string[]> {
  return await problemsOf(page, rules === undefined ? {} : { runOnly: rules });
}

/**
 * Checks many pages with the same style sheet. Axe needs most of its time for the contrast of
 * texts, which depends only on styles. So the contrast is checked once for each combination of
 * styles, and all other rules on each page. With --all, the contrast of every text is checked: that
 * fails if the contrast depends on something that textStyles() does not regard.
 */
export class PagesCheck {
  readonly #checkedStyles = new Set<string>();

  /** Like accessibilityProblems(), but checks the contrast like contrastProblems(). */
  async allProblems(page: Page): Promise<string[]> {
    return [...(await this.#problems(page)), ...(await this.contrastProblems(page))];
  }

  /** Like accessibilityProblems(), but without contrastProblems(). */
  async #problems(page: Page): Promise<string[]> {
    const rules = Object.fromEntries(contrastRules.map((rule) => [rule, { enabled: false }]));
    return await problemsOf(page, { rules });
  }

  /**
   * Returns a line for each text whose contrast to its background, or to the text around a link, is
   * too low, unless one with the same styles was checked before.
   */
  async contrastProblems(page: Page): Promise<string[]> {
    if (process.env["ENTITABLE_ALL"] !== undefined) {
      return await accessibilityProblems(page, contrastRules);
    }
    const styles = await page.evaluate(textStyles);
    const unchecked = styles.filter((style) => !this.#checkedStyles.has(style));
    for (const style of unchecked) this.#checkedStyles.add(style);
    if (unchecked.length === 0) return [];
    return await problemsOf(page, { runOnly: contrastRules }, unchecked);
  }
}

// Checks the texts that textStyles() has found with these styles, by default the whole page.
async function problemsOf(
  page: Page,
  given: axe.RunOptions,
  styles?: readonly string[],
): Promise<string[]> {
  // evaluated by the debugger, which the page's policy does not restrict
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(source);
  const options: axe.RunOptions = { resultTypes: ["violations"], ...given };
  const { violations } = await page.evaluate(
    ([wanted, only]) => {
      const { axe: checker, textToCheck } = globalThis as unknown as AxeGlobal;
      const include = only?.map((style) => textToCheck.get(style) as Element);
      return checker.run(include === undefined ? document : { include }, wanted);
    },
    [options, styles] as const,
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} (${help}): ${target}\n${failureSummary}`),
  );
}

// Runs in the page. Returns all combinations of styles that visible texts have, and keeps one
// element for each in `textToCheck`. A combination contains what axe compares: the colour and size
// of the text, and the backgrounds of the element and of those around it. The classes and positions
// distinguish elements over other backgrounds than those of their ancestors. For links it also
// contains how they differ from the text around them.
function textStyles(): string[] {
  const plain = "rgba(0, 0, 0, 0) none 1 static none normal none"; // no effect on the contrast
  const found = new Map<string, Element>();
  const describeLink = (link: Element, style: CSSStyleDeclaration) => {
    let block = link.parentElement;
    while (block !== null && getComputedStyle(block).display.startsWith("inline")) {
      block = block.parentElement;
    }
    const isAlone = block?.textContent?.trim() === link.textContent?.trim();
    const { color = "", fontWeight = "" } = block === null ? {} : getComputedStyle(block);
    const { textDecorationLine, borderBottom, fontStyle } = style;
    return [isAlone, color, fontWeight, textDecorationLine, borderBottom, fontStyle].join(" ");
  };
  const describe = (element: Element, around: string) => {
    const style = getComputedStyle(element);
    if (style.display === "none") return;
    const { backgroundColor, backgroundImage, opacity, position, filter, mixBlendMode } = style;
    const painted = [
      backgroundColor,
      backgroundImage,
      opacity,
      position,
      filter,
      mixBlendMode,
      style.backdropFilter,
    ].join(" ");
    const name = `${element.localName}.${element.getAttribute("class") ?? ""}`;
    const within = painted === plain ? around : `${around} > ${name} ${painted}`;
    const isField = element.matches("input, select, textarea");
    const hasText = [...element.childNodes].some(
      (node) => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim() !== "",
    );
    if ((isField || hasText) && element.checkVisibility({ visibilityProperty: true })) {
      const { color, fontSize, fontWeight, textShadow } = style;
      const parent = element.parentElement;
      const names = `${parent?.localName}.${parent?.getAttribute("class")} ${name}`;
      const link = element.localName === "a" ? describeLink(element, style) : "";
      const key = `${within} | ${names} ${color} ${fontSize} ${fontWeight} ${textShadow} ${link}`;
      if (!found.has(key)) found.set(key, element);
    }
    for (const child of (element.shadowRoot ?? element).children) describe(child, within);
    if (element.shadowRoot !== null) for (const child of element.children) describe(child, within);
  };
  describe(document.documentElement, "");
  (globalThis as unknown as AxeGlobal).textToCheck = found;
  return [...found.keys()];
}
