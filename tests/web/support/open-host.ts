// Opens a host as most tests need it: like a store in IndexedDB, but without a page.

import { LocalHost, type LocalHostOptions } from "../../../web/src/host/local-host.ts";
import { noPageLifecycle } from "../../../web/src/host/page-lifecycle.ts";

export function openHost(
  options: Pick<LocalHostOptions, "engine" | "storage"> & Partial<LocalHostOptions>,
): Promise<LocalHost> {
  return LocalHost.open({
    name: "test",
    persistence: "indexeddb",
    ownership: { release() {} },
    durability: "strict",
    deferredDelayMs: 5,
    memoryLimit: 0,
    clock: { now: () => Date.now() },
    readOnly: false,
    persisted: true,
    lifecycle: noPageLifecycle,
    onWarning() {},
    ...options,
  });
}
