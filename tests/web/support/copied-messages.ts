// Request blocks that live on: copies of those of the client, which die when the next one is encoded.

import * as block from "../../../web/src/client/rpc-messages.ts";

const copying =
  <A extends unknown[]>(encode: (...args: A) => Uint8Array) =>
  (...args: A) =>
    encode(...args).slice();

export const encodeCreateTable = copying(block.encodeCreateTable);
export const encodeExplain = copying(block.encodeExplain);
export const encodeGet = copying(block.encodeGet);
export const encodeListTables = copying(block.encodeListTables);
export const encodeQuery = copying(block.encodeQuery);
export const encodeWrite = copying(block.encodeWrite);
