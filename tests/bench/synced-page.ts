// The part of synced.ts that runs in the page.

import type { LocalHost } from "../../web/src/host/local-host.ts";
import { IdbfsStorage } from "../../web/src/storage/idbfs.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { openHost } from "../web/support/open-host.ts";
import { measure } from "./synced-steps.ts";

const file = (name: string) => new URL(`/dist/wasm/${name}`, location.href).href;

async function open(store: string): Promise<LocalHost> {
  const engine = await createEngine({
    wasm: file("entitable.wasm"),
    preload: [],
  });
  const storage = await IdbfsStorage.open({
    store,
    factory: indexedDB,
    connect: (mount) => engine.openIdbfsDatabase(mount),
    onReopened() {},
  });
  return await openHost({ name: store, engine, storage, deferredDelayMs: 50 });
}

export const bench = { measure: () => measure(open, () => performance.now()) };
Object.assign(globalThis, { bench });
