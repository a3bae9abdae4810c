// The simulation of servers below a runnable code block: a slider for the request rate, a timeline
// of 30 seconds, and the ranges of each server at the end.
import { formatCount, h } from "./dom.ts";
import {
  model,
  type PartitionRequest,
  type Second,
  type Simulation,
  simulate,
} from "./server-simulation.ts";

const rates = [500, 1000, 2000, 5000, 10_000, 20_000, 40_000];
const seconds = 30;

export class PartitionServerChart {
  readonly element = h("figure", { class: "servers" });
  readonly #rate = h("input");
  readonly #rateText = h("output");
  readonly #result = h("div");
  #run: readonly PartitionRequest[] = [];

  constructor() {
    this.#rate.type = "range";
    this.#rate.max = String(rates.length - 1);
    this.#rate.value = String(rates.indexOf(5000));
    this.#rate.addEventListener("input", () => this.#draw());
    const label = h("label", {}, "Requests a second ", this.#rate, this.#rateText);
    const caption = h(
      "figcaption",
      {},
      `Simulation: these requests, repeated, on ${model.servers} servers`,
    );
    this.element.append(caption, label, this.#result);
  }

  /** Shows the simulation for the requests of a run. */
  show(run: readonly PartitionRequest[]): void {
    this.#run = run;
    this.#draw();
  }

  #draw(): void {
    const rate = rates[Number(this.#rate.value)] as number;
    this.#rate.setAttribute("aria-valuetext", formatCount(rate));
    this.#rateText.textContent = formatCount(rate);
    if (this.#run.length === 0) {
      this.#result.replaceChildren(h("p", {}, "This run sent no request to a partition."));
      return;
    }
    const simulation = simulate(this.#run, rate, seconds);
    this.#result.replaceChildren(
      timeline(simulation, rate),
      summary(simulation),
      eventList(simulation),
      serversTable(simulation),
    );
  }
}

// A row for each server and a column for each second: the server's load as a fraction of its limit.
// The last row shows the rejected requests. Hidden from assistive technology, because the text
// below says the same.
function timeline({ seconds: all }: Simulation, rate: number): HTMLElement {
  const grid = h("div", { class: "timeline" });
  grid.setAttribute("aria-hidden", "true");
  const row = (
    [name, kind, unit]: readonly [string, string, string],
    of: (second: Second) => number,
    full: number,
  ) => {
    grid.append(h("span", {}, name));
    for (const [index, second] of all.entries()) {
      const value = of(second);
      const field = h("i");
      field.dataset[kind] = String(Math.min(5, Math.ceil((value / full) * 5)));
      field.title = `Second ${index + 1}: ${formatCount(value)} ${unit}`;
      grid.append(field);
    }
  };
  for (let server = 0; server < model.servers; server += 1) {
    const load = ({ entities }: Second) => entities[server] ?? 0;
    row([`Server ${server + 1}`, "reads", "entities"], load, model.serverLimit);
  }
  row(["Rejected", "writes", "requests"], throttledIn, rate);
  return grid;
}

function throttledIn({ throttled }: Second): number {
  return throttled.account + throttled.moving + throttled.partition + throttled.server;
}

function summary({ seconds: all }: Simulation): HTMLElement {
  const sum = (of: (second: Second) => number) => all.reduce((total, one) => total + of(one), 0);
  const served = sum((second) => second.served.reduce((total, one) => total + one, 0));
  const entities = sum((second) => second.entities.reduce((total, one) => total + one, 0));
  const throttled = sum(throttledIn);
  const reasons = [
    ["their partition was too busy", sum((second) => second.throttled.partition)],
    ["their server was too busy", sum((second) => second.throttled.server)],
    ["their range was moving to another server", sum((second) => second.throttled.moving)],
    ["the account was too busy", sum((second) => second.throttled.account)],
  ] as const;
  const texts = reasons
    .filter(([, number]) => number > 0)
    .map(([reason, number]) => `${formatCount(number)} because ${reason}`);
  const why = texts.length === 0 ? "" : `: ${texts.join(", ")}`;
  const about = entities === served ? "" : ` for ${formatCount(entities)} entities`;
  const text = `In ${all.length} seconds, ${formatCount(served)} requests${about} were served and ${formatCount(throttled)} were rejected${why}.`;
  return h("p", { class: "summary-text" }, text);
}

function eventList({ seconds: all }: Simulation): HTMLElement {
  const texts = all.flatMap(({ events }, index) =>
    events.map((event) => `After second ${index + 1}, ${event}.`),
  );
  const different = texts.filter((_, i) => i === 0 || textOf(texts[i]) !== textOf(texts[i - 1]));
  return h("ol", { class: "story" }, ...different.map((text) => h("li", {}, text)));
}

const textOf = (texts: string | undefined) => texts?.replace(/^After second \d+, /, "");

function serversTable({ seconds: all, ranges }: Simulation): HTMLElement {
  const last = all.at(-1);
  const rows = Array.from({ length: model.servers }, (_, server) => {
    const own = ranges.filter((range) => range.server === server);
    const from = own.map((range) => (range.from === "" ? "the start of the table" : range.from));
    return h(
      "tr",
      {},
      h("th", {}, `Server ${server + 1}`),
      h("td", { class: "number" }, formatCount(last?.entities[server] ?? 0)),
      h("td", {}, from.length === 0 ? "no range" : from.join(", ")),
    );
  });
  const head = h(
    "tr",
    {},
    h("th", {}, "At the end"),
    h("th", { class: "number" }, "entities in the last second"),
    h("th", {}, "ranges start at"),
  );
  return h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows));
}
