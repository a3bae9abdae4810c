// Two stores that sync with one remote, all in the page.
import { type MockStore, mockStore } from "entitable/testing";
import { h } from "../dom.ts";
import { accountUrl, Device, type DeviceOptions, tableName } from "./device.ts";
import { DevicePanel } from "./device-panel.ts";
import { RemotePanel } from "./remote-panel.ts";

export type DemoOptions = Pick<DeviceOptions, "conflict" | "receipts">;

export interface Demo {
  readonly element: HTMLElement;
  readonly close: () => Promise<void>;
}

const partitionKey = "desk";

export async function startDemo(options: DemoOptions): Promise<Demo> {
  const remote = await openRemote();
  const remotePanel = new RemotePanel(remote);
  const open = (name: string) =>
    Device.open({ ...options, name, remote, onPush: (push) => remotePanel.addPush(push) });
  const [phone, laptop] = await Promise.all([open("Phone"), open("Laptop")]);
  const panels = [phone, laptop].map((device) => new DevicePanel(device));
  await Promise.all([phone, laptop].map(({ sync }) => sync.now()));

  // The stocks differ, so that the two changes contradict each other.
  const changeBoth = () =>
    void Promise.all([phone.change("Arc", { by: 1 }), laptop.change("Arc", { by: 10 })]);
  const element = h(
    "div",
    {},
    h("p", {}, h("button", { type: "button", onclick: changeBoth }, "Change Arc in both stores")),
    h("div", { class: "sides" }, ...[...panels, remotePanel].map((panel) => panel.element)),
  );
  const close = async () => {
    for (const panel of [...panels, remotePanel]) panel.close();
    for (const store of [phone, laptop, remote]) await store.close();
  };
  return { element, close };
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
