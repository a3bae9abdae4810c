// The heat map of a run: one field for each partition, drawn while code runs. A field is darker the
// more entities were read or written, or would have been if requests had not been rejected. Each
// field also shows the numbers as text, so it is readable without colours. All heat maps use the
// same scale, so they are comparable.
import type { PlaygroundRun, PlaygroundStart } from "entitable/explorer";
import { formatCount, h } from "./dom.ts";
import { PartitionAccessCounter, type PartitionAccessCounts } from "./partition-access.ts";

const levels = [1, 10, 100, 1000, 10_000]; // smallest number of entities for each shade

// With more partitions than this, fields are small squares. Their text is in a tooltip and
// available to screen readers.
const mostNamed = 40;

export class HeatMap {
  readonly element = h("figure", { class: "heat" });
  readonly #caption = h("figcaption");
  readonly #maps = h("div");
  #fields = new Map<string, Field>();
  #accesses = new PartitionAccessCounter(undefined);
  #drawn = -1;
  #frame = 0;

  constructor() {
    this.element.append(this.#caption, this.#maps);
  }

  /** Discards the previous run, and shows this run frame by frame from now on. */
  startRun({ before, requests }: PlaygroundStart): void {
    const accesses = new PartitionAccessCounter(before);
    this.#accesses = accesses;
    this.#drawn = -1;
    this.element.dataset["state"] = "running";
    const draw = () => {
      accesses.countRequests(requests);
      this.#draw();
      this.#frame = requestAnimationFrame(draw);
    };
    cancelAnimationFrame(this.#frame);
    draw();
  }

  /** Draws the final state after the run has ended and `requests` is complete. */
  async endRun({ requests }: PlaygroundRun): Promise<void> {
    cancelAnimationFrame(this.#frame);
    const accesses = this.#accesses;
    accesses.countRequests(requests);
    await accesses.whenPartitionsListed();
    if (accesses !== this.#accesses) return; // the next run has started
    this.#draw();
    for (const field of this.#fields.values()) field.rest();
    this.element.dataset["state"] = "done";
  }

  #draw(): void {
    for (const field of this.#fields.values()) field.rest();
    if (this.#drawn === this.#accesses.revision) return;
    this.#drawn = this.#accesses.revision;
    const all = this.#accesses.allPartitions();
    this.element.hidden = all.length === 0;
    const touched = all.filter((one) => Math.max(...heatOf(one)) > 0).length;
    this.#caption.textContent = `Partitions accessed: ${formatCount(touched)} of ${formatCount(all.length)}`;
    if (all.length !== this.#fields.size || !all.every((one) => this.#fields.has(nameOf(one)))) {
      this.#arrange(all);
    }
    for (const one of all) this.#fields.get(nameOf(one))?.show(one);
  }

  #arrange(all: readonly PartitionAccessCounts[]): void {
    this.#fields = new Map();
    const tables = Map.groupBy(all, ({ table }) => table);
    const maps = [...tables].flatMap(([table, own]) => {
      const isSmall = own.length > mostNamed;
      const list = h("ul", { class: isSmall ? "fields small" : "fields" });
      for (const one of own) {
        const field = new Field(one.partition, isSmall);
        this.#fields.set(nameOf(one), field);
        list.append(field.element);
      }
      return [h("p", { class: "heat-table" }, `Table ${table}`), list];
    });
    this.#maps.replaceChildren(...maps);
  }
}

class Field {
  readonly element = h("li");
  readonly #numbers = h("p", { class: "numbers" });
  readonly #partition: string;
  readonly #isSmall: boolean;

  constructor(partition: string, isSmall: boolean) {
    this.#partition = partition;
    this.#isSmall = isSmall;
    this.element.append(h("p", { class: "name" }, partition || "(empty)"), this.#numbers);
  }

  /** Removes the mark that the partition is being accessed. */
  rest(): void {
    this.element.removeAttribute("data-now");
  }

  show(access: PartitionAccessCounts): void {
    const { reads, writes, deletes, refused } = access;
    const told = [
      [reads, "read"],
      [writes, "written"],
      [deletes, "deleted"],
      [refused, refused === 1 ? "request rejected" : "requests rejected"],
    ] as const;
    const numbers = told.filter(([n]) => n > 0).map(([n, what]) => `${formatCount(n)} ${what}`);
    const text = numbers.join(", ") || "not accessed";
    if (text === this.#numbers.textContent) return;
    this.#numbers.textContent = text;
    if (numbers.length > 0) this.element.toggleAttribute("data-now", true);
    if (this.#isSmall) this.element.title = `${this.#partition}: ${text}`;
    const [readHeat, writeHeat] = heatOf(access);
    this.element.dataset["reads"] = String(levelOf(readHeat));
    this.element.dataset["writes"] = String(levelOf(writeHeat));
  }
}

// A delete counts as much as a write.
function heatOf(access: PartitionAccessCounts): [reads: number, writes: number] {
  const { reads, writes, deletes, refusedReads, refusedWrites } = access;
  return [reads + refusedReads, writes + deletes + refusedWrites];
}

function nameOf({ table, partition }: PartitionAccessCounts): string {
  return `${table}\n${partition}`;
}

function levelOf(entities: number): number {
  return levels.filter((from) => entities >= from).length;
}
