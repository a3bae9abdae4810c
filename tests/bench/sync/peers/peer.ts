// What a peer does in the page. The same for each of them.

export interface Peer {
  /** Opens an empty database. Nothing is measured yet. */
  open(url: string): Promise<void>;
  /** Starts to sync. Resolves when this many rows are stored here. */
  download(rows: number): Promise<void>;
  /** Stops to sync, and sets the version of the first rows, each of them by itself. */
  editOffline(rows: number, version: number): Promise<void>;
  /** Syncs again. Resolves when the peer knows that these edits are at the remote. */
  push(rows: number): Promise<void>;
  close(): Promise<void>;
}

/** As many rows as entitable reads and sends in a request. */
export const pullRows = 1000;
export const pushRows = 100;
