// The files of one folder: reads and writes them by name, and converts errors to StorageErrors.
// Files appear only when complete: a file is written under a temporary name, flushed if needed, and
// linked to its final name.

import { type NodeFs, type NodeStats, systemErrorCode } from "../util/node.ts";
import { flushFolder, storageErrorFrom, temporaryPrefix } from "./log-folder.ts";
import { StorageError } from "./log-storage.ts";
import type { ReadBuffer } from "./read-buffers.ts";

export class FolderFiles {
  readonly #fs: NodeFs["promises"];
  readonly #folder: string;
  #gone: StorageError | undefined;

  constructor(folder: string, fs: NodeFs["promises"]) {
    this.#folder = folder;
    this.#fs = fs;
  }

  // The error of every later call, if a call found that the folder was deleted.
  get gone(): StorageError | undefined {
    return this.#gone;
  }

  // ---- Reading ----------------------------------------------------------------------------------

  list(): Promise<string[]> {
    return this.#mappingErrors(this.#fs.readdir(this.#folder));
  }

  // Returns a file's bytes. Returns undefined if it does not exist or the disk cannot read it.
  read(name: string): Promise<Uint8Array | undefined> {
    return unlessUnreadable(this.#fs.readFile(this.#path(name)));
  }

  // Like read(), but the bytes are in the buffer.
  readInto(buffer: ReadBuffer, name: string): Promise<Uint8Array | undefined> {
    return unlessUnreadable(this.#readInto(buffer, name));
  }

  async #readInto(buffer: ReadBuffer, name: string): Promise<Uint8Array> {
    const file = await this.#fs.open(this.#path(name), "r");
    try {
      const bytes = buffer.take((await file.stat()).size);
      let at = 0;
      while (at < bytes.length) {
        const { bytesRead } = await file.read(bytes, at, bytes.length - at);
        if (bytesRead === 0) break; // the file was shortened
        at += bytesRead;
      }
      return bytes.subarray(0, at);
    } finally {
      await file.close();
    }
  }

  // Returns a text that is equal for all links to a file that does not change, and differs for
  // files that have the same name one after the other. Returns undefined if there is no file with
  // this name. Throws "gone" if the folder was deleted.
  async fingerprint(name: string): Promise<string | undefined> {
    const stats = await this.#stats(name);
    // Without the inode number, which changes over time in some file systems (vfat, overlayfs).
    return stats && `${stats.size} ${stats.mtimeNs}`;
  }

  async exists(name: string): Promise<boolean> {
    return (await this.#stats(name)) !== undefined;
  }

  // Returns whether two names are links to one file. False if one of them does not exist.
  async isSameFile(a: string, b: string): Promise<boolean> {
    const [first, second] = [await this.#stats(a), await this.#stats(b)];
    if (first === undefined || second === undefined) return false;
    const fields = ["dev", "ino", "size", "mtimeNs"] as const;
    return fields.every((field) => first[field] === second[field]);
  }

  async #stats(name: string): Promise<NodeStats | undefined> {
    try {
      return await this.#fs.stat(this.#path(name), { bigint: true });
    } catch (error) {
      const converted = await this.#storageErrorFrom(error);
      if (systemErrorCode(error) !== "ENOENT" || converted.failure === "gone") throw converted;
      return undefined;
    }
  }

  // ---- Writing ----------------------------------------------------------------------------------

  // Writes a new file and returns its name.
  async writeTemporary(bytes: Uint8Array, how: "flushed" | "not flushed"): Promise<string> {
    const name = temporaryPrefix + crypto.randomUUID();
    try {
      const file = await this.#fs.open(this.#path(name), "wx");
      try {
        for (let at = 0; at < bytes.length; ) {
          at += (await file.write(bytes, at, bytes.length - at)).bytesWritten;
        }
        if (how === "flushed") await file.datasync();
      } finally {
        await file.close();
      }
      return name;
    } catch (error) {
      await this.unlink(name).catch(() => {});
      throw await this.#storageErrorFrom(error);
    }
  }

  // Gives a temporary file its final name. Returns false if another file has that name. Whether the
  // temporary name remains depends on the file system.
  async publish(from: string, name: string): Promise<boolean> {
    const linked = await this.#link(from, name);
    if (linked !== "not supported") return linked;
    // Here only the lock prevents two owners, and every file is flushed.
    if ((await this.list()).includes(name)) return false;
    await this.flush(from);
    await this.rename(from, name);
    return true;
  }

  // Gives a file a second name. Returns false if another file has that name. A file system without
  // hard links gets a copy. Throws "aborted" if the first file does not exist.
  async publishAgain(existing: string, name: string): Promise<boolean> {
    const linked = await this.#link(existing, name);
    if (linked !== "not supported") return linked;
    const bytes = await this.#mappingErrors(this.#fs.readFile(this.#path(existing)));
    const copy = await this.writeTemporary(bytes, "flushed");
    try {
      return await this.publish(copy, name);
    } finally {
      await this.unlink(copy).catch(() => {});
    }
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#mappingErrors(this.#fs.rename(this.#path(from), this.#path(to)));
  }

  // Writes and flushes a file. Replaces an existing file with that name.
  async replace(name: string, bytes: Uint8Array): Promise<void> {
    await this.rename(await this.writeTemporary(bytes, "flushed"), name);
  }

  // Deletes a file if it exists.
  async unlink(name: string): Promise<void> {
    try {
      await this.#fs.unlink(this.#path(name));
    } catch (error) {
      if (systemErrorCode(error) !== "ENOENT") throw await this.#storageErrorFrom(error);
    }
  }

  flush(name: string): Promise<void> {
    return this.#mappingErrors(this.#flush(name));
  }

  async #flush(name: string): Promise<void> {
    const file = await this.#fs.open(this.#path(name), "r+");
    try {
      await file.datasync();
    } finally {
      await file.close();
    }
  }

  flushFolder(): Promise<void> {
    return this.#mappingErrors(flushFolder(this.#folder, this.#fs));
  }

  // Flushes the folder after files got their names. Rejects with "unknown" on failure: the files
  // exist, but may not survive a power failure.
  async flushNames(): Promise<void> {
    await confirming("the folder", this.flushFolder());
  }

  async #link(from: string, name: string): Promise<boolean | "not supported"> {
    try {
      await this.#fs.link(this.#path(from), this.#path(name));
      return true;
    } catch (error) {
      if (lacksLinks(error)) return "not supported";
      const exists = systemErrorCode(error) === "EEXIST";
      if (exists && !from.startsWith(temporaryPrefix)) return false; // `from` may not be ours
      // A network file system may repeat a call that succeeded, and then report that it failed.
      if (await confirming(name, this.isSameFile(from, name))) return true;
      if (exists) return false;
      throw await this.#storageErrorFrom(error);
    }
  }

  // ---- Errors -----------------------------------------------------------------------------------

  async #mappingErrors<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      throw await this.#storageErrorFrom(error);
    }
  }

  async #storageErrorFrom(error: unknown): Promise<StorageError> {
    if (systemErrorCode(error) !== "ENOENT") return storageErrorFrom(error);
    if (await this.#folderExists()) return storageErrorFrom(error);
    const message = `The folder ${this.#folder} was deleted while it was open.`;
    this.#gone = new StorageError("gone", message, error);
    return this.#gone;
  }

  async #folderExists(): Promise<boolean> {
    try {
      await this.#fs.stat(this.#folder, { bigint: true });
      return true;
    } catch (error) {
      return systemErrorCode(error) !== "ENOENT";
    }
  }

  #path(name: string): string {
    return `${this.#folder}/${name}`;
  }
}

// Resolves to undefined if there is no file to read, or the disk cannot read it.
async function unlessUnreadable(reading: Promise<Uint8Array>): Promise<Uint8Array | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (["ENOENT", "EISDIR", "EIO"].includes(systemErrorCode(error))) return undefined;
    throw storageErrorFrom(error);
  }
}

// Waits for a call that confirms that `what` is stored. If it fails, it is unknown whether it is.
export async function confirming<T>(what: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof StorageError && error.isFatal) throw error;
    const message = `It is unknown whether ${what} was stored: ${String(error)}`;
    throw new StorageError("unknown", message, error);
  }
}

function lacksLinks(error: unknown): boolean {
  return ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"].includes(systemErrorCode(error));
}
