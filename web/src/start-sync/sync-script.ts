// The URL of the script that syncs a store in its worker (sync-worker.ts).

import { absoluteUrl } from "../util/asset-url.ts";
import { movedPackage } from "../wasm/module-urls.ts";

/** Rejects with StoreError WasmLoadFailed if the package's files cannot be found. */
export async function syncScriptUrl(): Promise<URL> {
  const moved = await movedPackage();
  if (moved !== undefined) return new URL("dist/start-sync/entitable-sync-worker.js", moved);
  // Bundlers recognize exactly this expression, and then copy the script.
  return absoluteUrl(new URL("./entitable-sync-worker.js", import.meta.url));
}
