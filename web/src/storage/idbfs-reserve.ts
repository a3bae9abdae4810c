// The reserve (storage-reserve.ts) as entries of an IDBFS mount. The entries have no timestamp, so
// they are not in the index by which IDBFS finds files: programs that mount the folder do not see
// them.

import type { IdbfsEntries } from "./idbfs-entries.ts";
import { requestResult } from "./idbfs-transaction.ts";
import { addReserveEntries, type StorageReserve } from "./storage-reserve.ts";

const entriesMax = 0xffff; // there is no entry with this number

export interface IdbfsReserveOptions {
  entries: IdbfsEntries;
  // Runs a transaction.
  read<T>(body: (files: IDBObjectStore) => Promise<T>): Promise<T>;
  write<T>(body: (files: IDBObjectStore) => Promise<T>): Promise<T>;
  requireOwner(files: IDBObjectStore): Promise<void>;
}

export class IdbfsReserve implements StorageReserve {
  // While Chromium compacts its database, it uses more space for a while.
  readonly stepsAfterFailure = [0, "release", 100, 300, "release", 1000] as const;
  readonly #options: IdbfsReserveOptions;

  constructor(options: IdbfsReserveOptions) {
    this.#options = options;
  }

  size(): Promise<number> {
    return this.#options.read((files) => requestResult(files.count(this.#range(0))));
  }

  async resize(wanted: number): Promise<number> {
    const { write, requireOwner } = this.#options;
    const present = await this.size();
    if (present > wanted) {
      await write(async (files) => {
        await requireOwner(files);
        files.delete(this.#range(wanted));
      });
      return wanted;
    }
    return await addReserveEntries(present, wanted, (entry, contents) =>
      write(async (files) => {
        await requireOwner(files);
        files.put({ contents }, this.#path(entry));
      }),
    );
  }

  // Chromium measures only after a transaction that succeeded, and until then may reject writes
  // because of space that was in use for a moment. Deletes nothing, which needs no space.
  remeasure(): Promise<void> {
    return this.#options.write(async (files) => {
      files.delete(this.#path(entriesMax));
    });
  }

  // Returns the key range of the entries from `first` on.
  #range(first: number): IDBKeyRange {
    return IDBKeyRange.bound(this.#path(first), this.#options.entries.path("reserve-\uffff"));
  }

  // Entries are numbered from 0 without gaps.
  #path(entry: number): string {
    return this.#options.entries.path(`reserve-${entry.toString(16).padStart(4, "0")}`);
  }
}
