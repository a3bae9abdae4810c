// The status of each table that is synced, how much of it was compared, and what syncing costs.

import type {
  SyncCoverage,
  SyncError,
  SyncEstimate,
  SyncStatus,
  TableSyncStatus,
} from "../start-sync/types.ts";
import type { Dom } from "./dom.ts";

type Figures = readonly (readonly [name: string, value: string | Node | undefined])[];

export class SyncStatusView {
  /** One line about all tables. */
  readonly summary: HTMLElement;
  readonly element: HTMLElement;
  readonly estimate: HTMLElement;
  readonly #dom: Dom;
  readonly #costs: HTMLElement;
  #status: SyncStatus | undefined;
  #coverage: readonly SyncCoverage[] = [];

  constructor(dom: Dom) {
    const { h } = dom;
    this.#dom = dom;
    this.summary = h("span", { class: "title", role: "status" });
    this.element = h("div", { class: "synced-tables" });
    this.#costs = h("dl", { class: "plan" });
    const attributes = { class: "costs", role: "region", "aria-label": "Cost", hidden: true };
    const title = h("strong", { class: "title" }, "Cost, if nothing changes");
    this.estimate = h("div", attributes, title, this.#costs);
  }

  show(status: SyncStatus): void {
    this.#status = status;
    const text = `${phaseTexts[status.phase]}, ${onlineText(status)}`;
    if (this.summary.textContent !== text) this.summary.textContent = text;
    this.#draw();
  }

  showCoverage(coverage: readonly SyncCoverage[]): void {
    this.#coverage = coverage;
    this.#draw();
  }

  #draw(): void {
    const tables = Object.entries(this.#status?.tables ?? {});
    this.element.replaceChildren(...tables.map(([name, status]) => this.#table(name, status)));
  }

  #table(name: string, status: TableSyncStatus): HTMLElement {
    const { formatCount, h } = this.#dom;
    const coverage = this.#coverage.find(({ table }) => table === name);
    const count = (n: number) => formatCount(n);
    const countIfAny = (n: number) => (n > 0 ? count(n) : undefined);
    const figures: Figures = [
      ["Phase", status.phase],
      ["Remote", onlineText(status)],
      ["Pending", count(status.pending)],
      ["Requests in flight", count(status.inFlight)],
      ["Parked", count(status.parked)],
      ["Lost", count(status.lost)],
      ["Unknown outcomes", countIfAny(status.outcomeUnknown)],
      ["Misses repaired", countIfAny(status.missesRepaired)],
      ["Last pull", timeOr(this.#dom, status.lastPulledAt, "none")],
      ["Changes until", timeOr(this.#dom, coverage?.changesUntil, "not known")],
      ["Versions compared", this.#comparedText(coverage)],
    ];
    const attributes = { class: "synced-table", role: "region", "aria-label": `Table ${name}` };
    return h(
      "div",
      { ...attributes, "data-table": name },
      h("strong", { class: "title" }, name),
      h("dl", { class: "plan" }, ...figuresOf(this.#dom, figures)),
      errorOf(this.#dom, status.error),
    );
  }

  #comparedText(coverage: SyncCoverage | undefined): Node | undefined {
    if (coverage === undefined) return undefined;
    const { h } = this.#dom;
    const { comparedShare, comparedSince } = coverage;
    if (comparedSince === undefined) return h("span", {}, "none");
    const share = comparedShare === 1 ? "all" : `${Math.round(comparedShare * 100)} %`;
    return h("span", {}, `${share} since `, timeElement(this.#dom, comparedSince));
  }

  showEstimate(estimate: SyncEstimate): void {
    const { formatCount } = this.#dom;
    const { costPerMonth, scannedPerSecond, stalenessMs, transactionsPerMonth } = estimate;
    const figures: Figures = [
      ["Scanned entities per second", formatCount(rounded(scannedPerSecond))],
      ["Transactions in 30 days", formatCount(transactionsPerMonth)],
      ["Price in 30 days", costPerMonth < 0.01 ? "below $0.01" : `$${costPerMonth.toFixed(2)}`],
      ["A change arrives within", durationText(stalenessMs)],
    ];
    this.#costs.replaceChildren(...figuresOf(this.#dom, figures));
    this.estimate.hidden = false;
  }
}

const phaseTexts: Readonly<Record<SyncStatus["phase"], string>> = {
  connecting: "Connecting",
  downloading: "Downloading",
  syncing: "Syncing",
  idle: "Idle",
  paused: "Paused",
  stopped: "Stopped",
};

const onlineText = ({ online }: Pick<TableSyncStatus, "online">): string =>
  online === undefined ? "not asked yet" : online ? "online" : "offline";

function figuresOf({ h }: Dom, figures: Figures): HTMLElement[] {
  return figures.flatMap(([name, value]) =>
    value === undefined
      ? []
      : [h("div", { "data-figure": name }, h("dt", {}, name), h("dd", {}, value))],
  );
}

function errorOf({ h }: Dom, error: SyncError | undefined): HTMLElement | undefined {
  if (error === undefined) return undefined;
  const { code, hint, message } = error;
  return h("div", { class: "error" }, h("strong", {}, code), `${message} ${hint}`);
}

function timeOr(dom: Dom, time: Date | undefined, text: string): Node {
  return time === undefined ? dom.h("span", {}, text) : timeElement(dom, time);
}

function timeElement({ h }: Dom, time: Date): HTMLElement {
  const isToday = time.toDateString() === new Date().toDateString();
  const text = isToday ? time.toLocaleTimeString("en-GB") : time.toLocaleString("en-GB");
  return h("time", { datetime: time.toISOString(), title: time.toISOString() }, text);
}

/** To two significant digits, if it is small. */
const rounded = (n: number): number => (n < 10 ? Number(n.toPrecision(2)) : Math.round(n));

function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
