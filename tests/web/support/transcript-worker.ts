// A Node worker thread that opens a store and posts the store's responses.

import { parentPort } from "node:worker_threads";
import { mockStore } from "../../../web/src/testing/index.ts";
import { options, transcriptOf } from "./transcript.ts";

await using store = await mockStore(options);
parentPort?.postMessage(await transcriptOf(store));
