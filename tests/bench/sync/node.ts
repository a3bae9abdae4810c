// The process of a client in Node.

import { openStore, packageFolder } from "../../web/support/package.ts";
import { answerCalls } from "./answer-calls.ts";
import { Client, type ClientOptions } from "./client.ts";

const { startSync } = await import(new URL("dist/start-sync/index.js", packageFolder).href);

let client: Client | undefined;

answerCalls({
  async open(options: ClientOptions): Promise<void> {
    client = new Client({ openStore, startSync }, options);
    await client.open();
  },
  run: (step: string, args: readonly unknown[]) =>
    (client as unknown as Record<string, (...args: unknown[]) => unknown>)[step]?.(...args),
});
