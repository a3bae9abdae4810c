// What entitable/sync adds to a page that opens a store.

import { sizeOfSync } from "../../web/support/size-of-sync.ts";
import type { Measured } from "./measured.ts";

const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} KB`;

export async function sizes(): Promise<Measured[]> {
  const { all, first } = await sizeOfSync();
  const row = (what: string, target: string, bytes: number): Measured => ({
    what,
    target,
    values: { chromium: kilobytes(bytes) },
  });
  return [
    row("`entitable/sync` with brotli, loaded with the page", "", first),
    row("loaded by `startSync`", "≤ 12 KB", all - first),
  ];
}
