// The live blocks of a page: the element, and the pictures beneath those that ask for them.
import { type PlaygroundRun, type PlaygroundRunEvent, TablePlayground } from "entitable/explorer";
import { HeatMap } from "./heat-map.ts";
import { accessesOf } from "./partition-access.ts";
import { ServerPicture } from "./server-picture.ts";
import { Verdict } from "./verdict.ts";

// What code in the pages may import.
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

// Its hundred kilobytes are for those who edit.
TablePlayground.editor = async (options) => {
  const { codeEditor } = await import("./code-editor.ts");
  return codeEditor(options);
};

for (const versus of document.querySelectorAll(".versus")) {
  if (versus.nextElementSibling !== null) new Verdict(versus, versus.nextElementSibling);
}

document.addEventListener("playground-run", (event) => {
  const block = event.target;
  if (!(block instanceof HTMLElement)) return;
  const run = (event as PlaygroundRunEvent).detail;
  if (block.dataset["heat"] !== undefined) void showHeat(block, run);
  if (block.dataset["servers"] !== undefined) showServers(block, run);
});

const heatMaps = new WeakMap<Element, HeatMap>();

async function showHeat(block: HTMLElement, run: PlaygroundRun): Promise<void> {
  const { store, requests } = run;
  if (store === undefined || !("requests" in store)) return;
  const accesses = await accessesOf(store, requests);
  let picture = heatMaps.get(block);
  if (picture === undefined) {
    picture = new HeatMap();
    heatMaps.set(block, picture);
    block.after(picture.element);
  }
  picture.show(accesses);
}

const serverPictures = new WeakMap<Element, ServerPicture>();

function showServers(block: HTMLElement, { requests }: PlaygroundRun): void {
  const keys = requests.flatMap(({ partitionKey, operations }) =>
    partitionKey === undefined ? [] : Array<string>(operations?.length ?? 1).fill(partitionKey),
  );
  if (keys.length === 0) return;
  let picture = serverPictures.get(block);
  if (picture === undefined) {
    picture = new ServerPicture();
    serverPictures.set(block, picture);
    block.parentElement?.append(picture.element);
  }
  picture.show(keys);
}
