// The live blocks of a page: the element, and the picture of the partitions beneath those that ask for it.
import { type PlaygroundRunEvent, TablePlayground } from "entitable/explorer";
import { HeatMap } from "./heat-map.ts";
import { accessesOf } from "./partition-access.ts";

// What code in the pages may import.
TablePlayground.modules = {
  ...TablePlayground.modules,
  "entitable/bulk": () => import("entitable/bulk"),
  "entitable/data-tables": () => import("entitable/data-tables"),
  "entitable/encryption": () => import("entitable/encryption"),
  "entitable/keys": () => import("entitable/keys"),
  "entitable/queue": () => import("entitable/queue"),
};

const pictures = new WeakMap<Element, HeatMap>();

document.addEventListener("playground-run", (event) => {
  const block = event.target;
  if (!(block instanceof HTMLElement) || block.dataset["heat"] === undefined) return;
  void showHeat(block, (event as PlaygroundRunEvent).detail);
});

async function showHeat(
  block: HTMLElement,
  { store, requests }: PlaygroundRunEvent["detail"],
): Promise<void> {
  if (store === undefined || !("requests" in store)) return;
  let picture = pictures.get(block);
  if (picture === undefined) {
    picture = new HeatMap();
    pictures.set(block, picture);
    block.after(picture.element);
  }
  picture.show(await accessesOf(store, requests));
}
