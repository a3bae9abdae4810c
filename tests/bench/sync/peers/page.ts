// The part of the comparison that runs in a page.

import type { Peer } from "./peer.ts";
import { pouchdb } from "./pouchdb.ts";
import { rxdb } from "./rxdb.ts";
import { tanstack } from "./tanstack.ts";

const peers = { rxdb, pouchdb, tanstack };
export type PeerId = keyof typeof peers;

let peer: Peer;

export const bench = {
  async open(id: PeerId, url: string): Promise<void> {
    peer = peers[id]();
    await peer.open(url);
  },
  /** Resolves to milliseconds. */
  async download(rows: number): Promise<number> {
    const began = performance.now();
    await peer.download(rows);
    return performance.now() - began;
  },
  editOffline: (rows: number, version: number) => peer.editOffline(rows, version),
  /** Resolves to the time before, in milliseconds since 1970. */
  async push(rows: number): Promise<number> {
    const began = Date.now();
    await peer.push(rows);
    return began;
  },
  close: () => peer.close(),
};
Object.assign(globalThis, { bench });
