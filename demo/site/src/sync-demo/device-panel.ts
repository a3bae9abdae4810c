// Shows one store: what it has, what waits, what was lost, and the switches of its network.
import type { LostWrite, SyncStatus, SyncWrite } from "entitable/sync";
import type { FetchFaultName } from "entitable/testing";
import { h } from "../dom.ts";
import type { Device, DeviceState } from "./device.ts";
import { type ItemView, KeyedList } from "./keyed-list.ts";

type Lamp = DeviceState["lamps"][number];
type NumberedWrite = SyncWrite & { readonly index: number };

/** A fault, which requests it meets, and how the switch is called. */
const switches: readonly (readonly [FetchFaultName, keyof Device["faults"], string])[] = [
  ["offline", "all", "Offline"],
  ["request-lost", "writes", "Lose requests"],
  ["response-lost", "writes", "Lose responses"],
  ["throttled", "all", "Answer 429"],
  ["delayed", "all", "Delay by 2 s"],
];

const kinds = { create: "insert", edit: "change", delete: "delete" } as const;

export class DevicePanel {
  readonly element: HTMLElement;
  readonly #device: Device;
  readonly #lamps: KeyedList<Lamp>;
  readonly #pending: KeyedList<NumberedWrite>;
  readonly #lost: KeyedList<LostWrite>;
  readonly #status = h("output", {});
  readonly #endWatch: () => void;
  #isReading = false;
  #isOutdated = false;

  constructor(device: Device) {
    this.#device = device;
    const { name } = device;
    this.#lamps = new KeyedList(`Lamps of ${name}`, (lamp) => lamp.name, this.#lampView);
    this.#pending = new KeyedList<NumberedWrite>(
      `Waiting writes of ${name}`,
      ({ index }) => `${index}`,
      pendingView,
    );
    this.#lost = new KeyedList(`Lost writes of ${name}`, ({ id }) => id, this.#lostView);
    this.element = h(
      "section",
      { "aria-label": name, tabindex: "-1" },
      h("h3", {}, name),
      h("fieldset", {}, h("legend", {}, "Network"), ...switches.map(this.#switchOf)),
      this.#lamps.element,
      h(
        "p",
        {},
        button("Add a lamp", () => device.add()),
        button("Sync now", () => device.sync.now()),
      ),
      h("p", { class: "status" }, this.#status),
      this.#pending.element,
      this.#lost.element,
    );
    this.#endWatch = device.watch(() => void this.#update());
    void this.#update();
  }

  close(): void {
    this.#endWatch();
  }

  // ---- What it shows ---------------------------------------------------------------------------

  /** Reads the state, and again if it has changed meanwhile. */
  async #update(): Promise<void> {
    this.#isOutdated = true;
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#isOutdated) {
        this.#isOutdated = false;
        this.#show(await this.#device.state());
      }
    } catch {
      // The store was closed.
    } finally {
      this.#isReading = false;
    }
  }

  #show({ lamps, lost, pending, status }: DeviceState): void {
    this.#lamps.show(lamps);
    this.#pending.show(pending.map((write, index) => ({ ...write, index })));
    this.#lost.show(lost);
    this.#status.textContent = describe(status);
    this.element.dataset["state"] = isCut(status) ? "cut" : "connected";
  }

  readonly #switchOf = ([fault, which, label]: (typeof switches)[number]): HTMLElement => {
    const { sync } = this.#device;
    const faults = this.#device.faults[which];
    const box = h("input", { type: "checkbox" });
    box.addEventListener("change", () => {
      if (box.checked) faults.on(fault);
      else faults.off(fault);
      if (fault === "offline") this.#device.setOnline(!box.checked);
      else if (!box.checked) void sync.now();
    });
    return h("label", {}, box, label);
  };

  readonly #lampView = ({ name }: Lamp): ItemView<Lamp> => {
    const stock = h("b", {});
    const element = h(
      "li",
      { "aria-label": name },
      h("span", {}, `${name} `, stock),
      button("+1", () => this.#device.change(name, { by: 1 }), `+1 ${name}`),
      button("Delete", () => this.#device.remove(name), `Delete ${name}`),
    );
    return {
      element,
      update(lamp) {
        stock.textContent = `${lamp.stock}`;
      },
    };
  };

  readonly #lostView = ({ id, local, outcome, remote, rowKey }: LostWrite): ItemView<LostWrite> => {
    const { sync } = this.#device;
    const unknown = outcome === "unknown" ? " It is unknown whether the write was executed." : "";
    const text = `Lost: ${rowKey} ${sideOf(local)} here, ${sideOf(remote)} at the remote.${unknown}`;
    const element = h(
      "li",
      {},
      h("span", { class: "lost" }, text),
      button("Restore", () => sync.restore(id), `Restore the change of ${rowKey}`),
      button("Discard", () => sync.discard(id), `Discard the change of ${rowKey}`),
    );
    return { element, update() {} };
  };
}

function pendingView(): ItemView<SyncWrite> {
  const element = h("li", {});
  return {
    element,
    update({ kind, rowKey }) {
      element.textContent = `Waits: ${kinds[kind]} ${rowKey}`;
    },
  };
}

function sideOf(entity: LostWrite["local"]): string {
  return entity === undefined ? "deleted" : String(entity["stock"]);
}

function describe({ online, outcomeUnknown, pending, phase }: SyncStatus): string {
  const waiting = pending === 1 ? "1 write waits." : `${pending} writes wait.`;
  const isSilent = online === false && phase !== "paused";
  const connection = isSilent ? "The remote does not answer." : phaseText(phase);
  const unknown = outcomeUnknown === 0 ? "" : ` Outcomes unknown: ${outcomeUnknown}.`;
  return `${connection} ${waiting}${unknown}`;
}

const isCut = ({ online, phase }: SyncStatus) => online === false || phase === "paused";

function phaseText(phase: SyncStatus["phase"]): string {
  if (phase === "paused") return "Offline.";
  return phase === "connecting" || phase === "downloading" ? "Connecting." : "Connected.";
}

/** A write of a lamp that is not there any more fails, and changes nothing. */
export function button(
  text: string,
  work: () => Promise<unknown>,
  label = text,
): HTMLButtonElement {
  const onclick = () => void work().catch(() => {});
  return h("button", { type: "button", "aria-label": label, onclick }, text);
}
