// A thread of Node's with a store of its own, which says what it answers.

import { parentPort } from "node:worker_threads";
import { mockStore } from "../../../web/src/testing/index.ts";
import { options, transcriptOf } from "./transcript.ts";

await using store = await mockStore(options);
parentPort?.postMessage(await transcriptOf(store));
