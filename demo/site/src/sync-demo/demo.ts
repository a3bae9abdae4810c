// Two stores that sync with one remote, all in the page.
import { type MockStore, mockStore } from "entitable/testing";
import { h } from "../dom.ts";
import { accountUrl, Device, type DeviceOptions, tableName } from "./device.ts";
import { button, DevicePanel } from "./device-panel.ts";
import type { Push } from "./logged-fetch.ts";
import { RemotePanel } from "./remote-panel.ts";

export type DemoOptions = Pick<DeviceOptions, "conflict" | "receipts">;

export interface Demo {
  readonly element: HTMLElement;
  readonly close: () => Promise<void>;
}

/** A store, or what shows one. */
interface Closable {
  close(): unknown;
}

const partitionKey = "desk";

export async function startDemo(options: DemoOptions): Promise<Demo> {
  const opened: Closable[] = [];
  const close = async () => {
    for (let last = opened.pop(); last !== undefined; last = opened.pop()) await last.close();
  };
  try {
    return { element: await open(options, opened), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Adds to `opened` what must be closed, also if this rejects. */
async function open(options: DemoOptions, opened: Closable[]): Promise<HTMLElement> {
  const remote = await openRemote();
  opened.push(remote);
  const remotePanel = new RemotePanel(remote);
  opened.push(remotePanel);
  const devices: Device[] = [];
  for (const name of ["Phone", "Laptop"]) {
    const onPush = (push: Push) => remotePanel.addPush(push);
    const device = await Device.open({ ...options, name, remote, onPush });
    opened.push(device);
    devices.push(device);
  }
  const panels = devices.map((device) => new DevicePanel(device));
  for (const panel of panels) opened.push(panel);
  await Promise.all(devices.map(({ sync }) => sync.now()));
  // The stocks differ, so that the two changes contradict each other.
  const changeBoth = () =>
    Promise.all(devices.map((one, index) => one.change("Arc", { by: 10 ** index })));
  return h(
    "div",
    {},
    h("p", {}, button("Change Arc in both stores", changeBoth)),
    h("div", { class: "sides" }, ...[...panels, remotePanel].map((panel) => panel.element)),
  );
}

function openRemote(): Promise<MockStore> {
  return mockStore({
    account: { name: new URL(accountUrl).hostname.split(".")[0] as string },
    clock: Date,
    fixtures: {
      [tableName]: [
        { partitionKey, rowKey: "Arc", stock: 7 },
        { partitionKey, rowKey: "Bow", stock: 3 },
        { partitionKey, rowKey: "Ray", stock: 5 },
      ],
    },
  });
}
