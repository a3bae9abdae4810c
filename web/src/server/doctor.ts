// `entitable sync doctor`: measures a remote on a table that it creates and deletes.

import { namedAccount } from "../named-account.ts";
import { doctorReport } from "../sync-remote/doctor-report.ts";
import { Http } from "../sync-remote/http.ts";
import { measure } from "../sync-remote/measure.ts";
import type { ScratchTable } from "../sync-remote/scratch-table.ts";
import { randomGuid } from "../util/random.ts";
import type { DoctorCommand } from "./doctor-arguments.ts";

const now = () => ({ monotonicMs: performance.now(), wallMs: Date.now() });

/**
 * Returns the report: lines, or one of JSON. `onTable` gets the table before it is created. Throws
 * MeasurementError. Nothing that it returns or throws has the signature or the key.
 */
export async function examine(
  { url, key, json, origin, rows, seconds }: DoctorCommand["doctor"],
  onTable: (table: Pick<ScratchTable, "name" | "drop">) => void,
): Promise<string[]> {
  const { name } = namedAccount(url, () => false);
  const http = new Http({ url, credential: key === undefined ? undefined : { name, key }, now });
  const platform = { now, token: randomGuid };
  const options = { platform, writeMs: 1000 * seconds, rows, origin, onTable };
  const measurements = await measure(http, options);
  if (json) return [JSON.stringify({ url: http.base, ...measurements }, undefined, 2)];
  const sas = key === undefined ? new URL(url).search.slice(1) : "";
  return doctorReport({ url: http.base, sas, measurements });
}
