// The comparison below the two panes of a chapter: a button that runs both, and the costs of both
// runs.
import type { PlaygroundRun, TablePlayground } from "entitable/explorer";
import { formatCount, h } from "./dom.ts";

type Cost = NonNullable<PlaygroundRun["cost"]>;

const figures: readonly [name: string, of: (cost: Cost) => number][] = [
  ["Rows read", ({ rowsRead }) => rowsRead],
  ["Requests", ({ requests }) => requests],
  ["Rows written", ({ rowsWritten }) => rowsWritten],
  ["Rows deleted", ({ rowsDeleted }) => rowsDeleted],
  ["Rejected", ({ failed }) => failed],
];

export class CostComparison {
  readonly #bars: HTMLElement;
  readonly #costs = new Map<Element, Cost | undefined>();
  readonly #blocks: readonly TablePlayground[];

  /** `versus` is the .versus element with the two blocks; the comparison is shown in `element`. */
  constructor(versus: Element, element: Element) {
    this.#blocks = [...versus.querySelectorAll("table-playground")];
    this.#bars = element.querySelector(".bars") as HTMLElement;
    const button = element.querySelector("button") as HTMLButtonElement;
    button.hidden = false;
    button.addEventListener("click", () => void this.#runAll());
    versus.addEventListener("playground-run", (event) => {
      const { cost, hasUncountedRequests, error } = (event as CustomEvent<PlaygroundRun>).detail;
      const isWhole = error === undefined && !hasUncountedRequests;
      this.#costs.set(event.target as Element, isWhole ? cost : undefined);
      this.#show();
    });
  }

  // Runs the blocks one after the other, so that neither slows down the other. A block that is
  // already running is not started again.
  async #runAll(): Promise<void> {
    for (const block of this.#blocks) await block.run();
  }

  #show(): void {
    const [naive, pattern] = this.#blocks.map((block) => this.#costs.get(block));
    this.#bars.replaceChildren();
    if (naive === undefined || pattern === undefined) return;
    const differing = figures.filter(([, of]) => of(naive) !== of(pattern));
    if (differing.length === 0 && naive.requests > 0)
      this.#bars.append(h("p", {}, "Both blocks take the same number of requests and rows."));
    // A rejected request does no work, so a smaller number is no advantage if more was rejected.
    const isFair = naive.failed === pattern.failed;
    for (const [name, of] of differing) {
      this.#bars.append(comparison(name, of(naive), of(pattern), isFair));
    }
  }
}

function comparison(name: string, naive: number, pattern: number, isFair: boolean): HTMLElement {
  const most = Math.max(naive, pattern);
  const bar = (kind: string, value: number) => {
    const line = h("i");
    line.style.inlineSize = `${(value / most) * 100}%`;
    return h("div", { class: kind }, line, h("span", {}, `${formatCount(value)} ${kind}`));
  };
  const title = h(
    "p",
    {},
    `${name}: `,
    h("strong", {}, isFair ? relativeText(naive, pattern) : absoluteText(naive, pattern)),
  );
  return h("div", { class: "comparison" }, title, bar("naive", naive), bar("pattern", pattern));
}

function absoluteText(naive: number, pattern: number): string {
  const number = (n: number) => (n === 0 ? "none" : formatCount(n));
  return `${number(pattern)} instead of ${number(naive)}`;
}

/** Describes the pattern's number relative to the naive one. */
function relativeText(naive: number, pattern: number): string {
  if (pattern === 0 || naive === 0) return absoluteText(naive, pattern);
  const [factor, word] =
    naive > pattern ? [naive / pattern, "fewer"] : [pattern / naive, "as many"];
  if (factor < 2) return absoluteText(naive, pattern);
  return `${formatCount(factor < 10 ? Math.round(factor * 10) / 10 : Math.round(factor))} times ${word}`;
}
