// Pushes rows to the remote in json-remote.ts.

import type { Document } from "./document.ts";
import type { Pushed } from "./json-remote.ts";

/** Resolves to the documents that are in conflict. */
export async function postRows(url: string, rows: readonly Pushed[]): Promise<Document[]> {
  const response = await fetch(`${url}/push`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(rows),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return await response.json();
}
