// Request blocks that live on: copies of those of the client, which die when the next one is encoded.

import * as block from "../../../web/src/client/block.ts";

const own =
  <A extends unknown[]>(encode: (...args: A) => Uint8Array) =>
  (...args: A) =>
    encode(...args).slice();

export const encodeCreateTable = own(block.encodeCreateTable);
export const encodeExplain = own(block.encodeExplain);
export const encodeGet = own(block.encodeGet);
export const encodeListTables = own(block.encodeListTables);
export const encodeQuery = own(block.encodeQuery);
export const encodeWrite = own(block.encodeWrite);
