// Opens, deletes and lists stores in folders: <path>/<store's name>/. This module is loaded only
// for stores in files. REQUIRES: Node.

import { StoreError } from "../errors.ts";
import type { AbortSignalLike } from "../types.ts";
import {
  type NodeFs,
  type NodeProcess,
  nodeModule,
  nodeProcess,
  systemErrorCode,
} from "../util/node.ts";
import { isError } from "../util/platform-objects.ts";
import { type FolderLock, lockFolder } from "./folder-lock.ts";
import { releaseReserveEntry } from "./folder-reserve.ts";
import { deleteLogFolder, isLackOfSpace, isLogFileName, makeFolder } from "./log-folder.ts";
import { NodeFilesStorage } from "./node-files.ts";

export interface FileStoreOptions {
  path: string;
  name: string; // REQUIRES: a valid store name
  waitMs: number; // how long to wait for another process to release the store
  signal?: AbortSignalLike | undefined;
}

// Opens a store's folder, creating it if needed, and locks it. The caller must close the storage
// before it releases the lock.
export async function openFileStore(
  options: FileStoreOptions,
): Promise<{ storage: NodeFilesStorage; lock: FolderLock }> {
  const { fs, process } = await node();
  const folder = await folderOf(options);
  let lock: FolderLock | undefined;
  try {
    await makeFolder(folder, fs);
    await requireExactName(options, fs);
    lock = await lockFolder(folder, { ...options, process }).catch(async (error: unknown) => {
      // A process that died may have left so much that there is no space for the lock. No process
      // that is alive has the reserve: its lock would have been waited for.
      if (!isLackOfSpace(error) || !(await releaseReserveEntry(folder, fs))) throw error;
      return await lockFolder(folder, { ...options, process });
    });
    return { storage: await NodeFilesStorage.open(folder, fs), lock };
  } catch (error) {
    lock?.release();
    throw storeErrorFrom(error, folder);
  }
}

// Deletes a store. Resolves also if the store does not exist. Rejects with StoreLocked if it is
// open.
export async function deleteFileStore(options: FileStoreOptions): Promise<void> {
  const { fs, process } = await node();
  const folder = await folderOf(options);
  try {
    const lock = await lockFolder(folder, { ...options, process }).catch((error: unknown) => {
      if (systemErrorCode(error) !== "ENOENT") throw error;
      // The folder does not exist. An interrupted deletion may still have left files, which
      // deleteLogFolder() removes.
      return undefined;
    });
    await deleteLogFolder(folder, fs).finally(() => lock?.release());
  } catch (error) {
    throw storeErrorFrom(error, folder);
  }
}

// Returns the names of the stores in a folder, sorted, including stores without data.
export async function listFileStores(path: string): Promise<string[]> {
  const { fs } = await node();
  const found: string[] = [];
  for (const name of await namesIn(path, fs)) {
    if (!/^[A-Za-z0-9._-]{1,63}$/.test(name)) continue;
    // [""]: a file, which is no store
    const files = await fs.readdir(`${path}/${name}`).catch(() => [""]);
    if (files.length === 0 || files.some((file) => file === "lock" || isLogFileName(file))) {
      found.push(name);
    }
  }
  return found.sort();
}

// Resolves to the bytes in use on the file system of a folder, and to those that may be in use.
// Resolves to undefined if they are unknown.
export async function estimateFileSystem(
  path: string,
): Promise<{ usage: number; quota: number } | undefined> {
  try {
    const { fs } = await node();
    const { bsize, blocks, bfree, bavail } = await fs.statfs(path);
    const usage = (blocks - bfree) * bsize;
    return { usage, quota: usage + bavail * bsize };
  } catch {
    return undefined;
  }
}

async function node(): Promise<{ fs: NodeFs["promises"]; process: NodeProcess }> {
  return { fs: (await nodeModule("node:fs")).promises, process: nodeProcess() as NodeProcess };
}

async function folderOf({ path, name }: FileStoreOptions): Promise<string> {
  return (await nodeModule("node:path")).resolve(path, name);
}

// Throws ValidationFailed if the file system stored the folder under another name. Some file
// systems ignore case or shorten names, and two stores would then share a folder.
async function requireExactName({ path, name }: FileStoreOptions, fs: NodeFs["promises"]) {
  if ((await namesIn(path, fs)).includes(name)) return;
  throw new StoreError(
    "ValidationFailed",
    `The file system maps the store "${name}" to another store's folder.`,
    { hint: "Use a name that differs in more than upper and lower case." },
  );
}

async function namesIn(path: string, fs: NodeFs["promises"]): Promise<string[]> {
  try {
    return await fs.readdir(path);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return [];
    throw storeErrorFrom(error, path);
  }
}

// Converts a system error (for example, a folder without permission) to a StoreError. Returns other
// errors unchanged.
function storeErrorFrom(error: unknown, folder: string): unknown {
  if (systemErrorCode(error) === "" || error instanceof StoreError || !isError(error)) return error;
  return new StoreError("PersistenceUnavailable", `${folder} can't be used: ${error.message}`, {
    cause: error,
  });
}
