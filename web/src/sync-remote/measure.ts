// Measures on a scratch table what no documentation of the services says (PROTOCOL.md, Pulling).

import type { Ticks, Version } from "../sync/hidden-tables.ts";
import { keyOf } from "../sync/keys.ts";
import type { ScannedRow } from "../sync/remote.ts";
import type { Platform } from "../sync/store.ts";
import { ticksPerMs } from "../sync/watermark.ts";
import type { Http } from "./http.ts";
import { type Probe, probe } from "./probe.ts";
import { profileOf, serviceOf } from "./profile.ts";
import { MeasurementError, ScratchTable } from "./scratch-table.ts";

export interface MeasureOptions {
  readonly platform: Pick<Platform, "now" | "token">;
  /** How long entities are written while the table is scanned. */
  readonly writeMs: number;
  /** Entities of the scans that are compared, of about 1 KB. */
  readonly rows: number;
}

export interface Measurements {
  readonly probe: Probe;
  /** The entities of one batch of 100. */
  readonly batch: { readonly timestamps: number; readonly spanMs: number };
  /** Writes of one entity, one after the other. */
  readonly writes: {
    readonly count: number;
    readonly etags: number;
    readonly rising: boolean;
    /** Reads after a write that returned an older version. */
    readonly staleReads: number;
  };
  /** Entities that a scan by Timestamp returned after a scan that had returned newer ones. */
  readonly late: {
    readonly scans: number;
    readonly entities: number;
    readonly lateEntities: number;
    /** δ + ε, as far as it was seen: the overlap that would have been enough. */
    readonly mostMs: number;
  };
  readonly keyScan: ScanCost;
  readonly fullScan: ScanCost;
}

export interface ScanCost {
  readonly rows: number;
  readonly pages: number;
  readonly ms: number;
}

const partitions = 8;
const batchRows = 100;
const writesOfOne = 20;
const bytesOfRow = 1000;

/** Creates a table, and deletes it again. Throws MeasurementError. */
export async function measure(http: Http, options: MeasureOptions): Promise<Measurements> {
  const profile = profileOf(serviceOf(http.base, null));
  const table = await ScratchTable.create(http, options.platform.token, profile);
  try {
    return await new Measurement(http, table, options).run();
  } finally {
    await table.drop();
  }
}

class Measurement {
  readonly #http: Http;
  readonly #table: ScratchTable;
  readonly #options: MeasureOptions;

  constructor(http: Http, table: ScratchTable, options: MeasureOptions) {
    this.#http = http;
    this.#table = table;
    this.#options = options;
  }

  get #now(): number {
    return this.#options.platform.now().monotonicMs;
  }

  async run(): Promise<Measurements> {
    const batch = spanOf(await this.#table.insert("batch", rowKeys(batchRows)));
    const writes = await this.#writesOfOne();
    const probed = await probe(this.#http, this.#table.name);
    if (probed.kind !== "probed") throw new MeasurementError(`The probe failed: ${probed.kind}`);
    this.#table.use(probed.profile);
    const late = await this.#late();
    const partition = "scan";
    for (let row = 0; row < this.#options.rows; row += batchRows) {
      await this.#table.insert(partition, rowKeys(batchRows, row), bytesOfRow);
    }
    const keyScan = await this.#cost(true);
    return { probe: probed, batch, writes, late, keyScan, fullScan: await this.#cost(false) };
  }

  async #writesOfOne(): Promise<Measurements["writes"]> {
    const key = keyOf("one", "row");
    const versions = await this.#table.insert("one", ["row"]);
    let staleReads = 0;
    for (let count = 1; count < writesOfOne; ++count) {
      const { etag } = versions.at(-1) as Version;
      versions.push(await this.#table.merge(key, etag, count));
      const read = await this.#table.read(key);
      const isNew = read.kind === "found" && read.row.properties.get("n")?.value === count;
      if (!isNew) staleReads += 1;
    }
    const times = versions.map(({ timestamp }) => timestamp);
    return {
      count: versions.length,
      etags: new Set(versions.map(({ etag }) => etag)).size,
      rising: times.every((time, at) => at === 0 || time > (times[at - 1] as Ticks)),
      staleReads,
    };
  }

  /** Writes several partitions at once, and scans all of them meanwhile. */
  async #late(): Promise<Measurements["late"]> {
    const end = this.#now + this.#options.writeMs;
    const lateness = new Lateness();
    const add = async () => {
      const { rows } = await this.#table.scan(true);
      lateness.add(rows.filter(({ key }) => key.startsWith("late")));
    };
    const scanning = async () => {
      do await add();
      while (this.#now < end);
    };
    const writing = async (partition: number) => {
      for (let row = 0; this.#now < end; ++row) {
        await this.#table.insert(`late${partition}`, rowKeys(1, row));
      }
    };
    const writers = Array.from({ length: partitions }, (_, partition) => writing(partition));
    const results = await Promise.allSettled([scanning(), ...writers]);
    for (const result of results) if (result.status === "rejected") throw result.reason;
    await add();
    return lateness.result;
  }

  async #cost(keysOnly: boolean): Promise<ScanCost> {
    const began = this.#now;
    const { rows, pages } = await this.#table.scan(keysOnly);
    return { rows: rows.length, pages, ms: this.#now - began };
  }
}

/** Finds what scans return after they have returned newer entities. */
export class Lateness {
  readonly #known = new Set<string>();
  #newest: Ticks = 0n;
  #scans = 0;
  #late = 0;
  #mostMs = 0;

  /** The result of a scan that began after the one before had ended. */
  add(rows: readonly ScannedRow[]): void {
    this.#scans += 1;
    const before = this.#newest;
    for (const { key, row } of rows) {
      if (this.#known.has(key)) continue;
      this.#known.add(key);
      if (row.timestamp > this.#newest) this.#newest = row.timestamp;
      if (row.timestamp > before) continue;
      this.#late += 1;
      this.#mostMs = Math.max(this.#mostMs, msOf(before - row.timestamp));
    }
  }

  get result(): Measurements["late"] {
    const { size: entities } = this.#known;
    return {
      scans: this.#scans,
      entities,
      lateEntities: this.#late,
      mostMs: this.#mostMs,
    };
  }
}

const msOf = (ticks: Ticks): number => Number(ticks) / Number(ticksPerMs);

const rowKeys = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, at) => String(from + at).padStart(8, "0"));

function spanOf(versions: readonly Version[]): Measurements["batch"] {
  const times = versions.map(({ timestamp }) => timestamp);
  const [first, last] = times.reduce(
    ([least, most], time) => [time < least ? time : least, time > most ? time : most],
    [times[0] as Ticks, times[0] as Ticks],
  );
  return { timestamps: new Set(times).size, spanMs: msOf(last - first) };
}
