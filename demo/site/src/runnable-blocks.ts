// The runnable code blocks of a page: configures the element, and adds heat maps and server
// simulations below the blocks that request them.
import {
  type PlaygroundRunEvent,
  type PlaygroundStartEvent,
  TablePlayground,
} from "entitable/explorer";
import { CostComparison } from "./cost-comparison.ts";
import { HeatMap } from "./heat-map.ts";
import { partitionRequestsOf } from "./partition-access.ts";
import { PartitionServerChart } from "./partition-server-chart.ts";

// The modules that code in the pages may import.
TablePlayground.modules = {
  ...TablePlayground.modules,
  "@azure/data-tables": () => import("@azure/data-tables"),
  "entitable/bulk": () => import("entitable/bulk"),
  "entitable/data-tables": () => import("entitable/data-tables"),
  "entitable/encryption": () => import("entitable/encryption"),
  "entitable/keys": () => import("entitable/keys"),
  "entitable/large-values": () => import("entitable/large-values"),
  "entitable/queue": () => import("entitable/queue"),
};

// The editor is about a hundred kilobytes, so it is loaded only when a reader starts to edit.
TablePlayground.editor = async (options) => {
  const { codeEditor } = await import("./code-editor.ts");
  return codeEditor(options);
};

for (const versus of document.querySelectorAll(".versus")) {
  if (versus.nextElementSibling !== null) new CostComparison(versus, versus.nextElementSibling);
}

document.addEventListener("playground-start", (event) => {
  const { target, detail } = event as PlaygroundStartEvent;
  if (!(target instanceof HTMLElement)) return;
  if (target.dataset["heat"] !== undefined) heatMapOf(target).startRun(detail);
});

document.addEventListener("playground-run", (event) => {
  const { target, detail } = event as PlaygroundRunEvent;
  if (!(target instanceof HTMLElement) || detail.before === undefined) return;
  if (target.dataset["heat"] !== undefined) void heatMapOf(target).endRun(detail);
  if (target.dataset["servers"] !== undefined)
    serverChartOf(target).show(partitionRequestsOf(detail.requests));
});

const heatMaps = new WeakMap<Element, HeatMap>();

function heatMapOf(block: HTMLElement): HeatMap {
  let chart = heatMaps.get(block);
  if (chart === undefined) {
    chart = new HeatMap();
    heatMaps.set(block, chart);
    block.after(chart.element);
  }
  return chart;
}

const serverCharts = new WeakMap<Element, PartitionServerChart>();

function serverChartOf(block: HTMLElement): PartitionServerChart {
  let chart = serverCharts.get(block);
  if (chart === undefined) {
    chart = new PartitionServerChart();
    serverCharts.set(block, chart);
    block.parentElement?.append(chart.element);
  }
  return chart;
}
