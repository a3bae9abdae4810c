// The panel "Sync": how far the tables of a store are in step with the remote, what waits for the
// remote or for the user, and the buttons that decide about it.

import type { Sync, SyncStatus } from "../start-sync/types.ts";
import { ActionButtons } from "./sync-actions.ts";
import type { SyncDom } from "./sync-comparison.ts";
import { SyncNetwork } from "./sync-network.ts";
import { SyncStatusView } from "./sync-status.ts";
import { readWaiting, SyncWaiting } from "./sync-waiting.ts";

const restMs = 300; // between two reads
const readingShare = 0.05; // of the time
const agingMs = 60_000; // after which what was compared is read again: it can have become too old

export class SyncPanel {
  readonly element: HTMLElement;
  readonly #dom: SyncDom;
  readonly #error: HTMLElement;
  readonly #pause: HTMLElement;
  readonly #status: SyncStatusView;
  readonly #waiting: SyncWaiting;
  readonly #network: SyncNetwork;
  readonly #size: ResizeObserver;
  #sync: Sync | undefined;
  #end = (): void => {};
  #errorSource: "action" | "reading" = "reading"; // of the shown error
  #isDrawScheduled = false;
  #isReading = false; // or rests after it
  #isReadDue = false;
  #turn = 0; // counts the syncs that were shown: a read of an earlier one may never end
  #aging: ReturnType<typeof setTimeout> | undefined;

  constructor(dom: SyncDom) {
    const { h } = dom;
    this.#dom = dom;
    const actions = new ActionButtons(dom, {
      onDone: () => {
        this.#error.hidden = true;
        this.#onChange();
      },
      onError: (error) => this.#fail(error, "action"),
    });
    this.#status = new SyncStatusView(dom);
    this.#waiting = new SyncWaiting(dom, actions, () => this.#sync);
    this.#network = new SyncNetwork(dom);
    this.#pause = h("button", { type: "button", "aria-pressed": "false" }, "Pause");
    this.#pause.addEventListener("click", () => this.#togglePause());
    const now = actions.button("Sync now", "", async () => void (await this.#sync?.now()));
    this.#error = h("div", { class: "error", role: "alert", hidden: true });
    const bar = h("div", { class: "bar" }, this.#status.summary, now, this.#pause);
    this.element = h(
      "div",
      { class: "sync" },
      bar,
      this.#error,
      this.#status.element,
      this.#network.element,
      this.#waiting.element,
      this.#status.estimate,
    );
    // Also when it is displayed again: what is not displayed has no size.
    this.#size = new ResizeObserver(() => this.#onChange());
  }

  open(sync: Sync): void {
    if (sync === this.#sync) return;
    this.close();
    this.#sync = sync;
    this.#end = sync.subscribe(() => this.#onChange());
    this.#network.open(sync);
    this.#size.observe(this.element);
    this.#onChange();
  }

  /** Shows no sync, and listens to none. */
  close(): void {
    this.#end();
    this.#end = () => {};
    this.#size.disconnect();
    this.#network.close();
    this.#waiting.clear();
    this.#error.hidden = true;
    this.#sync = undefined;
    this.#turn += 1;
    this.#isReading = false;
    clearTimeout(this.#aging);
  }

  // An element that is not displayed, such as one in a tab behind another, has no rectangles.
  get #isSeen(): boolean {
    return !document.hidden && this.element.getClientRects().length > 0;
  }

  #togglePause(): void {
    if (this.#sync?.status.phase === "paused") this.#sync.resume();
    else this.#sync?.pause();
    this.#onChange();
  }

  #fail(error: unknown, source: "action" | "reading"): void {
    const { title, text, hint } = this.#dom.describeError(error);
    const { h } = this.#dom;
    this.#error.replaceChildren(h("strong", {}, title), [text, hint].filter(Boolean).join(" "));
    this.#error.hidden = false;
    this.#errorSource = source;
  }

  // ---- Drawing --------------------------------------------------------------------------------

  // While the panel is not seen, nothing is drawn or read.
  #onChange(): void {
    this.#isReadDue = true;
    if (this.#isDrawScheduled) return;
    this.#isDrawScheduled = true;
    requestAnimationFrame(() => {
      this.#isDrawScheduled = false;
      if (this.#sync === undefined || !this.#isSeen) return;
      this.#draw(this.#sync.status);
      void this.#read(this.#sync);
    });
  }

  #draw(status: SyncStatus): void {
    this.#status.show(status);
    this.#waiting.showSuspects(status.suspects);
    const isPaused = status.phase === "paused";
    this.#pause.textContent = isPaused ? "Resume" : "Pause";
    this.#pause.setAttribute("aria-pressed", String(isPaused));
  }

  /** Reads what waits, and rests afterwards, so that it takes a small part of the time. */
  async #read(sync: Sync): Promise<void> {
    if (this.#isReading || sync.status.phase === "stopped") return;
    this.#isReading = true;
    this.#isReadDue = false;
    const turn = this.#turn;
    const from = performance.now();
    await this.#showReads(sync).catch((error) => {
      if (sync === this.#sync) this.#fail(error, "reading");
    });
    const ms = Math.max(restMs, (performance.now() - from) / readingShare);
    setTimeout(() => {
      if (turn !== this.#turn) return;
      this.#isReading = false;
      if (this.#isReadDue && this.#isSeen) this.#onChange();
    }, ms);
    if (turn !== this.#turn) return;
    clearTimeout(this.#aging);
    this.#aging = setTimeout(() => this.#onChange(), agingMs);
  }

  async #showReads(sync: Sync): Promise<void> {
    const [waiting, coverage, estimate] = await Promise.all([
      readWaiting(sync),
      sync.coverage(),
      sync.estimate(),
    ]);
    if (sync !== this.#sync) return;
    if (this.#errorSource === "reading") this.#error.hidden = true;
    this.#waiting.show(waiting, sync.status);
    this.#status.showCoverage(coverage);
    this.#status.showEstimate(estimate);
  }
}
