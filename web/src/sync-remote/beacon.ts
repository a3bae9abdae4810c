// Beacons: rows of another table of the remote, in which the clients of a synced table name the
// partitions that they have pushed (PROTOCOL.md, Beacons). One request reads all of them.

import { keyOf, type Partition, rowKeyOf } from "../sync/keys.ts";
import type { Value } from "../sync/value.ts";
import { textHash } from "../util/text-hash.ts";
import { answerOfBatch } from "./batch-answer.ts";
import { batchRequest } from "./batch-request.ts";
import type { Http, HttpResult } from "./http.ts";
import { rowsOfPage } from "./scans.ts";
import { isTableMissing, serviceErrorOf } from "./service-error.ts";

/** A partition belongs to one property of one row, by its hash. These numbers never change. */
const rows = 16;
const slotsOfRow = 32;

export interface BeaconOptions {
  /** The table of the beacons. */
  readonly table: string;
  /** The synced table. */
  readonly of: string;
  /** The client's name: it does not need to hear of its own pushes. */
  readonly client: string;
  /** Returns a random GUID. */
  readonly token: () => string;
}

export class TableBeacon {
  readonly #http: Pick<Http, "base" | "send">;
  readonly #options: BeaconOptions;
  /** What each slot has named last. Undefined: nothing was read yet. */
  #seen: Map<string, string> | undefined;

  constructor(http: Pick<Http, "base" | "send">, options: BeaconOptions) {
    this.#http = http;
    this.#options = options;
  }

  /**
   * Resolves to the partitions that others have pushed since the last call. Undefined: it is not
   * known, so everything must be read.
   */
  async changed(): Promise<readonly Partition[] | undefined> {
    const { client, of, table } = this.#options;
    const query = { $filter: `PartitionKey eq '${of.toLowerCase()}'` };
    const result = await this.#http.send({ method: "GET", path: `${table}()`, query });
    const read = rowsRead(result);
    if (read === undefined) {
      this.#seen = undefined;
      return undefined;
    }
    const now = new Map<string, string>();
    for (const { key, row } of read)
      for (const [name, { value }] of row.properties)
        now.set(`${rowKeyOf(key)} ${name}`, `${value}`);
    const before = this.#seen;
    this.#seen = now;
    if (before === undefined) return undefined;
    const named = [...now].map(([slot, value]) =>
      before.get(slot) === value ? [] : namedIn(value),
    );
    if (named.includes(undefined)) return undefined;
    return named.flatMap((hint) => (hint?.[0] === client ? [] : (hint ?? []).slice(2)));
  }

  /** Names partitions that were pushed. It is a hint only, so failures are of no consequence. */
  async announce(partitions: ReadonlySet<Partition>): Promise<void> {
    if (!(await this.#isMissing(partitions))) return;
    await this.#http.send({
      method: "POST",
      path: "Tables",
      headers: { "Content-Type": "application/json", Prefer: "return-no-content" },
      body: JSON.stringify({ TableName: this.#options.table }),
    });
    await this.#isMissing(partitions);
  }

  /** Sends the names. Resolves to whether the table is missing. */
  async #isMissing(partitions: ReadonlySet<Partition>): Promise<boolean> {
    const { client, of, table, token } = this.#options;
    const sets = new Map<string, Map<string, Value>>();
    for (const partition of partitions) {
      const [row, slot] = slotOf(partition);
      const set = sets.get(row) ?? new Map<string, Value>();
      const others = namedIn(String(set.get(slot)?.value ?? "")) ?? [client, token()];
      const value = JSON.stringify([...others, partition]);
      sets.set(row, set.set(slot, { type: "String", value }));
    }
    // Merges without a condition: two clients that push at once may both be named.
    const merges = [...sets].map(
      ([row, set]) => ({ kind: "merge", key: keyOf(of.toLowerCase(), row), set }) as const,
    );
    const request = batchRequest(merges, token(), `${this.#http.base}/${table}`, false);
    const result = await this.#http.send({ ...request, method: "POST", path: "$batch" });
    const deletes = merges.map(() => false);
    return answerOfBatch(result, deletes, false).kind === "tableMissing";
  }
}

/** The client, a random text, and partitions. Undefined: nothing that this code has written. */
function namedIn(value: string): string[] | undefined {
  try {
    const named: unknown = JSON.parse(value);
    const isList = Array.isArray(named) && named.every((one) => typeof one === "string");
    return isList ? named : undefined;
  } catch {
    return undefined;
  }
}

function rowsRead(result: HttpResult) {
  if (typeof result !== "object") return undefined;
  // Nothing was pushed yet.
  if (isTableMissing(result.status, serviceErrorOf(result.text)?.code)) return [];
  return result.status === 200 ? rowsOfPage(result.text, false) : undefined;
}

function slotOf(partition: Partition): [row: string, property: string] {
  const number = textHash(partition) % (rows * slotsOfRow);
  return [`${number % rows}`, `s${Math.floor(number / rows)}`];
}
