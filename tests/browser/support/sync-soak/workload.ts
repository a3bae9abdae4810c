// Random writes of a client. Each writes a property of its own, its marker, to each of its rows, so
// that the remote shows which writes it has executed.
//
//   own      rows that no other client changes: at any time, they are as this client has left them
//   shared   rows that all clients change
//   pairs    two rows of a partition that are only written together

import type { Random } from "../../../web/support/random.ts";
import { pairRows } from "./remote-history.ts";
import { type RowKey, rowKeyOf, type WrittenValue } from "./rows.ts";

export const partitions = ["p", "o'q", "\u00f6~2"] as const;
export const anchorRows = ["anchor-0", "anchor-1", "anchor-2"] as const;
const ownRows = 6; // in each partition
const sharedRows = 6;

export interface Operation {
  readonly kind: "create" | "merge" | "replace" | "delete";
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly properties: Readonly<Record<string, WrittenValue>>;
}

/** Operations in one partition: a transaction, if there are several. */
export interface Write {
  readonly marker: string;
  readonly isOwn: boolean;
  readonly operations: readonly Operation[];
}

export const keyOf = ({ partitionKey, rowKey }: Operation): RowKey =>
  rowKeyOf(partitionKey, rowKey);

export class Workload {
  readonly #client: string;
  readonly #random: Random;
  #writes = 0;

  /** `client`: a name of letters. */
  constructor(client: string, random: Random) {
    this.#client = client;
    this.#random = random;
  }

  /** `exists`: whether the client's row is there. */
  next(exists: (key: RowKey) => boolean): Write {
    const marker = `m_${this.#client}_${++this.#writes}`;
    const partition = this.#oneOf(partitions);
    const kind = this.#random.below(10);
    if (kind < 5) {
      const operations = this.#ownOperations(partition, marker, exists);
      return { marker, isOwn: true, operations };
    }
    const operations =
      kind < 8
        ? this.#sharedOperations(partition, marker)
        : this.#pairOperations(partition, marker);
    return { marker, isOwn: false, operations };
  }

  /** One operation or several, as the rows are now. */
  #ownOperations(partition: string, marker: string, exists: (key: RowKey) => boolean): Operation[] {
    const first = this.#random.below(ownRows);
    const count = this.#random.below(3) === 0 ? 2 + this.#random.below(3) : 1;
    return Array.from({ length: count }, (_, index) => {
      const rowKey = `own-${this.#client}-${(first + index) % ownRows}`;
      const changes = ["merge", "merge", "replace", "delete"] as const;
      const isThere = exists(rowKeyOf(partition, rowKey));
      const kind = isThere ? this.#oneOf(changes) : "create";
      return this.#operation(kind, partition, rowKey, marker);
    });
  }

  #sharedOperations(partition: string, marker: string): Operation[] {
    const first = this.#random.below(sharedRows);
    const count = 1 + this.#random.below(2);
    const kinds = ["merge", "merge", "merge", "replace", "create", "delete"] as const;
    return Array.from({ length: count }, (_, index) => {
      const rowKey = `row-${(first + index) % sharedRows}`;
      return this.#operation(this.#oneOf(kinds), partition, rowKey, marker);
    });
  }

  #pairOperations(partition: string, marker: string): Operation[] {
    const kind = this.#oneOf(["merge", "merge", "replace", "delete"] as const);
    return pairRows.map((rowKey) => {
      const operation = this.#operation(kind, partition, rowKey, marker);
      if (kind === "delete") return operation;
      return { ...operation, properties: { ...operation.properties, pair: marker } };
    });
  }

  #operation(
    kind: Operation["kind"],
    partitionKey: string,
    rowKey: string,
    marker: string,
  ): Operation {
    const properties: Record<string, WrittenValue> = { [marker]: 1 };
    if (kind !== "delete" && this.#random.below(2) === 0) properties["text"] = marker;
    if (this.#random.below(4) === 0) Object.assign(properties, this.#typedProperties());
    return { kind, partitionKey, rowKey, properties: kind === "delete" ? {} : properties };
  }

  #typedProperties(): Record<string, WrittenValue> {
    const number = this.#random.below(1 << 30);
    const fraction = 1_000_001 + 10 * (number % 899_999); // the last digit is no zero
    return {
      big: { type: "Int64", value: `90071992${number}` },
      at: { type: "DateTime", value: `2026-01-02T03:04:05.${fraction}Z` },
      id: { type: "Guid", value: `00000000-0000-4000-8000-${String(number).padStart(12, "0")}` },
      bytes: { type: "Binary", value: Buffer.from(`${number}`).toString("base64") },
      share: number + 0.5,
      isOn: number % 2 === 0,
      empty: "",
      words: `\u00e4 "${number}" \u{1f4a1}`,
    };
  }

  #oneOf<T>(all: readonly T[]): T {
    return all[this.#random.below(all.length)] as T;
  }
}
