// The reserve (storage-reserve.ts) as files in a folder. Their names begin like those of temporary
// files, so releases that do not know the reserve remove it as left over.

import type { NodeFs } from "../util/node.ts";
import type { FolderFiles } from "./folder-files.ts";
import { reserveName, reservePattern } from "./log-folder.ts";
import { addReserveEntries, type StorageReserve } from "./storage-reserve.ts";

export interface FolderReserveOptions {
  files: FolderFiles;
  // Runs a call that only the owner may make. Rejects with "fenced" if there is another owner.
  asOwner(call: () => Promise<void>): Promise<void>;
  // Like asOwner(), but before the claim too.
  whenInForce(call: () => Promise<void>): Promise<void>;
}

export class FolderReserve implements StorageReserve {
  readonly #options: FolderReserveOptions;

  constructor(options: FolderReserveOptions) {
    this.#options = options;
  }

  async size(): Promise<number> {
    return (await this.#names()).length;
  }

  async resize(wanted: number): Promise<number> {
    const { files, asOwner, whenInForce } = this.#options;
    const present = await this.#names();
    if (present.length > wanted) {
      await whenInForce(async () => {
        for (const name of present.slice(wanted)) await files.unlink(name);
      });
      return wanted;
    }
    return await addReserveEntries(present.length, wanted, (_, bytes) =>
      asOwner(async () => {
        const temporary = await files.writeTemporary(bytes, "not flushed");
        await files.rename(temporary, reserveName(crypto.randomUUID()));
      }),
    );
  }

  async #names(): Promise<string[]> {
    return (await this.#options.files.list()).filter((name) => reservePattern.test(name));
  }
}

// Removes an entry of a folder's reserve. It may be called without the folder's lock: the reserve
// holds no data. Resolves to whether there was an entry.
export async function releaseReserveEntry(
  folder: string,
  fs: NodeFs["promises"],
): Promise<boolean> {
  const name = (await fs.readdir(folder)).find((file) => reservePattern.test(file));
  if (name !== undefined) await fs.unlink(`${folder}/${name}`);
  return name !== undefined;
}
