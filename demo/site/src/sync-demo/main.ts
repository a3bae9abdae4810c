// The demonstration on the page about failures of sync. Loads the engine, sync and all other code
// when the reader presses the button.
import type { DemoOptions } from "./demo.ts";

const byId = <E extends HTMLElement>(id: string) => document.getElementById(id) as E;
const button = byId<HTMLButtonElement>("sync-start");
const message = byId("sync-message");
const place = byId("sync-stores");

function chosenOptions(): DemoOptions {
  const conflict = byId<HTMLSelectElement>("sync-conflict").value as DemoOptions["conflict"];
  return { conflict, receipts: byId<HTMLInputElement>("sync-receipts").checked };
}

let close = async () => {};

async function start(): Promise<void> {
  button.disabled = true;
  message.textContent = "Starting…";
  try {
    place.replaceChildren();
    await close();
    close = async () => {};
    const { startDemo } = await import("./demo.ts");
    const demo = await startDemo(chosenOptions());
    close = demo.close;
    place.replaceChildren(demo.element);
    message.textContent = "Both stores are open.";
    button.textContent = "Start again";
  } catch (error) {
    message.textContent = `The stores did not start: ${error instanceof Error ? error.message : error}`;
  } finally {
    button.disabled = false;
  }
}

button.addEventListener("click", () => void start());
button.disabled = false;
