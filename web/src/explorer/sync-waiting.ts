// The lists of what waits: for the remote (the outbox), or for the user (parked and lost writes,
// deletes to confirm).

import type {
  LostWrite,
  ParkedWrites,
  SuspectDeletes,
  Sync,
  SyncStatus,
  SyncWrite,
} from "../start-sync/types.ts";
import { listOf } from "../util/list-of.ts";
import type { Dom } from "./dom.ts";
import type { ActionButtons } from "./sync-actions.ts";
import { comparisonOf, type SyncDom } from "./sync-comparison.ts";
import { ItemList } from "./sync-item-list.ts";

const shownMost = 50; // of each list, and of the keys of an item

export interface Waiting {
  readonly pending: readonly SyncWrite[];
  readonly parked: readonly ParkedWrites[];
  readonly lost: readonly LostWrite[];
}

/** Reads the first of each. */
export async function readWaiting(sync: Sync): Promise<Waiting> {
  const options = { top: shownMost };
  const [pending, parked, lost] = await Promise.all([
    listOf(sync.pending(options)),
    listOf(sync.parked(options)),
    listOf(sync.lost(options)),
  ]);
  return { pending, parked, lost };
}

/** `counted`: at another moment than the list was read, so a list that was read whole is right. */
const totalOf = (items: readonly unknown[], counted: number): number =>
  items.length < shownMost ? items.length : counted;

export class SyncWaiting {
  readonly element: HTMLElement;
  readonly #dom: SyncDom;
  readonly #actions: ActionButtons;
  readonly #sync: () => Sync | undefined;
  readonly #pending: ItemList<SyncWrite>;
  readonly #parked: ItemList<ParkedWrites>;
  readonly #lost: ItemList<LostWrite>;
  readonly #suspects: ItemList<SuspectDeletes>;

  constructor(dom: SyncDom, actions: ActionButtons, sync: () => Sync | undefined) {
    this.#dom = dom;
    this.#actions = actions;
    this.#sync = sync;
    this.#pending = new ItemList(dom, {
      title: "Outbox",
      empty: "The remote has every write.",
      keyOf: ({ kind, partitionKey, rowKey, table }) =>
        JSON.stringify([table, partitionKey, rowKey, kind]),
      render: (write) => [this.#head(write)],
    });
    this.#parked = new ItemList(dom, {
      title: "Parked",
      empty: "The remote refuses no write.",
      keyOf: ({ id, reason, writes }) => JSON.stringify([id, reason, writes.length]),
      render: (parked) => this.#parkedItem(parked),
    });
    this.#lost = new ItemList(dom, {
      title: "Lost conflicts",
      empty: "No write has lost a conflict.",
      keyOf: ({ id }) => id,
      render: (lost) => this.#lostItem(lost),
    });
    this.#suspects = new ItemList(dom, {
      title: "Deletes to confirm",
      empty: undefined,
      keyOf: ({ id }) => id,
      render: (suspects) => this.#suspectsItem(suspects),
    });
    const lists = [this.#suspects, this.#pending, this.#parked, this.#lost];
    this.element = dom.h("div", { class: "waiting" }, ...lists.map(({ element }) => element));
  }

  show({ lost, parked, pending }: Waiting, status: SyncStatus): void {
    this.#pending.show(pending, totalOf(pending, status.pending));
    this.#parked.show(parked, totalOf(parked, status.parked));
    this.#lost.show(lost, totalOf(lost, status.lost));
  }

  showSuspects(suspects: readonly SuspectDeletes[]): void {
    this.#suspects.show(suspects, suspects.length);
  }

  clear(): void {
    for (const list of [this.#suspects, this.#pending, this.#parked, this.#lost]) list.show([], 0);
  }

  // ---- Items ----------------------------------------------------------------------------------

  #head(write: SyncWrite): HTMLElement {
    const { h } = this.#dom;
    return h("p", {}, badge(this.#dom, write.kind, write.kind), " ", h("code", {}, nameOf(write)));
  }

  #parkedItem({ id, reason, table, writes }: ParkedWrites): HTMLElement[] {
    const { formatCountWithNoun, h } = this.#dom;
    const [first] = writes;
    const what = first === undefined ? table : nameOf(first);
    const rest = writes.length - shownMost;
    return [
      h("p", {}, "Reason: ", h("strong", {}, reason)),
      ...writes.slice(0, shownMost).map((write) => this.#head(write)),
      ...(rest > 0
        ? [h("p", { class: "muted" }, `and ${formatCountWithNoun(rest, "more write")}.`)]
        : []),
      this.#buttons([
        ["Retry", what, (sync) => sync.retry(id)],
        ["Discard", what, (sync) => sync.discard(id)],
      ]),
    ];
  }

  #lostItem(lost: LostWrite): HTMLElement[] {
    const { h } = this.#dom;
    const { id, outcome } = lost;
    const what = nameOf(lost);
    const head = this.#head(lost);
    if (outcome === "unknown") head.append(" ", badge(this.#dom, unknownText, "delete"));
    const details = h("details", {}, h("summary", {}, "Compare the versions"));
    details.addEventListener("toggle", () => {
      for (const shown of [...details.children].slice(1)) shown.remove();
      if (details.open) details.append(comparisonOf(this.#dom, lost));
    });
    return [
      head,
      details,
      this.#buttons([
        ["Restore", what, (sync) => sync.restore(id)],
        ["Discard", what, (sync) => sync.discard(id)],
      ]),
    ];
  }

  #suspectsItem({ id, keys, table }: SuspectDeletes): HTMLElement[] {
    const { formatCount, formatCountWithNoun, h } = this.#dom;
    const count = formatCountWithNoun(keys.length, "entity", "entities");
    const rest = keys.length - shownMost;
    return [
      h("p", {}, `The remote does not return ${count} of ${table} any more.`),
      h(
        "ul",
        { class: "keys-of-suspects" },
        ...keys
          .slice(0, shownMost)
          .map((key) => h("li", {}, h("code", {}, nameOf({ table, ...key })))),
      ),
      ...(rest > 0 ? [h("p", { class: "muted" }, `and ${formatCount(rest)} more.`)] : []),
      this.#buttons([["Confirm deletes", `of ${count}`, (sync) => sync.confirmDeletes(id)]]),
    ];
  }

  #buttons(
    actions: readonly [text: string, what: string, act: (sync: Sync) => Promise<unknown>][],
  ): HTMLElement {
    const buttons = actions.map(([text, what, act]) =>
      this.#actions.button(text, what, async () => {
        const sync = this.#sync();
        if (sync) await act(sync);
      }),
    );
    return this.#dom.h("div", { class: "item-actions" }, ...buttons);
  }
}

const badge = ({ h }: Dom, text: string, kind: string): HTMLElement =>
  h("span", { class: `badge ${kind}` }, text);

const unknownText = "perhaps applied, then overwritten";

const nameOf = ({ partitionKey, rowKey, table }: Omit<SyncWrite, "kind">): string =>
  `${table} ('${partitionKey}', '${rowKey}')`;
