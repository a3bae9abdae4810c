// Tests the page's side of sync in a worker.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Emitter } from "../../../web/src/host/emitter.ts";
import { settingsOf } from "../../../web/src/start-sync/options.ts";
import { PortCalls } from "../../../web/src/start-sync/port-calls.ts";
import { unknownStatus } from "../../../web/src/start-sync/status.ts";
import "../../../web/src/start-sync/sync-worker.ts";
import { WorkerStoreSync } from "../../../web/src/start-sync/worker-store-sync.ts";
import type { Store, StoreEvents } from "../../../web/src/types.ts";

/** A store whose worker syncs one table. `isSilent`: the worker has ended, and answers nothing. */
function open({ isSilent = false, state = "ready" } = {}) {
  const events = new Emitter<StoreEvents>();
  const store = { status: { state }, on: events.on.bind(events) } as unknown as Store;
  const connect = (_: string, port: MessagePort) => {
    if (isSilent) return;
    const page: PortCalls = new PortCalls(port, {
      open: () => page.tell("status", { people: { ...unknownStatus("idle"), following: true } }),
    });
  };
  const sync = WorkerStoreSync.open({
    store,
    worker: { connect } as never,
    settings: settingsOf({
      remote: { url: "https://lamps.table.core.windows.net" },
      tables: { people: {} },
    }),
    activity: { isOnline: () => true, isVisible: () => true, watch: () => () => {} },
    isNextOwner: false,
    isPaused: false,
  });
  const close = () => events.emit("status", { state: "closed" } as StoreEvents["status"]);
  return { sync, close };
}

test("the status is stopped when the store is closed, and listeners are told", async () => {
  const { close, sync: opening } = open();
  const sync = await opening;
  assert.equal(sync.status.phase, "idle");
  const phases: string[] = [];
  sync.subscribe(({ following, phase }) => phases.push(`${phase} ${following}`));
  close();
  assert.equal(sync.status.phase, "stopped");
  assert.deepEqual(phases, ["stopped false"]);
});

test("it rejects if the store was closed before the worker is asked", async () => {
  const { sync } = open({ isSilent: true, state: "closed" });
  await assert.rejects(sync, { code: "StoreClosed" });
});

test("the worker ignores what it cannot pause yet", async () => {
  const { entitableSync: serve } = globalThis as unknown as {
    entitableSync: (port: MessagePort, host: object) => void;
  };
  const { port1, port2 } = new MessageChannel();
  serve(port2, {});
  const calls = new PortCalls(port1, {});
  const rejections: unknown[] = [];
  const onRejection = (error: unknown) => rejections.push(error);
  process.on("unhandledRejection", onRejection);
  calls.tell("pause");
  calls.tell("resume");
  await calls.call("stop");
  await new Promise((resolve) => setTimeout(resolve));
  process.off("unhandledRejection", onRejection);
  calls.close(new Error("The test has ended."));
  assert.deepEqual(rejections, []);
});
