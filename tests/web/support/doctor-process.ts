// Runs `entitable sync doctor` as a process.

import assert from "node:assert/strict";
import { Http } from "../../../web/src/sync-remote/http.ts";
import { emulatorKey, ServerProcess } from "./server-process.ts";

/** Returns what it printed. Checks that its table is gone, and that it printed no secret. */
export async function checkDoctor(
  url: string,
  options: readonly string[],
  secrets: readonly string[] = [emulatorKey],
): Promise<string> {
  const args = ["sync", "doctor", url, "--seconds", "1", "--rows", "1100", ...options];
  const { code, err, out } = await new ServerProcess(args, {}).ended;
  assert.equal(code, 0, err);
  assert.match(err, /^entitable: measuring on the table entitable[0-9a-f]{32}, which is deleted/);
  for (const secret of secrets) assert(!(err + out).includes(secret));
  assert.deepEqual(await tablesOf(new URL(url).href.replace(/\?.*/, "")), []);
  return out;
}

/** The names of the emulator account's tables. */
export async function tablesOf(url: string): Promise<string[]> {
  const now = () => ({ monotonicMs: performance.now(), wallMs: Date.now() });
  const http = new Http({ url, credential: { name: "devstoreaccount1", key: emulatorKey }, now });
  const listed = await http.send({ method: "GET", path: "Tables" });
  assert(typeof listed === "object" && listed.status === 200);
  const { value } = JSON.parse(listed.text) as { value: { TableName: string }[] };
  return value.map(({ TableName }) => TableName);
}
