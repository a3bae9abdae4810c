// What one client has written and what was acknowledged, kept outside of its process.

import type { RemoteHistory } from "./remote-history.ts";
import { areSameProperties, type RowKey, type Rows, textOfWritten } from "./rows.ts";
import { keyOf, type Operation, type Write } from "./workload.ts";

type Properties = ReadonlyMap<string, string>;

/** A write that the client reports as lost. */
export interface ReportedLost {
  readonly key: RowKey;
  readonly kind: string;
  readonly outcome: string;
  /** The names of the properties of the row as it was at the client. */
  readonly names: readonly string[];
}

/** Of rows that all clients write. */
interface SharedWrite {
  readonly write: Write;
  /** Otherwise the process died before, and it may have been stored. */
  readonly isAcknowledged: boolean;
}

export class ClientLedger {
  readonly client: string;
  /** The client's own rows, as the acknowledged writes have left them. */
  #own: ReadonlyMap<RowKey, Properties> = new Map();
  /** The process died before it acknowledged this write, so that it may have been stored. */
  #uncertain: Write | undefined;
  #shared: SharedWrite[] = [];
  acknowledged = 0;

  constructor(client: string) {
    this.client = client;
  }

  exists(key: RowKey): boolean {
    return this.#own.has(key);
  }

  acknowledge(write: Write): void {
    this.acknowledged += 1;
    if (write.isOwn) this.#own = afterWrite(this.#own, write);
    else this.#shared.push({ write, isAcknowledged: true });
  }

  onUncertain(write: Write): void {
    this.#uncertain = write.isOwn ? write : undefined;
    if (!write.isOwn) this.#shared.push({ write, isAcknowledged: false });
  }

  /**
   * Compares the client's own rows with those of its store. After a process has died, the last
   * write may have been stored, as a whole. Returns violations.
   */
  check(rows: Rows): string[] {
    const uncertain = this.#uncertain;
    this.#uncertain = undefined;
    const found = this.#differences(this.#own, rows);
    if (found.length === 0 || uncertain === undefined) return found;
    const after = afterWrite(this.#own, uncertain);
    if (this.#differences(after, rows).length > 0) return found;
    this.#own = after;
    return [];
  }

  #differences(own: ReadonlyMap<RowKey, Properties>, rows: Rows): string[] {
    const isOwn = (key: RowKey) => key.includes(`/own-${this.client}-`);
    const keys = new Set([...own.keys(), ...[...rows.keys()].filter(isOwn)]);
    return [...keys].flatMap((key) => {
      const [expected, found] = [own.get(key), rows.get(key)?.properties];
      if (areSameProperties(expected, found)) return [];
      return [`${this.client} ${key}: written ${textOf(expected)}, found ${textOf(found)}`];
    });
  }

  /**
   * At rest: each acknowledged write of shared rows was executed by the remote, replaced by a later
   * write of this client before it was sent, or lost to another client and reported. The later
   * write can be one that was stored without being acknowledged. Own rows cannot lose. Returns
   * violations, and forgets the writes.
   */
  settle(lost: readonly ReportedLost[], history: RemoteHistory): string[] {
    const ofOwn = lost.filter(({ key }) => key.includes("/own-"));
    const violations = ofOwn.map(({ key }) => `${this.client} reports ${key} as lost`);
    const operations = this.#shared.flatMap(({ isAcknowledged, write: { marker, ...write } }) =>
      write.operations.map((operation) => ({ ...operation, marker, isAcknowledged })),
    );
    operations.forEach(({ isAcknowledged, marker, ...operation }, index) => {
      if (!isAcknowledged) return;
      const key = keyOf(operation);
      const others = operations.filter((other) => keyOf(other) === key);
      // A later write replaces the row, or an earlier one has created what this one deletes.
      const isReplaced = operations.slice(index + 1).some((other) => replaces(other, key));
      const isUndone = operation.kind === "delete" && others.length > 1;
      const isKnown = isReplaced || isUndone || isAccounted(operation, marker, lost, history);
      if (!isKnown) violations.push(`${this.client} ${key} ${marker} is silently lost`);
    });
    this.#shared = [];
    return violations;
  }
}

const replaces = (operation: Operation, key: RowKey): boolean =>
  operation.kind !== "merge" && keyOf(operation) === key;

function isAccounted(
  operation: Operation,
  marker: string,
  lost: readonly ReportedLost[],
  history: RemoteHistory,
): boolean {
  const key = keyOf(operation);
  const ofKey = lost.filter((one) => one.key === key);
  if (operation.kind !== "delete") {
    return history.hasExecuted(key, marker) || ofKey.some(({ names }) => names.includes(marker));
  }
  // What was never at the remote leaves no trace there.
  const isReported = ofKey.some(({ kind }) => kind === "delete");
  return isReported || history.wasDeleted(key) || !history.hasRow(key);
}

function afterWrite(
  rows: ReadonlyMap<RowKey, Properties>,
  { operations }: Write,
): ReadonlyMap<RowKey, Properties> {
  const after = new Map(rows);
  for (const operation of operations) {
    const key = keyOf(operation);
    if (operation.kind === "delete") {
      after.delete(key);
      continue;
    }
    const written = Object.entries(operation.properties).map(
      ([name, value]) => [name, textOfWritten(value)] as const,
    );
    const before = operation.kind === "merge" ? (after.get(key) ?? []) : [];
    after.set(key, new Map([...before, ...written]));
  }
  return after;
}

const textOf = (properties: Properties | undefined): string =>
  properties === undefined ? "absent" : JSON.stringify(Object.fromEntries(properties));
