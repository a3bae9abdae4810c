// Shows the remote: its entities, and the last requests that have sent writes.
import type { MockStore } from "entitable/testing";
import { h } from "../dom.ts";
import { type Lamp, tableName } from "./device.ts";
import { type ItemView, KeyedList } from "./keyed-list.ts";
import type { Push } from "./logged-fetch.ts";

interface Row {
  readonly name: string;
  readonly stock: number | undefined;
}

interface NumberedPush extends Push {
  readonly number: number;
}

const pushesShown = 6;

export class RemotePanel {
  readonly element: HTMLElement;
  readonly #rows = new KeyedList<Row>("Entities of the remote", ({ name }) => name, rowView);
  readonly #pushList = new KeyedList<NumberedPush>(
    "Last requests with writes",
    ({ number }) => `${number}`,
    pushView,
  );
  readonly #endWatch: () => void;
  #pushes: readonly NumberedPush[] = [];
  #count = 0;

  constructor(remote: MockStore) {
    this.element = h(
      "section",
      { "aria-label": "Remote" },
      h("h3", {}, "Remote"),
      this.#rows.element,
      h("h4", {}, "Last requests with writes"),
      this.#pushList.element,
    );
    const rows = remote.table<Lamp>(tableName).live();
    const show = () => this.#rows.show((rows.getSnapshot().data ?? []).map(rowOf));
    const unsubscribe = rows.subscribe(show);
    void rows.ready.then(show, () => {});
    this.#endWatch = () => {
      unsubscribe();
      rows.close();
    };
  }

  addPush(push: Push): void {
    this.#count += 1;
    this.#pushes = [{ ...push, number: this.#count }, ...this.#pushes].slice(0, pushesShown);
    this.#pushList.show(this.#pushes);
  }

  close(): void {
    this.#endWatch();
  }
}

/** The receipts of the stores are rows too, without a stock. */
function rowOf({ rowKey, stock }: { rowKey: string; stock?: number }): Row {
  return { name: rowKey, stock };
}

function rowView({ name }: Row): ItemView<Row> {
  const isReceipt = name.startsWith("~");
  const stock = h("b", {});
  const text = h("span", {}, isReceipt ? "A receipt" : `${name} `, stock);
  const element = h("li", { "aria-label": name }, text);
  return {
    element,
    update(row) {
      stock.textContent = isReceipt ? "" : `${row.stock}`;
    },
  };
}

function pushView({ device, isExecuted, outcome }: NumberedPush): ItemView<NumberedPush> {
  const state = isExecuted ? "executed" : "failed";
  const element = h("li", { "data-outcome": state }, `${device}: ${outcome}`);
  return { element, update() {} };
}
