// The process of a client in Node.

import { openStore, packageFolder } from "../../web/support/package.ts";
import { Client, type ClientOptions } from "./client.ts";

const { startSync } = await import(new URL("dist/start-sync/index.js", packageFolder).href);

let client: Client | undefined;

const calls = {
  async open(options: ClientOptions): Promise<void> {
    client = new Client({ openStore, startSync }, options);
    await client.open();
  },
  run: (step: string, args: readonly unknown[]) =>
    (client as unknown as Record<string, (...args: unknown[]) => unknown>)[step]?.(...args),
};

process.on("message", async ([name, args]: [keyof typeof calls, never]) => {
  const call = calls[name] as (...given: never[]) => unknown;
  try {
    process.send?.([await call(...(args as never[]))]);
  } catch (error) {
    process.send?.([undefined, String((error as Error).stack)]);
  }
});
process.send?.("ready");
