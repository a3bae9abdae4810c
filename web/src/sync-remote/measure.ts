// Measures on a scratch table what no documentation of the services says (PROTOCOL.md, Pulling).

import type { Ticks, Version } from "../sync/hidden-tables.ts";
import { keyOf } from "../sync/keys.ts";
import type { ScannedRow } from "../sync/remote.ts";
import type { Platform } from "../sync/store.ts";
import { ticksPerMs } from "../sync/watermark.ts";
import { type CorsReport, examineCors } from "./cors.ts";
import type { Http } from "./http.ts";
import { type Probe, probe } from "./probe.ts";
import { profileOf, type Service, serviceOf } from "./profile.ts";
import { MeasurementError, ScratchTable } from "./scratch-table.ts";

export interface MeasureOptions {
  readonly platform: Pick<Platform, "now" | "token">;
  /** How long entities are written while the table is scanned. */
  readonly writeMs: number;
  /** Entities of the scans that are compared, of about 1 KB. */
  readonly rows: number;
  /** Of a page, which the remote's CORS rules may allow to send requests. */
  readonly origin: string;
  /** Called before the table is created, so that it can be dropped also if the process is ended. */
  readonly onTable?: (table: Pick<ScratchTable, "name" | "drop">) => void;
}

export interface Measurements {
  readonly probe: Probe;
  /** Undefined: the responses have no date. */
  readonly clock: ClockDifference | undefined;
  readonly batches: BatchLimits;
  /** Undefined: the remote did not answer. */
  readonly cors: CorsReport | undefined;
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

/** Of the service's clock to this machine's. A `Date` has seconds only. */
export interface ClockDifference {
  readonly aheadMs: number;
  readonly uncertainMs: number;
}

/** What became of batches: undefined if they were executed, or else the error's code. */
export interface BatchLimits {
  readonly operations100: string | undefined;
  readonly operations101: string | undefined;
  readonly bytes: number; // of the properties of a large batch
  readonly large: string | undefined;
}

export interface ScanCost {
  readonly rows: number;
  readonly pages: number;
  readonly pageRows: number; // of the page that has the most
  readonly ms: number;
}

const partitions = 8;
const batchRows = 100;
const writesOfOne = 20;
const bytesOfRow = 1000;
const bytesOfLargeRow: Readonly<Partial<Record<Service, number>>> = { cosmos: 17_000 };
const bytesOfLargeRowDefault = 38_000; // 100 of them with their envelopes: almost 4 MiB

/** Creates a table, and deletes it again. Throws MeasurementError. */
export async function measure(http: Http, options: MeasureOptions): Promise<Measurements> {
  const profile = profileOf(serviceOf(http.base, null));
  const table = new ScratchTable(http, options.platform.token, profile);
  options.onTable?.(table);
  try {
    await table.create();
    const measurements = await new Measurement(http, table, options).run();
    await table.drop();
    return measurements;
  } catch (error) {
    await table.drop().catch((left) => {
      if (left === error) throw error;
      throw new MeasurementError(`${(error as Error).message} ${left.message}`, undefined);
    });
    throw error;
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
    if (probed.kind !== "probed")
      throw new MeasurementError(`The probe failed: ${probed.kind}.`, undefined);
    this.#table.use(probed.profile);
    const late = await this.#late();
    const clock = await this.#clock();
    const batches = await this.#batches(probed.profile.service);
    const partition = "scan";
    for (let row = 0; row < this.#options.rows; row += batchRows) {
      await this.#table.insert(partition, rowKeys(batchRows, row), bytesOfRow);
    }
    const keyScan = await this.#cost(true);
    const fullScan = await this.#cost(false);
    const cors = await examineCors(this.#http, this.#table.name, this.#options.origin);
    return { probe: probed, clock, batches, cors, batch, writes, late, keyScan, fullScan };
  }

  async #clock(): Promise<ClockDifference | undefined> {
    const began = this.#options.platform.now();
    const query = { $top: "1" };
    const result = await this.#http.send({ method: "GET", path: `${this.#table.name}()`, query });
    if (typeof result !== "object" || result.date === undefined) return undefined;
    const half = (this.#now - began.monotonicMs) / 2;
    const aheadMs = msOf(result.date) + 500 - (began.wallMs + half);
    return { aheadMs, uncertainMs: 500 + half };
  }

  async #batches(service: Service): Promise<BatchLimits> {
    const write = (partition: string, count: number, bytes = 0) =>
      this.#table.refusalOf(partition, rowKeys(count), bytes);
    const bytes = bytesOfLargeRow[service] ?? bytesOfLargeRowDefault;
    return {
      operations100: await write("hundred", batchRows),
      operations101: await write("more", batchRows + 1),
      bytes: bytes * batchRows,
      large: await write("large", batchRows, bytes),
    };
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
    const { rows, pages, pageRows } = await this.#table.scan(keysOnly);
    return { rows: rows.length, pages, pageRows, ms: this.#now - began };
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
