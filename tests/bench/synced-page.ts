// The part of synced.ts that runs in the page.

import { LocalHost } from "../../web/src/host/local-host.ts";
import { noPageLifecycle } from "../../web/src/host/page-lifecycle.ts";
import { IdbfsStorage } from "../../web/src/storage/idbfs.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
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
  return await LocalHost.open({
    name: store,
    engine,
    storage,
    persistence: "indexeddb",
    ownership: { release() {} },
    durability: "strict",
    deferredDelayMs: 50,
    memoryLimit: 0,
    clock: { now: () => Date.now() },
    readOnly: false,
    persisted: true,
    lifecycle: noPageLifecycle,
    onWarning() {},
  });
}

export const bench = { measure: () => measure(open, () => performance.now()) };
Object.assign(globalThis, { bench });
