// A log in memory with a limited size and a reserve, for simulated tabs of a store that is full.

import { type ObsoleteFiles, StorageError } from "../../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../../web/src/storage/memory.ts";
import {
  addReserveEntries,
  reserveEntryBytes,
  type StorageReserve,
} from "../../../web/src/storage/storage-reserve.ts";

// The disk that the tabs share.
export class BudgetedDisk {
  readonly files: Map<string, Uint8Array>;
  readonly bytes: number;
  reserved = 0; // entries of the reserve

  constructor(files: Map<string, Uint8Array>, bytes: number) {
    this.files = files;
    this.bytes = bytes;
  }

  requireSpace(added: number): void {
    let used = this.reserved * reserveEntryBytes;
    for (const file of this.files.values()) used += file.length;
    if (used + added > this.bytes) throw new StorageError("quota", "The disk is full.");
  }
}

export class BudgetedStorage extends MemoryStorage {
  readonly #disk: BudgetedDisk;
  readonly reserve: StorageReserve;

  constructor(disk: BudgetedDisk) {
    super(disk.files);
    this.#disk = disk;
    this.reserve = {
      size: async () => disk.reserved,
      resize: async (wanted) => {
        disk.reserved = Math.min(disk.reserved, wanted);
        return await addReserveEntries(disk.reserved, wanted, async () => {
          disk.requireSpace(reserveEntryBytes);
          disk.reserved += 1;
        });
      },
    };
  }

  override async addSegments(...a: Parameters<MemoryStorage["addSegments"]>): Promise<void> {
    this.#disk.requireSpace(a[1].reduce((sum, { length }) => sum + length, 0));
    await super.addSegments(...a);
  }

  override async putPart(id: number, bytes: Uint8Array): Promise<void> {
    this.#disk.requireSpace(bytes.length);
    await super.putPart(id, bytes);
  }

  override async commitManifest(bytes: Uint8Array, obsolete: ObsoleteFiles): Promise<void> {
    this.#disk.requireSpace(bytes.length);
    await super.commitManifest(bytes, obsolete);
  }
}
